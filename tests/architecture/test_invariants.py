"""docs/invariants.md names code and tests that exist; `scripts.break_invariants` makes its breaks."""

import re

from scripts.break_invariants import PAGE, Break, breaks
from tests.architecture.source_tree import ROOT
from tests.architecture.test_documents import all_test_names

NUMBERS = set(map(str, range(1, 26)))


def faults(each: Break) -> list[str]:
    """What is wrong with one row."""
    place = ROOT / "src/yagent" / each.file
    count = place.read_text(encoding="utf-8").count(each.old) if place.is_file() else 0
    found = [] if count == 1 else [f"{each.file} has {count} times: {each.old}"]
    return found + ([] if each.test in all_test_names() else [f"no test is called {each.test}"])


def test_each_way_to_break_an_invariant_is_there_and_so_is_the_test_that_notices() -> None:
    assert [fault for each in breaks(PAGE.read_text(encoding="utf-8")) for fault in faults(each)] == []


def test_every_invariant_has_a_row_or_a_reason() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert len(rows) == len(breaks(page)), "each row can be read"
    assert set(rows) | set(re.findall(r"\b(\d+) \(the ", page)) | set(re.findall(r"\b(25) \(external", page)) == NUMBERS


def test_a_row_that_is_out_of_date_is_noticed() -> None:
    assert len(faults(Break("agents/loop/stop.py", "no such line", "", "test_nowhere"))) == 2
    assert len(faults(Break("gone.py", "x", "", "test_every_test_can_fail"))) == 1
