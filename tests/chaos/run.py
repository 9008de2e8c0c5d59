"""One run in this process and in virtual time, and everything that must be true after it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.job import ANSWER, PROMPT, cast, damage, lay_out
from tests.chaos.trouble import Weather
from tests.support.command_line import alive
from tests.support.model_server import Exchange, ModelServer, chaotic
from tests.support.session import Sessions
from yagent.protocol.messages import Message
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason
from yagent.rollout.marks import Segment
from yagent.rollout.reader import Account, read
from yagent.rollout.records import EventMessage
from yagent.rollout.replay import replay
from yagent.runtime.clock import Clock

HONEST = {1, 2, 3, 75}
SLACK = 2.0  # virtual seconds: real time passes while files are written and commands run
HEADER, CHUNK, CALL, LAST_STEP = 120.0, 180.0, 900.0, 130.0  # seconds (decisions, "Timers"); the last step with the end of its record
CAUSES = re.compile(
    r"429|limit|busy|overload|\b5\d\d\b|web page|reset|broke|closed|connection|silent|within|seconds|end mark|incomplete|ended|"
    r"upstream|circle|arguments|time|Stopped", re.IGNORECASE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a run. `faults` is empty for a good one."""

    weather: Weather
    exit_code: int
    stop_reason: str
    told: str
    attempts: int
    seconds: float
    faults: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """In a word."""
        return "right answer" if self.exit_code == 0 else f"exit {self.exit_code}"


async def run(weather: Weather, place: Path, clock: Clock) -> Verdict:
    """Carry out the task under this weather, in a repository and a home below `place`."""
    workspace, home = place / "project", place / "home"
    lay_out(workspace)
    home.mkdir()
    before = asyncio.all_tasks()
    script = cast()
    server = ModelServer(chaotic(script, weather))
    started = clock.now()
    async with server:
        serving = asyncio.all_tasks()
        sessions = Sessions(home, workspace, server.url)
        async with sessions.open(api_format=weather.dialect, mode="yolo", timeout=weather.timeout) as opened:
            result = await opened.do(PROMPT)
        seconds = clock.now() - started
        await clock.sleep(0.2)
        left = [f"{server.open_connections} connections stayed open"] if server.open_connections else []
        left += [f"the task {task.get_name()!r} was left" for task in asyncio.all_tasks() - before - serving if not task.done()]
    script.close()
    faults = [
        *left,
        *judged(result, workspace, home),
        *_limits(weather, server.exchanges, seconds),
        *(f"request {each.exchange}: [{each.rule}] {each.message}" for each in server.violations),
        *records(home),
    ]
    attempts = sum(exchange.dialect is not None for exchange in server.exchanges)
    return Verdict(weather, result.exit_code, result.stop_reason.value, result.error or result.answer, attempts, seconds, tuple(faults))


def judged(result: TaskResult, workspace: Path, home: Path) -> Iterator[str]:
    """What is wrong with the outcome, the files and the processes."""
    if result.exit_code == 0 and result.answer.strip() != ANSWER:
        yield f"exit 0 with the answer {result.answer!r}"
    if result.exit_code != 0 and result.exit_code not in HONEST:
        yield f"exit code {result.exit_code}"
    if result.stop_reason in (StopReason.PANIC, StopReason.UNACCOUNTED):
        yield f"a defect of ours: {result.error}"
    told = " ".join(filter(None, (result.error, result.answer, *result.warnings)))
    if result.exit_code != 0 and not CAUSES.search(told):
        yield f"exit {result.exit_code} without a cause: {told!r}"
    yield from damage(workspace, complete=result.exit_code == 0)
    if sys.platform == "linux":
        yield from (f"the process {each} was left" for each in alive(str(home)) if each != os.getpid())


def _limits(weather: Weather, exchanges: list[Exchange], seconds: float) -> Iterator[str]:
    """Waits that were longer than their limit."""
    if weather.timeout is not None and seconds > weather.timeout + LAST_STEP + SLACK:
        yield f"{seconds:.0f} s with a time limit of {weather.timeout:.0f} s"
    for exchange in exchanges:
        took = exchange.ended - exchange.at
        limit = {"hang_before_headers": HEADER, "hang_mid_stream": CHUNK}.get(exchange.trouble, CALL)
        if took > limit + SLACK:
            yield f"request {exchange.number} ({exchange.trouble}) took {took:.0f} s"


def records(home: Path) -> Iterator[str]:
    """Records that do not end, or in which a call has not exactly one result."""
    paths = sorted(home.glob(".yagent/data/rollout/**/*.jsonl"))
    if not paths:
        yield "no record was left"
    for path in paths:
        account = Account()
        records = [entry.record for entry in read(path, account)]
        terminal = [record for record in records if isinstance(record, EventMessage) and record.is_terminal]
        if account.count or len(terminal) != 1 or records[-1] is not terminal[0]:
            yield f"{path.name} has {len(terminal)} ends, skipped {account.skipped}"
        yield from (f"{path.name}: {fault}" for fault in unpaired(replay([Segment(path)]).messages))


def unpaired(messages: Sequence[Message]) -> Iterator[str]:
    """Calls that have not exactly one result, in the message after them and in their order."""
    asked: list[str] = []
    for message in messages:
        if message.role == "tool":
            if [result.call_id for result in message.results] != asked:
                yield f"calls {asked} got {[result.call_id for result in message.results]}"
            asked = []
        else:
            if asked:
                yield f"calls without a result: {asked}"
            asked = [call.id for call in message.calls]
    if asked:
        yield f"calls without a result: {asked}"
