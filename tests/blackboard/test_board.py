"""A board: one file for each delegation, whole or not at all, read again each time."""

import asyncio
import stat
from pathlib import Path

import pytest

from tests.blackboard.boards import HANDOFF, Desk, draft
from tests.support.virtual_time import VirtualClock
from yagent.blackboard.board import NoSuchNote, NoteNotKept
from yagent.blackboard.note import decode
from yagent.protocol.handoff import Handoff


@pytest.fixture
def desk(tmp_path: Path, clock: VirtualClock) -> Desk:
    """An empty board."""
    return Desk(tmp_path, clock)


async def test_each_delegation_leaves_a_file_with_its_whole_deliverable(desk: Desk) -> None:
    body = "line\n" * 50_000
    assert await desk.write(body=body) == "repo#1"
    assert await desk.write(delegation_id="d2") == "repo#2"
    assert await desk.write("coding", "d3") == "coding#1"
    file = desk.notes / "s1" / "repo" / "0001.md"
    assert file.read_bytes().endswith(body.encode())
    assert decode(file.read_bytes(), "repo", "0001").body == body
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.relative_to(desk.notes).as_posix() for path in desk.notes.rglob("*.md")) == [
        "s1/coding/0001.md",
        "s1/repo/0001.md",
        "s1/repo/0002.md",
    ]


async def test_a_note_says_who_was_asked_what_when_and_how_it_ended(desk: Desk) -> None:
    await desk.write(status="error", stop_reason="max_steps", artifact="20260101-000000-0123abcd", verification="unverified")
    note, shown = await desk.board.read("repo#1")
    head = note.head
    assert shown.head == head
    assert (head.status, head.stop_reason, head.artifact, head.verification) == (
        "error",
        "max_steps",
        "20260101-000000-0123abcd",
        "unverified",
    )
    assert (head.task, head.delegation_id, head.handoff, head.submitted) == ("Where is login checked?", "d1", HANDOFF, True)
    assert head.created == desk.clock.wall().isoformat(timespec="milliseconds")


async def test_two_tasks_of_a_session_share_a_board_and_two_sessions_do_not(desk: Desk) -> None:
    await desk.write()
    again, other = desk.another("s1"), desk.another("s2")
    assert [each.head.id for each in (await again.notes()).notes] == ["repo#1"]
    assert (await other.notes()).notes == ()
    head = await again.write(draft(delegation_id="d9"))
    assert head is not None
    assert head.id == "repo#2", "numbers go on"


async def test_the_number_a_result_has_is_the_notes_unless_another_delegation_has_it(desk: Desk) -> None:
    assert await desk.write(number=7) == "repo#7"
    assert await desk.write(number=7, body="again") == "repo#7"
    assert (await desk.board.read("repo#7"))[0].body == "again"
    assert await desk.write(delegation_id="d2", number=7) == "repo#8"
    assert await desk.write(delegation_id="", number=8) == "repo#9"
    assert await desk.write(delegation_id="", number=9) == "repo#10", "without an id none is the same"
    assert await desk.write(delegation_id="d5") == "repo#11"


async def test_notes_written_at_the_same_time_all_stay(desk: Desk) -> None:
    await asyncio.gather(*(desk.board.write(draft(delegation_id=f"d{number}", number=1)) for number in range(8)))
    assert sorted(each.head.delegation_id for each in (await desk.board.notes()).notes) == [f"d{number}" for number in range(8)]


async def test_without_a_hand_over_the_beginning_of_what_was_said_stands_for_it(desk: Desk) -> None:
    await desk.write(handoff=None, status="partial", body=f"{'x' * 2000}\n\nmore")
    note, _ = await desk.board.read("repo#1")
    assert not note.head.submitted
    assert note.head.handoff == Handoff("x" * 1199 + "…", status="partial")


async def test_only_a_degraded_note_may_come_of_a_record(desk: Desk) -> None:
    await desk.write(handoff=None, status="degraded", reasons=("max_steps",), body="Done before it was stopped:")
    note, _ = await desk.board.read("repo#1")
    assert (note.head.status, note.head.reasons, note.head.handoff.status) == ("degraded", ("max_steps",), "partial")


async def test_the_newest_note_comes_first_and_is_meant_by_the_agents_name(desk: Desk) -> None:
    for number in range(12):
        await desk.write(delegation_id=f"d{number}")
    await desk.write("chat", "c1")
    ids = [each.head.id for each in (await desk.board.notes()).notes]
    assert ids == ["chat#1", *(f"repo#{number}" for number in range(12, 0, -1))]
    assert (await desk.board.read("repo"))[0].head.id == "repo#12"


@pytest.mark.parametrize("wanted", ["repo#2", " repo#2 ", "note:repo#2", "repo_agent#2", "Repo#2", "repo/0002", "repo/0002.md", "repo#02"])
async def test_an_id_is_understood_as_models_write_it(desk: Desk, wanted: str) -> None:
    for number in range(3):
        await desk.write(delegation_id=f"d{number}")
    assert (await desk.board.read(wanted))[0].head.delegation_id == "d1"


@pytest.mark.parametrize("wanted", ["repo#9", "../s2/repo#1", "repo/../../x", "", "#1", "repo#", "coding", "/etc/passwd"])
async def test_an_unknown_id_is_answered_with_what_there_is(desk: Desk, wanted: str) -> None:
    await desk.write()
    await desk.another("s2").write(draft(delegation_id="secret"))
    with pytest.raises(NoSuchNote, match=r"There are: repo#1\."):
        await desk.board.read(wanted)


async def test_near_names_are_given_and_the_way_to_all_of_them(desk: Desk) -> None:
    with pytest.raises(NoSuchNote, match="no delegation has left one yet"):
        await desk.board.read("repo#1")
    for agent in ("repo", "coding", "chat", "devops", "browser", "meta"):
        await desk.write(agent, agent)
    with pytest.raises(NoSuchNote, match=r"There are: coding#1\. list_notes shows all 6\."):
        await desk.board.read("codign#1")


async def test_a_note_that_cannot_be_read_is_not_said_to_be_missing(desk: Desk) -> None:
    await desk.write()
    (desk.board.directory / "repo" / "0001.md").write_bytes(b"---\n[1]\n---\n")
    with pytest.raises(NoSuchNote, match=r"no note 'repo#1' that can be read\. list_notes says what is wrong with 1\."):
        await desk.board.read("repo#1")
    await desk.write("coding", "d2")
    with pytest.raises(NoSuchNote, match=r"that can be read; those that can: coding#1\."):
        await desk.board.read("repo#1")


async def test_files_that_are_no_notes_are_named_and_hide_no_other(desk: Desk) -> None:
    await desk.write()
    place = desk.board.directory / "repo"
    (place / "0002.md").write_bytes((place / "0001.md").read_bytes()[:50])
    (place / "readme.md").write_text("mine")
    (place / "0003.md").mkdir()
    (place / "list.txt").write_text("no note")
    (desk.board.directory / "stray.md").write_text("---\n{}\n---\n")
    listing = await desk.board.notes()
    assert [each.head.id for each in listing.notes] == ["repo#1"]
    assert [problem.partition("repo/")[2][:6] for problem in listing.problems] == ["0002 d", "0003.m", "readme"]
    assert await desk.write(delegation_id="d2") == "repo#4"


async def test_what_another_process_writes_changes_or_removes_is_seen(desk: Desk) -> None:
    await desk.write()
    assert len((await desk.board.notes()).notes) == 1
    file = desk.board.directory / "repo" / "0001.md"
    file.write_bytes(file.read_bytes().replace(b"Login is checked", b"Nothing is checked"))
    assert (await desk.board.notes()).notes[0].head.handoff.conclusion.startswith("Nothing")
    file.unlink()
    assert (await desk.board.notes()).notes == ()


async def test_a_board_switched_off_takes_and_shows_nothing(desk: Desk) -> None:
    await desk.write()
    before = sorted(desk.notes.rglob("*"))
    off = desk.another("s1", enabled=False)
    assert await off.write(draft(delegation_id="d2")) is None
    assert (await off.notes()).notes == ()
    assert await off.index() == ""
    with pytest.raises(NoSuchNote, match="switched off"):
        await off.read("repo#1")
    assert sorted(desk.notes.rglob("*")) == before


async def test_a_board_that_cannot_be_written_says_so(desk: Desk) -> None:
    desk.notes.write_text("a file where the directory should be")
    with pytest.raises(NoteNotKept, match=r"could not be kept in .*YAGENT_NOTES_ROOT"):
        await desk.write()


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", ".hidden", "a\n", "x" * 200])
def test_a_board_never_leaves_its_directory(desk: Desk, name: str) -> None:
    with pytest.raises(NoteNotKept, match="cannot be the name"):
        desk.another(name)


async def test_an_agent_never_leaves_its_board(desk: Desk) -> None:
    with pytest.raises(NoteNotKept, match="cannot be the name"):
        await desk.write("../s2")


async def test_facts_are_looked_at_when_written_and_again_when_shown(desk: Desk) -> None:
    desk.workspace.put("auth.py", "import os\nreturn hash == kept\n")
    await desk.write()
    _, shown = await desk.board.read("repo#1")
    assert shown.marks == ("✓", "?")
    desk.workspace.put("auth.py", "import os\n\n\nreturn hash == kept\n")
    _, shown = await desk.board.read("repo#1")
    assert shown.marks == ("→", "?")
    assert shown.verdicts[0].detail == "line 2 is at auth.py:4 now"
    (desk.workspace.root / "auth.py").unlink()
    assert (await desk.board.notes()).notes[0].marks == ("✗", "?")


async def test_the_commands_a_note_names_are_kept_with_it(desk: Desk) -> None:
    first = desk.evidence.ran("make", 0, b"ok", ())
    desk.evidence.ran("ls", 0, b"", ())
    await desk.write(commands=(first.id,))
    note, _ = await desk.board.read("repo#1")
    assert note.head.commands == (first,)


async def test_more_notes_than_a_board_holds_push_out_the_oldest(desk: Desk) -> None:
    desk.board = desk.another("s1", max_notes_per_board=3)
    for number in range(5):
        await desk.write(delegation_id=f"d{number}")
    assert [each.head.id for each in (await desk.board.notes()).notes] == ["repo#5", "repo#4", "repo#3"]
