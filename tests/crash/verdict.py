"""What has to be true after a resume, and what became of each cut."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.crash.cuts import Cut
from tests.crash.job import ANSWER, LOG, told_unknown
from tests.crash.run import Run, Stage
from tests.crash.world import World, contents, lines
from tests.support.model_server import Exchange, RequestView
from yagent.errors import YagentError
from yagent.protocol.stop import StopReason
from yagent.rollout.reader import Account, read
from yagent.rollout.records import EventMessage, Record
from yagent.runtime.clock import Clock

_FOR_THE_MOMENT = re.compile(rb"\\n\\n<now>\\n.*?\\n</now>", re.DOTALL)


@dataclass(slots=True)
class Verdict:
    """What became of a cut. `told`: calls whose outcome the model heard to be unknown. `anew`: how a session began again that could not go
    on as it stood."""

    kind: str
    name: str
    reached: bool = False
    told: int = 0
    twice: int = 0
    refused: int = 0
    anew: str = ""
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the undisturbed run left, and its result."""

    contents: Mapping[str, str]

    def judge(self, cut: Cut, world: World, runs: Sequence[Run]) -> Verdict:
        """The verdict on the runs that followed a kill; the last reached the end."""
        verdict = Verdict(cut.kind, cut.name)
        last = runs[-1]
        verdict.reached = _refused_in_silence(last) if cut.is_over else last.result is not None and last.result.answer == ANSWER
        verdict.told = len({f"{view.identity} {call}" for run in runs for view in run.views for call in told_unknown(view)})
        verdict.refused = sum(len(run.violations) for run in runs)
        found = contents(world.workspace)
        logged = Counter(found.get("steps.log", "").splitlines())
        verdict.twice = sum(count - 1 for count in logged.values())
        verdict.faults += [violation for run in runs for violation in run.violations]
        if not verdict.reached:
            verdict.faults.append(f"the end: {last.refused or (last.result and (last.result.error or last.result.answer))!r}")
        if set(logged) != set(LOG) or verdict.twice:
            verdict.faults.append(f"the log: {dict(logged)}")
        verdict.faults += [
            f"{name}: {found.get(name)!r}" for name in {**self.contents, **found} if found.get(name) != self.contents.get(name)
        ]
        verdict.faults += [fault for run in runs for view in run.views for fault in unpaired(view)]
        verdict.faults += _records(world, cut)
        return verdict


def kept(newest: Mapping[str, Exchange], run: Run) -> Iterator[str]:
    """Agents whose first request after the kill does not begin with all of their last one before it."""
    for agent, now in run.first().items():
        before = newest.get(agent)
        if before is None or before.view is None or now.view is None:
            continue
        old, new = before.view.segments, now.view.segments
        if new[: len(old)] != old:
            where = next((index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new)))
            was, now_is = (repr(each[where][:300]) if where < len(each) else "missing" for each in (old, new))
            yield f"{agent}: part {where - 2} of its conversation was {was}, is {now_is}"
        elif before.view.dialect != "messages" and not lasting(now.raw).startswith(said(before.raw)):
            yield f"{agent}: the bytes differ, though they mean the same"


def said(raw: bytes) -> bytes:
    """A request that marks nothing for the cache, up to the end of its conversation, without what is said for the moment only."""
    lasts = lasting(raw)
    return lasts[: lasts.rindex(b"]", 0, lasts.rindex(b'"stream":'))]


def lasting(raw: bytes) -> bytes:
    """A request without the block that rides in its last message and is never sent again."""
    return _FOR_THE_MOMENT.sub(b"", raw)


def unpaired(view: RequestView) -> Iterator[str]:
    """Calls of a request that have not exactly one result."""
    results = Counter(result.call_id for entry in view.entries for result in entry.results)
    calls = [call.id for entry in view.entries for call in entry.calls]
    if sorted(calls) != sorted(results.elements()):
        yield f"{view.identity}: calls {calls} have the results {dict(results)}"


def _refused_in_silence(run: Run) -> bool:
    """Whether a task that was over already is left alone."""
    return bool(run.refused) and not run.exchanges


def _records(world: World, cut: Cut) -> Iterator[str]:
    """Records that do not end, of which more is damaged than the kill cut, or whose numbers have a gap or a double after the kill."""
    directory = world.record_directory
    assert directory is not None
    skipped, newer = Account(), []
    known = [line.ordinal for line in lines(cut.records)]
    for path in sorted(directory.glob("*.jsonl")):
        entries = list(read(path, skipped))
        newer += [entry.ordinal for entry in entries if entry.ordinal not in known]
        if path.stem.count("_") == 1 and entries:
            yield from _ends([entry.record for entry in entries if entry.ordinal not in known] or [entries[-1].record])
    if skipped.count > cut.torn:
        yield f"more is damaged than was cut: {skipped.skipped}"
    first = max(known, default=0) + 1
    if sorted(newer) != list(range(first, first + len(newer))):
        yield f"the records after number {first - 1} have the numbers {sorted(newer)}"


def _ends(records: Sequence[Record]) -> Iterator[str]:
    """What is wrong with the ends of the Director's record: its last word is one, others belong to runs that were given up."""
    ends = [record for record in records if isinstance(record, EventMessage) and record.is_terminal]
    earlier = [end for end in ends[:-1] if end.data.get("stop_reason") != StopReason.UNACCOUNTED]
    if not ends or records[-1] is not ends[-1] or earlier:
        yield f"the Director's record has {len(ends)} ends: {[dict(end.data) for end in ends]}"


async def survive(stage: Stage, expected: Expected, cut: Cut, session: str, clock: Clock | None = None) -> Verdict:
    """Put the world as the kill left it, resume until the end, and judge."""
    stage.world.put(cut.records, cut.tree)
    if not cut.is_begun:
        return await _from_nothing(stage, expected, cut, session)
    run = await stage.resumed(session, clock)
    runs, anew = [run], ""
    if run.result is None and not cut.is_over:
        anew = run.refused
        runs.append(await stage.anew(session))
    verdict = expected.judge(cut, stage.world, runs)
    verdict.anew = anew
    verdict.faults += kept(cut.newest, run)
    return verdict


async def _from_nothing(stage: Stage, expected: Expected, cut: Cut, session: str) -> Verdict:
    """The kill came before there was a session: that is said, and the task starts as if for the first time."""
    try:
        said = (await stage.resumed(session)).refused
    except YagentError as refusal:
        said = str(refusal)
    verdict = expected.judge(cut, stage.world, [await stage.begun()])
    verdict.anew = said
    if not said:
        verdict.faults.append("a session without a record was resumed")
    return verdict
