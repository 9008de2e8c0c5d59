"""Verified, unverified, stale or nothing to verify: by recorded ends and hashes, whatever the commands are called."""

import json
from pathlib import Path
from typing import get_args

import pytest

from tests.blackboard.boards import Workspace
from yagent.blackboard.commands import CommandKind, command_data, command_from
from yagent.blackboard.evidence import Evidence, Look
from yagent.blackboard.verification import Verification, verification
from yagent.errors import YagentError

CHANGED = ("a.py", "b.py")


@pytest.fixture
def files(tmp_path: Path) -> Workspace:
    """A workspace in which a task has changed two files."""
    found = Workspace(tmp_path / "work")
    for path in CHANGED:
        found.put(path, "x = 1\n")
    return found


def test_nothing_changed_is_nothing_to_verify(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest", 1, b"", ())
    assert verification(evidence, ()) == Verification("none")


def test_changes_without_a_command_are_unverified(files: Workspace) -> None:
    assert verification(files.evidence(), CHANGED) == Verification("unverified", "no check ran after the last edit")


def test_a_command_that_succeeded_after_the_last_edit_verifies_whatever_it_is_called(files: Workspace) -> None:
    evidence = files.evidence()
    proof = evidence.ran("./zzz", 0, b"", CHANGED)
    assert verification(evidence, CHANGED) == Verification("verified", proof=proof)


def test_a_command_that_failed_verifies_nothing_whatever_it_is_called(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest -q  tests", 1, b"2 passed", CHANGED)
    found = verification(evidence, CHANGED)
    assert found == Verification("unverified", "`pytest -q tests` ended with exit code 1 after the last edit and was not run again")


def test_a_command_that_was_stopped_verifies_nothing(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest", None, b"", CHANGED)
    assert "was stopped before its end" in verification(evidence, CHANGED).reason


def test_a_harmless_command_does_not_hide_one_that_failed(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest", 1, b"", CHANGED)
    evidence.ran("ls", 0, b"", CHANGED)
    assert verification(evidence, CHANGED).state == "unverified"
    proof = evidence.ran("pytest", 0, b"", CHANGED)
    assert verification(evidence, CHANGED) == Verification("verified", proof=proof)
    evidence.ran("pytest", 1, b"", CHANGED)
    assert verification(evidence, CHANGED).state == "unverified", "the newest end counts"


def test_a_failure_before_the_last_edit_does_not_count(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest", 1, b"", CHANGED)
    files.put("a.py", "x = 2\n")
    proof = evidence.ran("pytest tests/test_a.py", 0, b"", CHANGED)
    assert verification(evidence, CHANGED) == Verification("verified", proof=proof)


def test_an_edit_after_the_command_makes_it_stale(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest", 0, b"", CHANGED)
    files.put("b.py", "x = 2\n")
    assert verification(evidence, CHANGED) == Verification("stale", "edited after `pytest`: b.py")
    files.put("b.py", "x = 1\n")
    assert verification(evidence, CHANGED).state == "verified", "undone"


def test_a_file_changed_later_for_the_first_time_makes_it_stale(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest", 0, b"", ["a.py"])
    assert verification(evidence, CHANGED) == Verification("stale", "edited after `pytest`: b.py")


def test_a_command_that_ran_before_any_edit_proves_nothing(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest", 0, b"", ())
    assert verification(evidence, CHANGED).state == "unverified"


def test_a_deleted_file_is_covered_as_gone(files: Workspace) -> None:
    (files.root / "b.py").unlink()
    evidence = files.evidence()
    evidence.ran("pytest", 0, b"", CHANGED)
    assert verification(evidence, CHANGED).state == "verified"
    files.put("b.py", "")
    assert verification(evidence, CHANGED).state == "stale"


def test_a_file_that_cannot_be_read_is_not_known_to_be_the_same() -> None:
    def refuse(path: str) -> bytes | None:
        raise YagentError("no")

    evidence = Evidence(Look(refuse))
    evidence.ran("pytest", 0, b"", ["a.py"])
    assert verification(evidence, ["a.py"]) == Verification("stale", "edited after `pytest`: a.py")


def test_a_command_that_only_reads_neither_proves_nor_disproves(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("git status --short", 0, b" M a.py", CHANGED, kind="other")
    assert verification(evidence, CHANGED) == Verification("unverified", "no check ran after the last edit")
    evidence.ran("pytest", 0, b"", CHANGED)
    evidence.ran("grep -q nothing a.py", 1, b"", CHANGED, kind="other")
    assert verification(evidence, CHANGED).state == "verified"


def test_a_check_whose_end_is_hidden_says_nothing_in_either_direction(files: Workspace) -> None:
    evidence = files.evidence()
    evidence.ran("pytest | tail", None, b"", CHANGED, kind="hidden")
    found = verification(evidence, CHANGED)
    assert (found.state, found.reason) == (
        "unverified",
        "the exit code of `pytest | tail` is that of another command in it: run the check alone",
    )
    evidence.ran("pytest -q", 0, b"", CHANGED)
    assert verification(evidence, CHANGED).state == "verified"
    evidence.ran("npm ls; ls", None, b"", CHANGED, kind="hidden")
    assert verification(evidence, CHANGED).state == "verified"


@pytest.mark.parametrize("code", [126, 127])
def test_a_program_that_is_not_there_is_no_failed_check(files: Workspace, code: int) -> None:
    evidence = files.evidence()
    evidence.ran("pytset", code, b"", CHANGED)
    assert verification(evidence, CHANGED) == Verification("unverified", "no check ran after the last edit")
    evidence.ran("pytest", 0, b"", CHANGED)
    assert verification(evidence, CHANGED).state == "verified"


@pytest.mark.parametrize("kind", get_args(CommandKind))
def test_what_a_command_is_stays_known_on_the_record(files: Workspace, kind: CommandKind) -> None:
    ran = files.evidence().ran("pytest", 0, b"", CHANGED, kind=kind)
    assert command_from(json.loads(json.dumps(command_data(ran)))) == ran
