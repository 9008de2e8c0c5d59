"""Kills that are no single cut: a disk that fails, calendars that jump, a slow disk, two resumes at once, kill after kill."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from itertools import count
from typing import TypeAlias

from tests.crash.clocks import MORNING, BrokenDisk, JumpingClock, WitnessClock, broken, full, slow_disk
from tests.crash.cuts import Cut, at
from tests.crash.run import LATER, Moment, Run, Stage
from tests.crash.verdict import Expected, Verdict, kept, survive
from yagent.errors import YagentError
from yagent.protocol.stop import FAILED
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain

DISKS: Mapping[str, Callable[[], int]] = {"disk full": full, "disk broken (EIO)": broken}
MOST_KILLS = 8
MOST_RECORDS = 40  # of a resume until its disk fails
Choose: TypeAlias = Callable[[Run, int], Moment | None]
SLOW = 3.0  # seconds for each write

CLOCKS: Mapping[str, Callable[[], Clock]] = {
    "calendar ten years earlier": lambda: JumpingClock(MORNING - timedelta(days=3652)),
    "calendar an hour earlier": lambda: JumpingClock(MORNING - timedelta(hours=1)),
    "calendar ten years later": lambda: JumpingClock(MORNING + timedelta(days=3652)),
    "calendar back and forth by a day": lambda: JumpingClock(MORNING, timedelta(days=1)),
}


async def after_a_failing_disk(stage: Stage, expected: Expected, kind: str, number: int) -> Verdict:
    """From record `number` (from 1) on nothing can be recorded; there is room again when the session is resumed."""
    stage.world.begin()
    clock = WitnessClock(BrokenDisk(lambda: stage.world.record_directory, number, DISKS[kind]))
    failed = await stage.begun(clock)
    cut = Cut(kind, f"record {number}", failed.records, failed.tree, failed.newest(), torn=len(failed.records))
    verdict = await survive(stage, expected, cut, failed.session)
    verdict.faults += _told_badly(failed)
    return verdict


async def with_a_failing_disk(stage: Stage, expected: Expected, cut: Cut, session: str, seed: int) -> Verdict:
    """In the resume, from some record on, nothing can be recorded; there is room again when it is resumed once more."""
    dice = random.Random(seed)
    number, kind = dice.randrange(1, MOST_RECORDS), dice.choice(list(DISKS))
    stage.world.put(cut.records, cut.tree)
    failed = await stage.resumed(session, WitnessClock(BrokenDisk(lambda: stage.world.record_directory, number, DISKS[kind]), LATER))
    faults = [*kept(cut.newest, failed), *_told_badly(failed)]
    again = Cut(cut.kind, f"{cut.name}, then {kind}", failed.records, stage.world.tree(), {**cut.newest, **failed.newest()}, torn=cut.torn)
    verdict = await survive(stage, expected, again, session)
    verdict.faults += faults
    return verdict


def _told_badly(failed: Run) -> Iterator[str]:
    """What is wrong with how a run ended whose record could not be written."""
    result = failed.result
    if result is None or result.exit_code != FAILED or "record of this session cannot be written" not in result.error:
        yield f"the failing disk was told as {result}, {failed.lost or failed.refused!r}"


async def under_a_clock(stage: Stage, expected: Expected, cut: Cut, session: str, name: str) -> Verdict:
    """The resume goes by one of the `CLOCKS`."""
    return await survive(stage, expected, cut, session, CLOCKS[name]())


async def on_a_slow_disk(stage: Stage, expected: Expected, cut: Cut, session: str) -> Verdict:
    """In the resume each write of a record takes seconds."""
    with slow_disk(lambda: stage.world.record_directory, SLOW):
        return await survive(stage, expected, cut, session)


async def with_new_words(stage: Stage, expected: Expected, cut: Cut, session: str) -> Verdict:
    """The user does not let it go on as it stood, but says what is to be done once more."""
    stage.world.put(cut.records, cut.tree)
    run = await stage.anew(session)
    verdict = expected.judge(cut, stage.world, [run])
    newest = {agent: exchange for agent, exchange in cut.newest.items() if agent == "director"}  # the others are asked anew
    verdict.faults += kept(newest, run)
    return verdict


async def twice_at_once(stage: Stage, expected: Expected, cut: Cut, session: str) -> Verdict:
    """Two resumes of one session: one goes on, the other is refused in words that say why, and leaves no trace."""
    stage.world.put(cut.records, cut.tree)
    async with Domain("two resumes") as domain:
        handles = [domain.go(f"resume {number}", stage.resumed(session)) for number in range(2)]
        outcomes = [await handle.outcome() for handle in handles]
    runs = [outcome.value for outcome in outcomes if outcome.value is not None]
    refusals = [outcome.error for outcome in outcomes if outcome.error is not None]
    verdict = expected.judge(cut, stage.world, runs)
    if len(runs) != 1 or not isinstance(refusals[0], YagentError) or "is open in another process" not in str(refusals[0]):
        verdict.faults.append(f"{len(runs)} went on; refused: {refusals!r}")
    verdict.faults += [fault for run in runs for fault in kept(cut.newest, run)]
    return verdict


async def again_and_again(stage: Stage, expected: Expected, cut: Cut, session: str, choose: Choose) -> Verdict:
    """Kill the resume too, and its resume, at the moments that are chosen, until one gets to the end."""
    runs: list[Run] = []
    faults: list[str] = []
    for number in count(1):
        stage.world.put(cut.records, cut.tree)
        run = await stage.resumed(session, watched=True)
        faults += [f"resume {number}: {fault}" for fault in kept(cut.newest, run)]
        runs.append(run)
        moment = choose(run, number)
        if moment is None:
            break
        killed = at(run, moment, cut.kind, f"{cut.name}, then {moment.stamp}", earlier=cut)
        if killed.is_over:
            break
        cut = killed
    verdict = expected.judge(cut, stage.world, runs)
    verdict.faults += faults
    return verdict


def anywhere(seed: int) -> Choose:
    """A random moment of the beginning of each resume, so that many are needed to get to the end."""
    dice = random.Random(seed)

    def choose(run: Run, number: int) -> Moment | None:
        return dice.choice(run.moments[: max(1, len(run.moments) // 3)]) if number <= MOST_KILLS else None

    return choose


def in_a_nested_delegation(seed: int) -> Choose:
    """Once, at a random record that the agent two levels down writes in the resume."""
    dice = random.Random(seed)

    def choose(run: Run, number: int) -> Moment | None:
        stamps = {line.stamp for line in run.stream if "_devops" in line.file}
        moments = [moment for moment in run.moments if moment.stamp in stamps]
        return dice.choice(moments) if moments and number == 1 else None

    return choose
