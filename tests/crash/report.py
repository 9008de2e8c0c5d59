"""What became of all cuts, as the table of docs/rollout-and-resume.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.crash.verdict import Verdict

HEAD = ("kind of kill", "how many", "reached the end", "told of an unknown call", "effects twice", "requests refused", "seconds", "faults")
BEGIN, END = "<!-- crash matrix: begin -->", "<!-- crash matrix: end -->"


def table(verdicts: Sequence[Verdict]) -> str:
    """One line for each kind and one for all, in Markdown."""
    kinds = list(dict.fromkeys(verdict.kind for verdict in verdicts))
    lines = [_line(kind, [each for each in verdicts if each.kind == kind]) for kind in kinds]
    return "\n".join([_row(HEAD), _row(["---"] * len(HEAD)), *lines, _line("**all**", verdicts)])


def faults(verdicts: Iterable[Verdict]) -> list[str]:
    """Every fault with the cut that showed it."""
    return [f"{each.kind}, {each.name}: {fault}" for each in verdicts for fault in each.faults]


def write(document: Path, text: str) -> None:
    """Put the table between its marks in a document."""
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{document} has no place for the table: {BEGIN} … {END}")
    document.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _line(kind: str, found: Sequence[Verdict]) -> str:
    told = sum(bool(each.told) for each in found)
    seconds = sum(each.seconds for each in found)
    counts = (len(found), sum(each.reached for each in found), told, sum(each.twice for each in found), sum(each.refused for each in found))
    return _row([kind, *map(str, counts), f"{seconds:.0f}", str(sum(bool(each.faults) for each in found))])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
