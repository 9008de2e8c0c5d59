"""Numbers to tables: what was measured against the bars, and beside other agents."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from scripts.bench.measure import Run
from scripts.bench.peers import PEERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"
SECTION = "<!-- {name}: {edge} -->\n"
MINUS = "−"
FORMS = (".2f", ".2f", ".1f", ".1f", ".0f", "d", ".0%", "d")  # how the columns beside other agents are written


@dataclass(frozen=True, slots=True)
class Series:
    """All runs of one program in one measurement: to the first request, through many steps, and the end of its shortest command."""

    name: str
    starts: tuple[Run, ...]
    long: tuple[Run, ...]
    shortest: tuple[float, ...]

    @property
    def start(self) -> float:
        """Median seconds to the first request."""
        return median(run.start for run in self.starts)

    @property
    def first_gap(self) -> float:
        """Median over the runs, in ms."""
        return median(run.seen.first_gap or 0 for run in self.long)

    @property
    def last_gap(self) -> float:
        """Median over the runs, in ms."""
        return median(run.seen.last_gap or 0 for run in self.long)

    @property
    def growth(self) -> float:
        """How much longer a step takes at the end, in ms: the median of what each run grew by."""
        return median((run.seen.last_gap or 0) - (run.seen.first_gap or 0) for run in self.long)

    @property
    def memory(self) -> float | None:
        """The highest of all runs in MB."""
        return max((run.memory for run in self.long if run.memory is not None), default=None)

    @property
    def kept(self) -> float:
        """The smallest share of a request with which the next one began."""
        return min(run.seen.kept for run in self.long if run.seen.kept is not None)

    @property
    def connections(self) -> int:
        """The most that one run opened."""
        return max(run.seen.connections for run in (*self.starts, *self.long))


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise: what is measured, its limit, what it was. A `structural` one does not depend on time."""

    what: str
    limit: str
    found: str
    held: bool
    structural: bool = False


def bars(floor: Series, ours: Series) -> list[Bar]:
    """The promises, judged."""
    # Neighbours in time are compared, so that a machine that becomes slower or faster meanwhile says nothing.
    ratio = median(run.start / least.start for run, least in zip(ours.starts, floor.starts, strict=True))
    version = median(time / least for time, least in zip(ours.shortest, floor.shortest, strict=True))
    first_gap, growth, memory = ours.first_gap, ours.growth - floor.growth, ours.memory
    return [
        Bar("process start to first request, times the floor's", "1.9", f"{ratio:.2f}", ratio <= 1.9),
        Bar("gap per step, first 20 steps, ms", "10", f"{first_gap:.1f}", first_gap <= 10),
        Bar("growth of the gap to the last 20 steps beyond the floor's, ms", "2", _signed(growth), growth <= 2),
        Bar("`--version`, times bare `python -c pass`", "2.5", f"{version:.2f}", version <= 2.5),
        Bar("high-water memory of the long run, MB", "110", _shown(memory, ".0f"), (memory or 0) <= 110),
        Bar("prefix kept from request to request", "100 %", f"{ours.kept:.2%}", ours.kept == 1, structural=True),
        Bar("connections of a sequential run", "1", str(ours.connections), ours.connections == 1, structural=True),
    ]


def bar_table(judged: Sequence[Bar]) -> str:
    """The promises as Markdown."""
    rows = [(bar.what, bar.limit, bar.found, "yes" if bar.held else "**no**") for bar in judged]
    return table(("what", "bar", "measured", "held"), rows)


def comparison(floor: Series, ours: Series) -> str:
    """Ours, the floor and the peers as Markdown."""
    columns = (
        "`--version` s",
        "first request s",
        "gap first 20 ms",
        "gap last 20 ms",
        "memory MB",
        "connections",
        "kept",
        "first request B",
    )
    rows = [_row(f"**{ours.name}**", ours, median(ours.shortest)), _row(floor.name, floor, None)]
    rows += [(peer.name, *(_shown(value, form) for value, form in zip(peer[1:], FORMS, strict=True))) for peer in PEERS]
    return table(("program", *columns), rows)


def conditions(floor: Series, steps: int) -> str:
    """On what, and how often."""
    return (
        f"Measured {machine()}: {len(floor.starts)} starts and {len(floor.long)} runs of {steps} steps of each program, in turns; medians. "
        f"The floor took {floor.start * 1000:.0f} ms to its first request, and {floor.first_gap:.1f} ms for a step, "
        f"growing by {floor.growth:.1f} ms; bare `python -c pass` took {median(floor.shortest) * 1000:.0f} ms."
    )


def write_section(name: str, text: str) -> None:
    """Replace a measured part of the page on performance."""
    begin, end = (SECTION.format(name=name, edge=edge) for edge in ("begin", "end"))
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def machine() -> str:
    """When and on what something is measured."""
    system = f"{platform.system()} {platform.machine()} with {os.cpu_count()} cores and Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d} on {system}"


def _row(name: str, series: Series, shortest: float | None) -> tuple[str, ...]:
    first_bytes = series.starts[0].seen.first_bytes
    gaps = (series.first_gap, series.last_gap)
    values = (shortest, series.start, *gaps, series.memory, series.connections, series.kept, first_bytes)
    return (name, *(_shown(value, form) for value, form in zip(values, FORMS, strict=True)))


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _signed(value: float) -> str:
    return f"{MINUS if value < 0 else ''}{abs(value):.1f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
