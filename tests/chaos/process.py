"""One run as real processes: the program, and the model server beside it; real time, so trouble and limits are short."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from pathlib import Path

from tests.chaos.job import PROMPT, lay_out
from tests.chaos.run import Verdict, judged, records
from tests.chaos.trouble import DIALECTS, HARMLESS, KINDS, SLOW, Weather
from tests.support.command_line import SOURCES, CommandLine, Ended, ended
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason

SEED = "CHAOS_SEED"
LIMIT = 60.0  # seconds of real time for a whole run
CONFIG = '[llm]\nheader_timeout = "1s"\nchunk_timeout = "1s"\ntimeout = "8s"\nmax_retries = 2\nstep_retries = 2\n'


def weather(seed: int) -> Weather:
    """Kinds take turns; in every third run the trouble never ends."""
    dice = random.Random(seed)
    kinds = [kind for kind in KINDS if kind not in SLOW]
    kind, dialect = kinds[seed % len(kinds)], DIALECTS[(seed + seed // len(kinds)) % 3]
    lasting = dice.randrange(10) if seed % 3 == 2 and kind not in HARMLESS else None
    return Weather(seed, kind, dialect, lasting, None, dice, rate=0.25, others=kinds, is_short=True)


async def run(seed: int, place: Path) -> Verdict:
    """Carry out the task once."""
    line = CommandLine(place / "home", place / "project")
    lay_out(line.workspace)
    _configure(line.data / "config/config.toml")
    server = await _server(seed, place / "log")
    assert server.stdout is not None
    port = int((await server.stdout.readline()).split()[1])
    sky = weather(seed)
    line.talks_to(f"http://127.0.0.1:{port}/v1", sky.dialect)
    started = time.monotonic()
    try:
        over = await line.run("-p", PROMPT, "-y", "--output", "json", "--quiet", limit=LIMIT)
    finally:
        server.terminate()
        broken = await ended(server)
    result = _result(over)
    faults = [
        *judged(result, line.workspace, line.home),
        *(f"the server saw: {each}" for each in broken.told.splitlines() if broken.code),
        *records(line.home),
    ]
    attempts = len((place / "log").read_text().splitlines()) - 1
    seconds = time.monotonic() - started
    return Verdict(sky, over.code, result.stop_reason.value, result.error or result.answer, attempts, seconds, tuple(faults))


def _configure(config: Path) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    config.chmod(0o600)


async def _server(seed: int, log: Path) -> asyncio.subprocess.Process:
    command = ("-m", "tests.support.model_server", "--script", "tests.chaos.played:SCRIPT", "--log", str(log))
    environment = {**os.environ, "PYTHONPATH": str(SOURCES / "src"), SEED: str(seed)}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, *command, cwd=SOURCES, env=environment, stdout=pipe, stderr=pipe)


def _result(over: Ended) -> TaskResult:
    """The account the program printed, with the code it really ended with."""
    told = over.document
    warnings = tuple(told["warnings"])
    reason = StopReason(told["stop_reason"])
    return TaskResult(told["answer"], told["status"], reason, over.code, told["session"], warnings=warnings, error=told.get("error", ""))
