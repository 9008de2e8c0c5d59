"""The statistics of many runs, as the table of docs/robustness.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from tests.chaos.run import Verdict
from tests.chaos.trouble import KINDS

HEAD = ("trouble", "runs", "right answer", "honest exit codes", "attempts, median (most)", "seconds, median (most)", "faults")


def table(verdicts: Sequence[Verdict]) -> str:
    """One line for each kind of trouble and one for passing and lasting trouble of all kinds, in Markdown."""
    lines = [_line(kind, (each for each in verdicts if each.weather.kind == kind)) for kind in KINDS]
    lines += [
        _line("**all that passes**", (each for each in verdicts if each.weather.lasting is None)),
        _line("**all that never ends**", (each for each in verdicts if each.weather.lasting is not None)),
    ]
    return "\n".join([_row(HEAD), _row(["---"] * len(HEAD)), *filter(None, lines)])


def faults(verdicts: Iterable[Verdict]) -> list[str]:
    """Every fault with the run that showed it."""
    found = [(f"seed {each.weather.seed} ({each.weather.kind}, {each.weather.dialect})", each.faults) for each in verdicts]
    return [f"{which}: {fault}" for which, seen in found for fault in seen]


def _line(name: str, found: Iterable[Verdict]) -> str:
    runs = list(found)
    if not runs:
        return ""
    codes = Counter(each.exit_code for each in runs)
    right = codes.pop(0, 0)
    honest = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())) or "–"
    attempts, seconds = [each.attempts for each in runs], [each.seconds for each in runs]
    spread = [f"{median(values):.0f} ({max(values):.0f})" for values in (attempts, seconds)]
    return _row([name, str(len(runs)), str(right), honest, *spread, str(sum(bool(each.faults) for each in runs))])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
