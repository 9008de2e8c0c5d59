"""`yagent sessions rm`: records go for good, and only those that are meant."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.apps.cli.recorded import a_whole_session, ended, meta, rollouts, run, write
from tests.apps.cli.recorded import project as project
from tests.support.command_line import CommandLine
from tests.support.terminal import Terminal
from yagent.protocol.stop import USAGE
from yagent.rollout.records import SessionMeta
from yagent.runtime.clock import SystemClock


@pytest.fixture(autouse=True)
def nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")


def names(project: Path) -> list[str]:
    return sorted(path.name for path in rollouts(project).glob("*.jsonl"))


def fork_of(session: str, project: Path, new: str) -> Path:
    record = SessionMeta(new, "director", str(project), "1", forked_from={"session": session, "ordinal": 3})
    return write(project, f"20260102-100000_{new}.jsonl", record)


def test_every_file_of_a_session_goes_and_no_other(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    write(project, "20260101-100000_kept.jsonl", meta("kept", project), ended("agent_exit"))
    code, out, err = run(capfd, "rm", "abc", "--yes")
    assert (code, out) == (0, "Removed: abcd1\n")
    assert err.startswith("yagent: 2 files removed, ")
    assert names(project) == ["20260101-100000_kept.jsonl"]
    assert "abcd1" not in (rollouts(project) / "index.json").read_text()
    assert run(capfd, "list")[1].count("\n") == 1


@pytest.mark.parametrize("forked", [False, True])
def test_its_notes_and_logs_go_with_a_session_and_no_others(project: Path, capfd: pytest.CaptureFixture[str], forked: bool) -> None:
    a_whole_session(project)
    if forked:
        fork_of("abcd1", project, "fork")
    home = rollouts(project).parents[2]
    mine, notes = ["logs/abcd1-1/tool-2026-01-01.log", "logs/abcd1/llm-2026-01-01.log"], "notes/abcd1/repo/0001.md"
    others = ["logs/abcd1x-1/tool-2026-01-01.log", "logs/app-2026-01-01.log", "notes/abcd/repo/0001.md"]
    for name in (*mine, notes, *others):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("text")
    code, _, err = run(capfd, "rm", "abcd1", "--yes", "--force")
    assert (code, err.startswith(f"yagent: {4 if forked else 5} files removed, ")) == (0, True), err
    assert [(home / name).exists() for name in (*mine, notes)] == [False, False, forked]
    assert all((home / name).exists() for name in others)
    assert not (home / "logs/abcd1-1").exists()


def test_where_nobody_can_be_asked_it_takes_yes(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    code, out, err = run(capfd, "rm", "abcd1")
    assert (code, out) == (USAGE, "")
    assert "Give --yes" in err
    assert len(names(project)) == 2


def test_one_that_stays_keeps_all_that_were_named(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    write(project, "20260101-100000_free.jsonl", meta("free", project))
    fork_of("abcd1", project, "fork")
    code, out, err = run(capfd, "rm", "free", "abcd1", "--yes")
    assert (code, out) == (USAGE, "")
    assert "Other sessions begin in abcd1, so it stays: fork." in err
    assert "Nothing was removed." in err
    assert len(names(project)) == 4
    assert run(capfd, "rm", "free", "nope", "--yes")[0] == USAGE
    assert len(names(project)) == 4


@pytest.mark.parametrize("arguments", [("abcd1", "--force"), ("abcd1", "fork"), ("fork", "abcd1")])
def test_what_others_begin_in_goes_with_them_or_by_force(
    project: Path, arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    a_whole_session(project)
    fork_of("abcd1", project, "fork")
    assert run(capfd, "rm", *arguments, "--yes")[0] == 0
    assert names(project) == (["20260102-100000_fork.jsonl"] if "--force" in arguments else [])


@pytest.mark.parametrize("named", [True, False])
def test_a_session_that_is_open_elsewhere_stays(project: Path, named: bool, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(project, "20200101-100000_open.jsonl", meta("open", project), at="2020-01-01T10:00:00+00:00")
    write(project, "20200101-100000_free.jsonl", meta("free", project), at="2020-01-01T10:00:00+00:00")
    with path.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        code, out, err = run(capfd, "rm", *(["open", "free"] if named else ["--older-than", "1d"]), "--yes", "--force")
    assert "Session open is open in another process, so it stays." in err
    assert (code, out) == ((USAGE, "") if named else (0, "Removed: free\n"))
    assert path.exists()


def test_only_what_was_last_written_to_long_ago_is_old(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    now = SystemClock().wall().isoformat()
    write(project, "20200101-100000_old.jsonl", meta("old", project), at="2020-01-01T10:00:00+00:00")
    taken_up = write(project, "20200101-100000_again.jsonl", meta("again", project), at="2020-01-01T10:00:00+00:00")
    late = write(project, "20200101-100001_late.jsonl", ended("agent_exit"), at=now, first=2)
    taken_up.write_bytes(taken_up.read_bytes() + late.read_bytes())
    late.unlink()
    assert run(capfd, "rm", "again", "--older-than", "30d", "--yes")[2] == "yagent: there is nothing to remove.\n"
    assert run(capfd, "rm", "--older-than", "30d", "--yes")[1] == "Removed: old\n"
    assert names(project) == ["20200101-100000_again.jsonl"]


def test_a_session_whose_beginning_is_damaged_can_be_removed_by_its_name(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(project, "20200101-100000_torn.jsonl")
    path.write_bytes(b"{")
    assert run(capfd, "rm", "torn", "--yes")[0] == 0
    assert names(project) == []


def test_what_cannot_be_removed_is_told(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    odd = rollouts(project) / "20260101-100002_abcd1_repo.jsonl"
    odd.mkdir()
    code, out, err = run(capfd, "rm", "abcd1", "--yes")
    assert (code, out) == (1, "")
    assert f"not removed: {odd}" in err
    assert "20260101-100000_abcd1.jsonl" in names(project), "it is still listed"


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("n\n", False), ("\n", False)])
async def test_on_a_terminal_it_asks(yagent: CommandLine, answer: str, gone: bool) -> None:
    place = yagent.data / "data/rollout"
    os.environ["HOME"] = str(yagent.home)
    path = write(yagent.workspace, "20260101-100000_abcd.jsonl", meta("abcd", yagent.workspace))
    assert place in path.parents
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "sessions", "rm", "abcd", environment={"CI": None})
        await terminal.see("Remove for good: abcd (1 files, ")
        await terminal.see("no: ")
        terminal.type(answer)
        assert await process.wait() == (0 if gone else USAGE)
    assert path.exists() is not gone
