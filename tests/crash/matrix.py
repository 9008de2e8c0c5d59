"""An undisturbed run, and the kills that are made of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tests.crash import process, troubles
from tests.crash.cuts import Cut, as_it_lay, boundaries, sample, torn
from tests.crash.job import PROMPT, WARM_UP
from tests.crash.run import Run, Stage
from tests.crash.verdict import Expected, Verdict, survive
from tests.crash.world import World, contents
from tests.support.virtual_time import VirtualTimeLoop
from yagent.runtime.supervise import Domain

BYTE_POSITIONS = 200
KILLS = 20
DIALECTS = ("openai", "anthropic", "responses")


@dataclass(frozen=True, slots=True)
class Trial:
    """One kill and what follows. `is_real`: of real processes, in real time."""

    kind: str
    name: str
    carry_out: Callable[[], Coroutine[Any, Any, Verdict]]
    is_real: bool = False

    def verdict(self) -> Verdict:
        """Carry it out on a loop of its own."""
        started = time.monotonic()
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop if self.is_real else VirtualTimeLoop) as runner:
            verdict = runner.run(self._survived())
        verdict.kind, verdict.seconds = self.kind, time.monotonic() - started
        return verdict

    async def _survived(self) -> Verdict:
        """What nobody foresaw is a fault of this trial, and not the end of all others."""
        async with Domain("trials") as domain:
            outcome = await domain.go(self.name, self.carry_out()).outcome()
        if outcome.value is not None:
            return outcome.value
        return Verdict(self.kind, self.name, faults=[f"{type(outcome.error).__name__}: {outcome.error}"])


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A run to which nothing happened, watched at every moment."""

    stage: Stage
    run: Run
    expected: Expected

    def trial(self, cut: Cut) -> Trial:
        """The trial of a cut."""
        return Trial(cut.kind, cut.name, partial(survive, self.stage, self.expected, cut, self.run.session))


Group: TypeAlias = Callable[[Undisturbed], Sequence[Trial]]


def undisturbed(place: Path, dialect: str, *, earlier: str = "") -> Undisturbed:
    """Carry out the task once, as the first of its session or after an `earlier` one."""
    world = World(place)
    world.begin()
    stage = Stage(world, dialect)
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        run = runner.run(stage.begun(earlier=earlier))
    assert run.result is not None, run
    assert run.result.exit_code == 0, run.result
    stamps = {moment.stamp for moment in run.moments}
    assert all(line.stamp in stamps for line in run.stream), "a record was stamped out of sight"
    return Undisturbed(stage, run, Expected(contents(world.workspace)))


def at_every_record(base: Undisturbed) -> list[Trial]:
    """The kill at every record."""
    return [base.trial(cut) for cut in boundaries(base.run)]


def inside_records(base: Undisturbed, count: int = BYTE_POSITIONS, seed: int = 4) -> list[Trial]:
    """Kills at random byte positions."""
    return [base.trial(cut) for cut in torn(base.run, count, seed)]


def as_files_lay(base: Undisturbed) -> list[Trial]:
    """Kills at every state of the disk."""
    return [base.trial(cut) for cut in as_it_lay(base.run)]


def failing_disks(base: Undisturbed, every: int = 1) -> list[Trial]:
    """No room, or a broken disk, from each record on."""
    return [
        Trial(kind, f"record {number}", partial(troubles.after_a_failing_disk, base.stage, base.expected, kind, number))
        for kind in troubles.DISKS
        for number in range(1, len(base.run.stream) + 1, every)
    ]


def disks_that_fail_in_the_resume(base: Undisturbed, count: int = 24, seed: int = 8) -> list[Trial]:
    """The kill, then a disk that fails, then room again."""
    kind = "kill, then a failing disk"
    cuts = _resumable(base, count, seed)
    told = (base.stage, base.expected)
    return [
        Trial(kind, cut.name, partial(troubles.with_a_failing_disk, *told, cut, base.run.session, seed + number))
        for number, cut in enumerate(cuts)
    ]


def odd_clocks(base: Undisturbed, count: int = 12, seed: int = 1) -> list[Trial]:
    """Calendars that jump between the runs and in the resume, and a disk that takes seconds for each record."""
    cuts = _resumable(base, count, seed)
    told = (base.stage, base.expected)
    jumps = [
        Trial(name, cut.name, partial(troubles.under_a_clock, *told, cut, base.run.session, name))
        for name in troubles.CLOCKS
        for cut in cuts
    ]
    return [*jumps, *(Trial("slow disk", cut.name, partial(troubles.on_a_slow_disk, *told, cut, base.run.session)) for cut in cuts)]


def new_words(base: Undisturbed, count: int = 24, seed: int = 6) -> list[Trial]:
    """Going on with words of the user."""
    return [
        Trial("gone on with new words", cut.name, partial(troubles.with_new_words, base.stage, base.expected, cut, base.run.session))
        for cut in _resumable(base, count, seed)
    ]


def in_a_second_task(place: Path, count: int = 30, seed: int = 7) -> list[Trial]:
    """The session had a task before, which is over."""
    base = undisturbed(place, "openai", earlier=WARM_UP)
    words = next(line.ordinal for line in base.run.stream if PROMPT in str(line.payload["payload"].get("message", "")))
    cuts = [cut for cut in boundaries(base.run)[words:] if not cut.is_over]
    return [replace(base.trial(cut), kind="in the second task of a session") for cut in sample(cuts, count, seed)]


def at_once(base: Undisturbed, count: int = 8, seed: int = 2) -> list[Trial]:
    """Two resumes at the same time."""
    return [
        Trial("two resumes at once", cut.name, partial(troubles.twice_at_once, base.stage, base.expected, cut, base.run.session))
        for cut in _resumable(base, count, seed)
    ]


def kill_after_kill(base: Undisturbed, count: int = 12, seed: int = 3) -> list[Trial]:
    """The resume is killed too; every other time the first kill came inside a record."""
    cuts = _resumable(base, count, seed)
    cuts[::2] = torn(base.run, len(cuts[::2]), seed)
    return [_chain(base, "kill, resume, kill, resume, …", cut, troubles.anywhere(seed + number)) for number, cut in enumerate(cuts)]


def kill_in_a_resumed_delegation(base: Undisturbed, seed: int = 5) -> list[Trial]:
    """The kill comes two levels down, and once more there in the resume."""
    cuts = [cut for cut in boundaries(base.run) if "(devops:" in cut.name]
    kind = "twice in a nested delegation"
    return [_chain(base, kind, cut, troubles.in_a_nested_delegation(seed + number)) for number, cut in enumerate(cuts)]


def real_kills(base: Undisturbed, place: Path, seeds: Sequence[int] = range(KILLS)) -> list[Trial]:
    """kill -9 of the program itself; for every fifth seed of its resumes too, or two of them at once."""
    kind = "kill -9 of the program"
    ways = {
        3: (f"{kind} and of two resumes", partial(process.killed, kills=3)),
        4: (f"{kind}, two resumes at once", partial(process.killed, at_once=2)),
    }
    return [
        Trial(name, f"seed {seed}", partial(kill, seed, place / f"process-{seed}", base.expected), is_real=True)
        for seed in seeds
        for name, kill in [ways.get(seed % 5, (kind, process.killed))]
    ]


def _chain(base: Undisturbed, kind: str, cut: Cut, choose: troubles.Choose) -> Trial:
    return Trial(kind, cut.name, partial(troubles.again_and_again, base.stage, base.expected, cut, base.run.session, choose))


def _resumable(base: Undisturbed, count: int, seed: int) -> list[Cut]:
    """Some cuts that can go on as they stand."""
    return sample([cut for cut in boundaries(base.run)[3:] if not cut.is_over], count, seed)


def every_trial(place: Path) -> Iterator[Trial]:
    """The whole matrix, in one dialect; in the others a third of the kills at records, because what goes over the wire differs there."""
    first, *others = [undisturbed(place / dialect, dialect) for dialect in DIALECTS]
    yield from at_every_record(first)
    for base in others:
        yield from at_every_record(base)[::3]
    yield from inside_records(first)
    for group in (
        as_files_lay,
        failing_disks,
        disks_that_fail_in_the_resume,
        odd_clocks,
        new_words,
        at_once,
        kill_after_kill,
        kill_in_a_resumed_delegation,
    ):
        yield from group(first)
    yield from in_a_second_task(place / "second")
    yield from real_kills(first, place)
