"""Real kills: the program as a process of its own, killed at some record and resumed by its own command, in real time."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from dataclasses import dataclass
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

RECORDS = 160  # of an undisturbed run, about
LIMIT = 60.0  # seconds for a run
JITTER = 0.05  # seconds from the record to the kill at most
DIALECTS = ("openai", "anthropic", "responses")


@dataclass(slots=True)
class _Scene:
    """The program at work somewhere, and the model it talks to."""

    world: World
    line: CommandLine
    server: ModelServer
    dice: random.Random

    async def run_until_killed(self, records: int, *arguments: str) -> None:
        """Start the program and kill it soon after so many records are on the disk, unless it was faster."""
        process = await self.line.start(*arguments)
        await until(lambda: self.records() >= records or process.returncode is not None, limit=LIMIT)
        await asyncio.sleep(self.dice.random() * JITTER)
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await ended(process)
        await until(lambda: not alive(str(self.world.home)))

    def records(self) -> int:
        """How many records are on the disk."""
        return sum(data.count(b"\n") for data in self.world.records().values())

    def session(self) -> str:
        """The session that was begun."""
        return next(iter(self.world.records())).split("_")[1].removesuffix(".jsonl")

    def seen(self, since: int = 0) -> Run:
        """What the model was asked, from some request on."""
        exchanges = [each for each in self.server.exchanges[since:] if each.view is not None]
        violations = tuple(f"request {each.exchange}: [{each.rule}] {each.message}" for each in self.server.violations)
        return Run(self.session(), exchanges=exchanges, violations=violations)


async def killed(seed: int, place: Path, expected: Expected, *, kills: int = 1, at_once: int = 1) -> Verdict:
    """Kill a run and its resumes at random records, then resume it to its end, `at_once` times at the same time."""
    dice = random.Random(seed)
    world = World(place)
    world.begin()
    async with ModelServer(script) as server:
        scene = _Scene(world, CommandLine(world.home, world.workspace), server, dice)
        scene.line.talks_to(server.url, DIALECTS[seed % len(DIALECTS)])
        wanted = [dice.randrange(3, RECORDS // kills)]
        await scene.run_until_killed(wanted[0], "-p", PROMPT, "-y")
        for _ in range(kills - 1):
            wanted.append(scene.records() + dice.randrange(RECORDS // kills))
            await scene.run_until_killed(wanted[-1], "resume", scene.session(), "-y")
        before, told = scene.seen(), len(server.exchanges)
        records = world.records()
        torn = sum(not data.endswith(b"\n") for data in records.values() if data)
        cut = Cut("", f"seed {seed}: at record {', '.join(map(str, wanted))}", records, place, before.newest(), torn)
        command = ("resume", scene.session(), "-y", "--output", "json", "--quiet")
        overs = [await ended(process, limit=LIMIT) for process in [await scene.line.start(*command) for _ in range(at_once)]]
        after = scene.seen(told)
    good = [over for over in overs if over.code != 2]
    after.result, after.refused = _result(good[0]) if good else None, overs[0].told
    verdict = expected.judge(cut, world, [after])
    if len(good) != 1 and not cut.is_over:
        verdict.faults.append(f"{len(good)} of {at_once} resumes went on: {[over.told[-400:] for over in overs]}")
    verdict.faults += [f"a refusal without a reason: {over.told!r}" for over in overs if over.code == 2 and not over.told.strip()]
    verdict.faults += kept(cut.newest, after)
    return verdict


def _result(over: Ended) -> TaskResult | None:
    """The account the program printed."""
    try:
        told = json.loads(over.out)
    except ValueError:
        return TaskResult("", "error", StopReason.PANIC, over.code, "", error=over.told)
    return TaskResult(
        told["answer"], told["status"], StopReason(told["stop_reason"]), over.code, told["session"], error=told.get("error", "")
    )
