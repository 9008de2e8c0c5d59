"""What belongs to a session: its files, its delegations, the sessions it was forked from, and nobody else's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.rollout.conversations import CONTEXT, META, THREE_TURNS, activity, answer, answered, asked, ended, said, write
from yagent.rollout.marks import Segment
from yagent.rollout.reader import Account
from yagent.rollout.records import SessionMeta
from yagent.rollout.replay import replay
from yagent.rollout.scan import ForkedFromNothing, SessionRecords, session_records


def scanned(directory: Path, session: str = "s1") -> SessionRecords:
    account = Account()
    records = session_records(directory, session, account)
    assert account.skipped == []
    return records


def child(delegation: str, *, call: str = "", parent: str = "", continues: bool = False) -> SessionMeta:
    return SessionMeta("s1", "coding", "/p", "1", delegation, "s1", parent, call_id=call, continues=continues)


def fork(session: str, parent: object, ordinal: object) -> SessionMeta:
    return SessionMeta(session, "director", "/p", "1", forked_from={"session": parent, "ordinal": ordinal})


def test_a_session_without_delegations_is_its_directors_file(tmp_path: Path) -> None:
    path = write(tmp_path, *THREE_TURNS)
    write(tmp_path, SessionMeta("s10", "director", "/p", "1"), name="t_s10.jsonl")
    assert scanned(tmp_path) == SessionRecords("s1", (Segment(path),), (), 13, (path,))


def test_a_session_that_is_not_there_has_no_director(tmp_path: Path) -> None:
    assert scanned(tmp_path) == SessionRecords("s1", (), (), 0, ())


def test_delegations_are_found_by_parent_and_call_with_all_their_files(tmp_path: Path) -> None:
    write(tmp_path, *THREE_TURNS)
    one = write(tmp_path, child("d", call="d"), ended("paused"), first=20, name="t_s1_coding.jsonl")
    other = write(tmp_path, child("d-2", call="d", parent="d"), said("x"), first=25, name="t_s1_coding-2.jsonl")
    later = write(tmp_path, child("d", call="d", continues=True), said("y"), ended("agent_exit"), first=30, name="t_s1_coding-3.jsonl")
    records = scanned(tmp_path)
    assert records.position == 32
    found = records.find_child("", "d", 11)
    assert found is not None
    assert (found.segments, found.first, found.stop_reason) == ((Segment(one), Segment(later)), 20, "agent_exit")
    nested = records.find_child("d", "d", 21)
    assert nested is not None
    assert (nested.segments, nested.stop_reason) == ((Segment(other),), "")
    assert records.find_child("", "d", 20) is None
    assert records.find_child("", "x", 0) is None


@pytest.mark.parametrize("size", [10, 20_000, 5_000_000])
def test_the_numbers_of_a_delegation_are_taken_however_long_its_last_record_is(tmp_path: Path, size: int) -> None:
    write(tmp_path, *THREE_TURNS)
    write(tmp_path, child("d", call="d"), said("look"), answer("x" * size), first=20, name="t_s1_coding.jsonl")
    assert scanned(tmp_path).position == 22


def test_an_id_that_is_used_again_in_a_later_task_is_another_delegation(tmp_path: Path) -> None:
    write(tmp_path, *THREE_TURNS)
    write(tmp_path, child("d", call="d"), first=20, name="t_s1_coding.jsonl")
    second = write(tmp_path, child("d", call="d"), first=40, name="t_s1_coding-2.jsonl")
    third = write(tmp_path, child("d", call="d", continues=True), first=50, name="t_s1_coding-3.jsonl")
    found = scanned(tmp_path).find_child("", "d", 35)
    assert found is not None
    assert found.segments == (Segment(second), Segment(third))


def test_delegations_of_the_first_program_are_found_by_their_id(tmp_path: Path) -> None:
    write(tmp_path, *THREE_TURNS)
    write(tmp_path, child("c9"), first=20, name="t_s1_coding.jsonl")
    assert scanned(tmp_path).find_child("", "c9", 11) is not None


def test_a_file_that_does_not_say_whose_it_is_is_left_out_with_account(tmp_path: Path) -> None:
    write(tmp_path, *THREE_TURNS)
    write(tmp_path, CONTEXT, said("x"), first=20, name="t_s1_coding.jsonl")
    account = Account()
    records = session_records(tmp_path, "s1", account)
    assert (records.delegations, records.position) == ((), 21)
    assert account.skipped == ["t_s1_coding.jsonl: left out (its first record, which tells whose it is, cannot be read)"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_files_of_another_user_are_left_out_with_account(tmp_path: Path) -> None:
    path = write(tmp_path, *THREE_TURNS)
    os.chown(path, 12345, 12345)
    account = Account()
    assert session_records(tmp_path, "s1", account).director == ()
    assert account.skipped == [f"{path.name}: left out (belongs to another user)"]


def test_what_is_no_file_is_left_out_with_account(tmp_path: Path) -> None:
    write(tmp_path, *THREE_TURNS)
    (tmp_path / "t_s1_coding.jsonl").mkdir()
    (tmp_path / "t_s1_repo.jsonl").symlink_to("gone")
    account = Account()
    assert session_records(tmp_path, "s1", account).position == 13
    assert account.skipped == [
        "t_s1_coding.jsonl: left out (not a regular file)",
        "t_s1_repo.jsonl: left out (No such file or directory)",
    ]


def test_a_fork_begins_with_the_old_conversation_up_to_its_point(tmp_path: Path) -> None:
    old = write(tmp_path, *THREE_TURNS)
    new = write(tmp_path, fork("f1", "s1", 6), CONTEXT, said("otherwise"), first=14, name="t_f1.jsonl")
    records = scanned(tmp_path, "f1")
    assert (records.director, records.position, records.files) == ((Segment(old, 6), Segment(new)), 16, (new,))
    found = replay(records.director)
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "user"]
    assert found.meta is not None
    assert found.meta.session == "f1"


def test_a_fork_numbers_on_after_the_point_it_begins_at(tmp_path: Path) -> None:
    write(tmp_path, *THREE_TURNS)
    write(tmp_path, fork("f1", "s1", 13), first=1, name="t_f1.jsonl")
    assert scanned(tmp_path, "f1").position == 13


@pytest.mark.parametrize(("at", "cuts"), [(18, (6, 18, None)), (3, (3, 3, None))])
def test_a_fork_of_a_fork_begins_where_its_parent_begins(tmp_path: Path, at: int, cuts: tuple[int | None, ...]) -> None:
    write(tmp_path, *THREE_TURNS)
    write(tmp_path, fork("f1", "s1", 6), CONTEXT, said("b"), asked("z"), answered("z"), answer("ok"), first=14, name="t_f1.jsonl")
    write(tmp_path, fork("f2", "f1", at), said("c"), first=30, name="t_f2.jsonl")
    director = scanned(tmp_path, "f2").director
    assert tuple(segment.until for segment in director) == cuts
    assert replay(director).messages[-1].text == "c"


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        (fork("f1", "gone", 6), "begins in session gone, whose record is not in .* any more. Put it back, or start anew"),
        (fork("f1", "f1", 6), "does not say in which session it begins"),
        (fork("f1", 7, 6), "does not say in which session it begins"),
        (fork("f1", "s1", "six"), "does not say in which session it begins"),
    ],
)
def test_a_fork_without_its_beginning_is_a_clear_error(tmp_path: Path, meta: SessionMeta, why: str) -> None:
    write(tmp_path, META, activity(1))
    write(tmp_path, meta, name="t_f1.jsonl")
    with pytest.raises(ForkedFromNothing, match=why):
        session_records(tmp_path, "f1", Account())
