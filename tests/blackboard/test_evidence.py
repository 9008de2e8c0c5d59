"""Anchors and commands: what is found at the places that claims point to, judged by nothing but files and recorded ends."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.blackboard.boards import Workspace
from yagent.blackboard.commands import command_data, command_from
from yagent.blackboard.evidence import (
    MARKS,
    Anchored,
    Evidence,
    Look,
    Mark,
    Verdict,
    anchor_data,
    anchor_from,
    digest,
    is_same,
    worst,
)
from yagent.errors import YagentError

CODE = "import os\n\n\nclass Box:\n    def open(self):\n        return os.name\n\n\ndef close(box):\n    pass\n"


@pytest.fixture
def files(tmp_path: Path) -> Workspace:
    """A workspace with two files."""
    found = Workspace(tmp_path / "work")
    found.put("src/box.py", CODE)
    found.put("Makefile", "all:\n\ttrue\n")
    return found


def mark_of(evidence: Evidence, where: str) -> Mark:
    """What is found at an anchor when it is written."""
    return worst(each.mark for each in evidence.record(where))


@pytest.mark.parametrize(
    "where",
    [
        "src/box.py",
        "Makefile",
        " `src/box.py` ",
        "src/box.py:4",
        "src/box.py:L4",
        "src/box.py#L4-L6",
        "src/box.py:4-6",
        "src/box.py:5:9",
        "src/box.py line 4",
        "src/box.py (lines 4-6)",
        "src/box.py:Box",
        "src/box.py:Box.open",
        "src/box.py::Box::open",
        "src/box.py:close()",
        "src/box.py:4, Makefile:2",
        "src/box.py and Makefile",
    ],
)
def test_a_place_that_is_there_is_ok(files: Workspace, where: str) -> None:
    assert mark_of(files.evidence(), where) == "ok"


@pytest.mark.parametrize(
    "where",
    [
        "src/bix.py",
        "src/bix.py:4",
        "bix.py",
        "docs/gone",
        "src/box.py:400",
        "src/box.py:0",
        "src/box.py:shut",
        "src/box.py::Box::shut",
        "src/box.py:4, src/bix.py:1",
    ],
)
def test_a_place_that_is_not_there_is_gone(files: Workspace, where: str) -> None:
    assert mark_of(files.evidence(), where) == "gone"


@pytest.mark.parametrize(
    "where", ["", "  ", "the tests", "see above", "https://example.org/a.py:3", "localhost:80", "pytest -q", "v1.2", "src"]
)
def test_what_points_nowhere_cannot_be_checked(files: Workspace, where: str) -> None:
    assert mark_of(files.evidence(), where) == "unverifiable"


def test_a_file_name_with_a_colon_is_a_file(files: Workspace) -> None:
    files.put("a:7", "text")
    (anchor,) = files.evidence().record("a:7")
    assert (anchor.mark, anchor.path, anchor.line) == ("ok", "a:7", 0)


def after(files: Workspace, where: str, text: str | None) -> Verdict:
    """What is said of an anchor into the file once it has another text, or none."""
    evidence = files.evidence()
    anchors = evidence.record(where)
    assert evidence.check_fact(anchors) == Verdict("ok")
    if text is None:
        (files.root / "src/box.py").unlink()
    else:
        files.put("src/box.py", text)
    return evidence.check_fact(anchors)


@pytest.mark.parametrize(
    ("where", "text", "mark"),
    [
        ("src/box.py", CODE + "\n", "stale"),
        ("src/box.py", None, "gone"),
        ("src/box.py:5", CODE + "\n", "stale"),
        ("src/box.py:5", f"# new\n{CODE}", "moved"),
        ("src/box.py:5", CODE.replace("import os\n\n", ""), "moved"),
        ("src/box.py:5", CODE.replace("    def open", "        def open"), "stale"),  # only indented
        ("src/box.py:5", CODE.replace("def open(self)", "def open_it(self)"), "gone"),
        ("src/box.py:5", CODE.replace("\n", "\r\n"), "stale"),
        ("src/box.py:5", "", "gone"),
        ("src/box.py:5", None, "gone"),
        ("src/box.py:8", CODE.replace("\n\n\ndef", "\n\n# new\ndef"), "stale"),  # an empty line is not looked for
        ("src/box.py:Box.open", CODE + "\n", "stale"),
        ("src/box.py:Box.open", f"# open it\n{CODE}", "moved"),  # where it is defined, not where it is named
        ("src/box.py:close", CODE.replace("close", "shut"), "gone"),
        ("src/box.py:close", CODE.replace("def close(", "def enclose("), "gone"),
        ("src/box.py, Makefile", CODE + "\n", "stale"),
    ],
)
def test_what_became_of_a_place_is_told(files: Workspace, where: str, text: str | None, mark: Mark) -> None:
    found = after(files, where, text)
    assert found.mark == mark
    assert ("src/box.py" in found.detail) or mark == "ok"


def test_a_line_that_moved_is_found_at_the_nearest_place(files: Workspace) -> None:
    files.put("src/box.py", "same line\n" + "x\n" * 9 + "same line\n")
    assert after(files, "src/box.py:11", "same line\n" + "x\n" * 11 + "same line\n").detail == "line 11 is at src/box.py:13 now"


def test_known_symbols_are_believed_more_than_the_text(files: Workspace) -> None:
    (anchor,) = files.evidence({"Box.open": 6}).record("src/box.py:Box.open")
    assert anchor.line == 6
    (anchor,) = files.evidence({}).record("src/box.py:Box.open")
    assert anchor.line == 5


def test_what_was_gone_when_it_was_written_stays_so(files: Workspace) -> None:
    evidence = files.evidence()
    anchors = evidence.record("src/later.py:1")
    files.put("src/later.py", "now it is here\n")
    assert evidence.check_fact(anchors).mark == "gone"


def test_what_may_not_be_read_cannot_be_checked() -> None:
    def refuse(path: str) -> bytes | None:
        raise YagentError("outside the workspace")

    evidence = Evidence(Look(refuse))
    assert mark_of(evidence, "/etc/shadow:1") == "unverifiable"
    assert evidence.check(Anchored("ok", path="/etc/shadow", file_hash="0" * 64)) == Verdict("unverifiable", "outside the workspace")


def test_what_may_not_be_read_unasked_is_never_read(files: Workspace) -> None:
    evidence = Evidence(Look(files.read, files.stamp, may_read=lambda path: path.startswith("src/")))
    files.put("secret", "key\n")
    anchored = Evidence(Look(files.read, files.stamp)).record("secret:1")
    files.reads = 0
    assert evidence.record("secret:1") == evidence.record("secret") == (Anchored("unverifiable"),)
    assert evidence.check_fact(anchored) == Verdict("unverifiable", "secret is not read unasked")
    before = evidence.hash_of("secret")
    assert files.reads == 0
    assert is_same(before, evidence.hash_of("secret"))
    files.put("secret", "another key\n")
    assert not is_same(before, evidence.hash_of("secret"))
    assert files.reads == 0
    assert mark_of(evidence, "src/box.py:5") == "ok"


def test_files_that_have_not_changed_are_not_read_again(files: Workspace) -> None:
    evidence = files.evidence()
    anchors = evidence.record("src/box.py:5")
    evidence.check_fact(anchors)
    before = files.reads
    for _ in range(100):
        assert evidence.check_fact(anchors).mark == "ok"
    assert files.reads == before
    files.put("src/box.py", "something else entirely\n")
    assert evidence.check_fact(anchors).mark == "gone"


def test_a_stamp_that_fails_is_no_stamp(files: Workspace) -> None:
    def fail(path: str) -> object:
        raise PermissionError(path)

    evidence = Evidence(Look(files.read, fail))
    assert evidence.check_fact(evidence.record("src/box.py:5")) == Verdict("ok")
    assert evidence.hash_of("src/box.py") == digest(CODE.encode())


def test_a_file_whose_changes_cannot_be_noticed_is_read_each_time(files: Workspace) -> None:
    evidence = Evidence(Look(files.read))
    anchors = evidence.record("src/box.py:5")
    files.put("src/box.py", CODE + "#")
    assert evidence.check_fact(anchors).mark == "stale"


def test_a_command_is_cited_by_its_id_or_by_its_very_text(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("make check", 0, b"fine", ["src/box.py"])
    second = evidence.ran("make  check", 2, b"broken", ["src/box.py"])
    for where in (
        "run#2",
        "make check",
        "`make check`",
        "run_bash: make check",
        "$ make check",
        "make check → exit 2",
        "make check (exit code 2)",
    ):
        (anchor,) = evidence.record(where)
        assert anchor == Anchored("ok", command=second.id), where
        assert evidence.check(anchor) == Verdict("ok")
    assert mark_of(evidence, "make") == "unverifiable"
    assert mark_of(evidence, "make check --all") == "unverifiable"


def test_a_command_that_ended_otherwise_than_claimed_is_no_evidence(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("make check", 2, b"broken", ())
    (anchor,) = evidence.record("make check → exit 0")
    assert evidence.check(anchor) == Verdict("gone", "run#1 ended with exit code 2")


def test_a_command_is_stale_once_a_file_it_covered_is_edited(files: Workspace) -> None:
    evidence = files.evidence()
    run = evidence.ran("make", 0, b"", ["src/box.py", "gone.py"])
    assert run.covered == {"src/box.py": digest(CODE.encode()), "gone.py": None}
    (anchor,) = evidence.record("make")
    files.put("other.py", "the task did not change it")
    assert evidence.check(anchor) == Verdict("ok")
    files.put("src/box.py", CODE + "#")
    assert evidence.check(anchor) == Verdict("stale", "changed since run#1: src/box.py")
    files.put("src/box.py", CODE)
    assert evidence.check(anchor) == Verdict("ok"), "it is as it was"
    files.put("gone.py", "")
    assert evidence.check(anchor).mark == "stale"


def test_a_command_is_stale_once_the_task_edits_a_file_that_it_did_not_cover(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("make", 0, b"", ["src/box.py"])
    anchors = evidence.record("make")
    assert evidence.check_fact(anchors, evidence.hashes_of(["src/box.py"])) == Verdict("ok")
    files.put("Makefile", "edited after it ran")
    changed = evidence.hashes_of(["Makefile", "src/box.py"])
    assert evidence.check_fact(anchors, changed) == Verdict("stale", "changed since run#1: Makefile")


def test_commands_of_an_earlier_process_are_known_and_numbers_go_on(files: Workspace) -> None:
    first = files.evidence()
    run = first.ran("make", 1, b"x", ["src/box.py"])
    later = Evidence(Look(files.read), [command_from(command_data(run))])
    assert later.commands == (run,)
    assert later.ran("make", 0, b"", ()).id == "run#2"
    assert later.check(Anchored("ok", command="run#9")) == Verdict("unverifiable", "run#9 is not on record")


def test_each_mark_is_one_character_and_the_worst_is_shown() -> None:
    assert [len(mark) for mark in MARKS.values()] == [1] * 5
    assert len(set(MARKS.values())) == 5
    assert worst(["ok", "stale", "moved"]) == "stale"
    assert worst(["ok", "gone"]) == "gone"
    assert worst([]) == "unverifiable"


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_can_stand_as_an_anchor(where: str) -> None:
    evidence = Evidence(Look(lambda path: Path("/nonexistent", path.lstrip("/.")).read_bytes()))
    anchors = evidence.record(where)
    assert evidence.check_fact(anchors).mark in ("gone", "unverifiable")
    assert tuple(anchor_from(anchor_data(each)) for each in anchors) == anchors


@pytest.mark.parametrize("data", [{"mark": "fine"}, {"mark": "ok", "line": "3"}, {"mark": "ok", "line": True}, {"mark": "ok", "path": 1}])
def test_damaged_anchors_and_commands_are_refused(data: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        anchor_from(data)
    with pytest.raises(TypeError):
        command_from(data)
