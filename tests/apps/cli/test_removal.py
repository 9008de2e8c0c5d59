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


def fork_of(session: str, project: Path, new: str, board: str = "") -> Path:
    record = SessionMeta(new, "director", str(project), "1", board_id=board, forked_from={"session": session, "ordinal": 3})
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


MINE = "0123abcd"
BOARD = f"notes/{MINE}/repo/0001.md"


def lay(project: Path, *names: str) -> Path:
    """Files in the data directory."""
    home = rollouts(project).parents[2]
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("text")
    return home


@pytest.mark.parametrize("forked", [False, True])
def test_its_notes_and_logs_go_with_a_session_and_no_others(project: Path, capfd: pytest.CaptureFixture[str], forked: bool) -> None:
    write(project, f"20260101-100000_{MINE}.jsonl", meta(MINE, project), ended("agent_exit"))
    if forked:
        fork_of(MINE, project, "fedcba98", MINE)
    mine = [f"logs/{MINE}-1/tool-2026-01-01.log", f"logs/{MINE}/llm-2026-01-01.log"]
    others = [f"logs/{MINE}x-1/tool-2026-01-01.log", "logs/app-2026-01-01.log", "notes/0123abc/repo/0001.md"]
    home = lay(project, *mine, BOARD, *others)
    code, _, err = run(capfd, "rm", MINE, "--yes", "--force")
    assert (code, err.startswith(f"yagent: {3 if forked else 4} files removed, ")) == (0, True), err
    assert [(home / name).exists() for name in (*mine, BOARD)] == [False, False, forked]
    assert all((home / name).exists() for name in others)
    assert not (home / f"logs/{MINE}-1").exists()


@pytest.mark.parametrize("arguments", [("rm", "{}", "--force"), ("rm", "--older-than", "1d", "--force")])
@pytest.mark.parametrize("session", [".", "..", "logs", "0123abcd-x", "0123ABCD", "0123abcd\n"])
def test_a_record_with_an_odd_name_takes_nothing_else_with_it(
    project: Path, capfd: pytest.CaptureFixture[str], session: str, arguments: tuple[str, ...]
) -> None:
    at = "2020-01-01T10:00:00+00:00"
    write(project, f"20200101-100000_{session}.jsonl", meta(session, project), ended("agent_exit"), at=at)
    write(project, "20200101-100000_fedcba98.jsonl", SessionMeta("fedcba98", "director", str(project), "1", board_id=session), at=at)
    kept = (
        "config/config.toml",
        "notes/0123abcd/a/0001.md",
        "notes/a.md",
        f"notes/{session}/a.md",
        f"logs/{session}-1/a.log",
        "logs/a.log",
    )
    home = lay(project, *kept)
    run(capfd, *(part.format(session) for part in arguments), "--yes")
    run(capfd, "rm", "fedcba98", "--yes", "--force")
    assert not [name for name in kept if not (home / name).exists()]


@pytest.mark.parametrize(("order", "left"), [((MINE, "fedcba98"), [True, False]), (("fedcba98", MINE), [True, False])])
def test_a_board_goes_with_the_last_session_that_uses_it(
    project: Path, capfd: pytest.CaptureFixture[str], order: tuple[str, ...], left: list[bool]
) -> None:
    write(project, f"20260101-100000_{MINE}.jsonl", meta(MINE, project), ended("agent_exit"))
    fork_of(MINE, project, "fedcba98", MINE)
    home = lay(project, BOARD)
    seen = []
    for session in order:
        run(capfd, "rm", session, "--yes", "--force")
        seen.append((home / BOARD).exists())
    assert seen == left


def test_a_board_stays_while_a_fork_of_a_fork_uses_it(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, f"20260101-100000_{MINE}.jsonl", meta(MINE, project), ended("agent_exit"))
    fork_of(MINE, project, "fedcba98", MINE)
    fork_of("fedcba98", project, "99999999", MINE)
    home = lay(project, BOARD)
    assert run(capfd, "rm", MINE, "fedcba98", "--yes", "--force")[0] == 0
    assert (home / BOARD).exists()
    assert run(capfd, "rm", "99999999", "--yes")[0] == 0
    assert not (home / BOARD).exists()


def test_a_session_and_its_fork_that_go_together_take_their_board_with_them(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, f"20260101-100000_{MINE}.jsonl", meta(MINE, project), ended("agent_exit"))
    fork_of(MINE, project, "fedcba98", MINE)
    home = lay(project, BOARD)
    assert run(capfd, "rm", MINE, "fedcba98", "--yes")[0] == 0
    assert not (home / BOARD).parents[1].exists()


def test_a_board_stays_where_a_fork_that_is_old_as_well_is_open(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    at = "2020-01-01T10:00:00+00:00"
    write(project, f"20200101-100000_{MINE}.jsonl", meta(MINE, project), ended("agent_exit"), at=at)
    record = SessionMeta("fedcba98", "director", str(project), "1", board_id=MINE, forked_from={"session": MINE, "ordinal": 3})
    fork = write(project, "20200102-100000_fedcba98.jsonl", record, at=at)
    home = lay(project, BOARD)
    with fork.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        run(capfd, "rm", "--older-than", "1d", "--yes", "--force")
    assert (home / BOARD).exists()


def test_a_directory_with_more_than_a_path_can_name_goes_too(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, f"20260101-100000_{MINE}.jsonl", meta(MINE, project), ended("agent_exit"))
    home = lay(project, BOARD)
    inner = os.open((home / BOARD).parent, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=inner)
        outer, inner = inner, os.open("d" * 200, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
    os.close(inner)
    code, _, err = run(capfd, "rm", MINE, "--yes")
    assert (code, (home / BOARD).parents[1].exists()) == (0, False), err


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
