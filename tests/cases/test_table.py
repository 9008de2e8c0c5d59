"""`docs/cases.md` is true: what it names exists, and what exists is named there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs/cases.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([A-J]-?\d\d) \| [^|]+ \| [^|]+ \|([^|]*)\|$", re.MULTILINE)
WAITING = {"I-30"}  # what they are about does not exist yet


def _tests(place: Path) -> set[str]:
    """The names of all test functions below a place."""
    sources = (path.read_text(encoding="utf-8") for path in place.rglob("test_*.py"))
    return {name for source in sources for name in re.findall(r"^(?:async )?def (test_\w+)", source, re.MULTILINE)}


def test_every_test_the_page_names_exists() -> None:
    named = {name for _, names in ROW.findall(PAGE) for name in re.findall(r"`(\w+)`", names)}
    assert len(named) > 100
    assert named <= _tests(TESTS), sorted(named - _tests(TESTS))


def test_every_case_has_a_test_or_waits_for_what_it_is_about() -> None:
    without = {case for case, names in ROW.findall(PAGE) if "`test_" not in names}
    assert without == WAITING


def test_every_case_that_has_a_test_has_a_row() -> None:
    rows = {case.replace("-", "") for case, _ in ROW.findall(PAGE)}
    tested = {case for name in _tests(TESTS / "cases") for case in re.findall(r"(?<=_)([A-DGIJ]\d\d)[a-z]?(?=_)", name)}
    assert tested <= rows, f"add {sorted(tested - rows)} to docs/cases.md"
