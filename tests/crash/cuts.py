"""The states in which a kill can leave an undisturbed run: at every record, inside records, and as it really lay on the disk."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.run import Moment, Run
from tests.crash.world import Line, Records
from tests.support.model_server import Exchange


@dataclass(frozen=True, slots=True)
class Cut:
    """A kill: what is on the disk, the working tree, and the newest request of each agent until then. `torn` counts cut lines."""

    kind: str
    name: str
    records: Records
    tree: Path
    newest: Mapping[str, Exchange] = field(default_factory=dict)
    torn: int = 0

    @property
    def is_begun(self) -> bool:
        """Whether there is a session at all: the Director's file begins with a whole record."""
        return b'"session_meta"' in self._director and (b"\n" in self._director or not self.torn)

    @property
    def is_over(self) -> bool:
        """Whether the task had come to its end."""
        lines = self._director.splitlines()
        return bool(lines) and b'"task_complete"' in lines[-1] and lines[-1].endswith(b"}}}")

    @property
    def _director(self) -> bytes:
        return next((data for name, data in self.records.items() if name.count("_") == 1), b"")


def boundaries(run: Run) -> list[Cut]:
    """After each record: the tree as it was at that moment and, where it differs, as it was before the next could be written."""
    stream, found = run.stream, []
    for count, line in enumerate(stream, 1):
        ends = _between(run, stream, count)
        states: dict[object, Moment] = {}
        for moment in ends:
            empty = frozenset(name for name, size in moment.sizes.items() if size == 0) - _files(stream[:count])
            states.setdefault((moment.tree, empty), moment)
        for number, moment in enumerate(states.values()):
            name = f"after record {count} ({_what(line)})" + (f", effect {number}" if number else "")
            records = _joined(stream[:count], moment)
            found.append(Cut("at a record", name, records, moment.tree, run.newest(moment.requests)))
    return found


def torn(run: Run, count: int, seed: int) -> list[Cut]:
    """At random byte positions of the stream of records: the record that holds the position is cut there."""
    dice = random.Random(seed)
    stream = run.stream
    total = sum(len(line.data) for line in stream)
    return [_torn_at(run, stream, dice.randrange(total)) for _ in range(count)]


def as_it_lay(run: Run) -> list[Cut]:
    """At each moment exactly what was on the disk, records in different files out of step; one cut for each state."""
    found: dict[tuple[object, ...], Cut] = {}
    for number, moment in enumerate(run.moments):
        state = (tuple(sorted(moment.sizes.items())), moment.tree)
        if moment.sizes and state not in found:
            found[state] = at(run, moment, "as it lay", f"moment {number}")
    return list(found.values())


def at(run: Run, moment: Moment, kind: str, name: str, earlier: Cut | None = None) -> Cut:
    """The state at one moment of a run, which went on from an `earlier` cut."""
    before, torn = ({}, 0) if earlier is None else (earlier.newest, earlier.torn)
    return Cut(kind, name, run.at(moment), moment.tree, {**before, **run.newest(moment.requests)}, torn)


def sample(cuts: Sequence[Cut], count: int, seed: int) -> list[Cut]:
    """Some of them, in their order."""
    dice = random.Random(seed)
    return [cuts[index] for index in sorted(dice.sample(range(len(cuts)), min(count, len(cuts))))]


def _torn_at(run: Run, stream: Sequence[Line], position: int) -> Cut:
    count, left = 0, position
    while left >= len(stream[count].data):
        left -= len(stream[count].data)
        count += 1
    line = stream[count]
    moment = next(each for each in run.moments if each.stamp == line.stamp)
    records = dict(_joined(stream[:count], moment))
    records[line.file] = records.get(line.file, b"") + line.data[:left]
    name = f"byte {left} of record {count + 1} ({_what(line)})"
    is_torn = 0 < left < len(line.data) - 1  # without its line end alone it is still whole
    return Cut("inside a record", name, records, moment.tree, run.newest(moment.requests), int(is_torn))


def _between(run: Run, stream: Sequence[Line], count: int) -> Iterator[Moment]:
    """The moments from the stamp of record number `count` to that of the next."""
    begins = stream[count - 1].stamp
    ends = stream[count].stamp if count < len(stream) else run.moments[-1].stamp
    return (moment for moment in run.moments if begins <= moment.stamp <= ends)


def _joined(stream: Iterable[Line], moment: Moment) -> Records:
    """The files of some records, with those that had been made and were still empty."""
    found = {name: b"" for name, size in moment.sizes.items() if size == 0}
    for line in stream:
        found[line.file] = found.get(line.file, b"") + line.data
    return found


def _files(stream: Iterable[Line]) -> frozenset[str]:
    return frozenset(line.file for line in stream)


def _what(line: Line) -> str:
    payload = line.payload["payload"]
    role = payload.get("name") or payload.get("message", {}).get("role") or line.payload["type"]
    return f"{line.file.partition('_')[2].partition('_')[2].removesuffix('.jsonl') or 'director'}: {role}"
