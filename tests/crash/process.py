"""Real kills: the program as a process of its own, killed at some record and resumed by its own command, in real time."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path

from tests.crash.cuts import Cut
from tests.crash.job import PROMPT, script
from tests.crash.run import Run
from tests.crash.verdict import Expected, Verdict, kept
from tests.crash.world import World
from tests.support.command_line import CommandLine, Ended, alive, ended, until
from tests.support.model_server import ModelServer
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason

RECORDS = 130  # of an undisturbed run, about
LIMIT = 60.0  # seconds for a run
DIALECTS = ("openai", "anthropic", "responses")


async def killed(seed: int, place: Path, expected: Expected, *, at_once: int = 1) -> Verdict:
    """Kill a run at a random record and resume it, `at_once` times at the same time."""
    dice = random.Random(seed)
    wanted = dice.randrange(3, RECORDS)
    world = World(place)
    world.begin()
    line = CommandLine(world.home, world.workspace)
    started = time.monotonic()
    server = ModelServer(script)
    async with server:
        line.talks_to(server.url, DIALECTS[seed % len(DIALECTS)])
        first = await line.start("-p", PROMPT, "-y")
        await until(lambda: _records(world) >= wanted or first.returncode is not None, limit=LIMIT)
        if first.returncode is None:
            first.send_signal(signal.SIGKILL)
        await ended(first)
        await until(lambda: not alive(str(world.home)))
        before = Run("", exchanges=[each for each in server.exchanges if each.view is not None], records=world.records())
        session = next(iter(before.records)).split("_")[1].removesuffix(".jsonl")
        told = len(server.exchanges)
        torn = sum(not data.endswith(b"\n") for data in before.records.values() if data)
        cut = Cut("kill -9 of the process", f"seed {seed}: at record {wanted}", before.records, place, before.newest(), torn)
        command = ("resume", session, "-y", "--output", "json", "--quiet")
        overs = [await ended(process, limit=LIMIT) for process in [await line.start(*command) for _ in range(at_once)]]
        violations = tuple(f"request {each.exchange}: [{each.rule}] {each.message}" for each in server.violations)
    after = Run(session, exchanges=[each for each in server.exchanges[told:] if each.view is not None], violations=violations)
    good = [over for over in overs if over.code != 2]
    after.result, after.refused = _result(good[0]) if good else None, overs[0].told
    verdict = expected.judge(cut, world, [after])
    if len(good) != 1 and not cut.is_over:
        verdict.faults.append(f"{len(good)} of {at_once} resumes went on: {[over.told[-400:] for over in overs]}")
    verdict.faults += [f"a refusal without a reason: {over.told!r}" for over in overs if over.code == 2 and not over.told.strip()]
    verdict.faults += kept(cut.newest, after)
    verdict.seconds = time.monotonic() - started
    return verdict


def _records(world: World) -> int:
    """How many records are on the disk."""
    return sum(data.count(b"\n") for data in world.records().values())


def _result(over: Ended) -> TaskResult | None:
    """The account the program printed."""
    try:
        told = json.loads(over.out)
    except ValueError:
        return TaskResult("", "error", StopReason.PANIC, over.code, "", error=over.told)
    return TaskResult(
        told["answer"], told["status"], StopReason(told["stop_reason"]), over.code, told["session"], error=told.get("error", "")
    )
