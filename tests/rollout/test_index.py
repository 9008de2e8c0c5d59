"""The list of sessions: complete, newest first, with the reason why each can or cannot go on; and quick."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from pathlib import Path

import pytest

from tests.rollout.conversations import CONTEXT, META, activity, ended, said
from yagent.protocol.messages import Message, Text, user_message
from yagent.protocol.stop import StopReason
from yagent.rollout.index import VERSION, list_sessions
from yagent.rollout.marks import Segment
from yagent.rollout.reader import Account, ending
from yagent.rollout.records import Compacted, EventMessage, Record, ResponseItem, SessionMeta, encode
from yagent.rollout.replay import replay

HERE = SessionMeta("s1", "director", "/", "1.0")  # a directory that is there
WORDS = said("<environment>…</environment> fix the rounding")
DONE = ended("agent_exit")


def lines(*records: Record, first: int = 1, at: str = "2026-01-01T00:00:00+00:00") -> bytes:
    return b"".join(encode(first + index, at, record) for index, record in enumerate(records))


def file(directory: Path, data: bytes, name: str = "20260101-000000_s1.jsonl") -> Path:
    path = directory / name
    path.write_bytes(data)
    return path


def summary(directory: Path, *written: Record, tail: bytes = b"") -> tuple[str, str]:
    file(directory, lines(*written) + tail)
    (found,) = list_sessions(directory, 10)
    assert (found.session, found.project_dir) == ("s1", "/project")
    return found.prompt, found.stop_reason


def test_a_finished_session_tells_its_prompt_and_stop_reason(tmp_path: Path) -> None:
    assert summary(tmp_path, META, WORDS, DONE) == ("fix the rounding", "agent_exit")


def test_without_the_task_the_first_words_sent_are_told(tmp_path: Path) -> None:
    bare = SessionMeta("s1", "director", "/project", "1.0")
    assert summary(tmp_path, bare, WORDS, DONE) == (WORDS.message.text, "agent_exit")
    assert summary(tmp_path, bare) == ("", "")


def test_a_session_that_went_on_after_a_task_is_unfinished(tmp_path: Path) -> None:
    assert summary(tmp_path, META, WORDS, DONE, WORDS) == ("fix the rounding", "")


def test_damage_after_the_terminal_record_does_not_hide_it(tmp_path: Path) -> None:
    assert summary(tmp_path, META, DONE, tail=b"\0\0\0\n") == ("fix the rounding", "agent_exit")


def test_a_terminal_record_longer_than_the_usual_tail_is_found(tmp_path: Path) -> None:
    ended = EventMessage("task_complete", {"stop_reason": "plain_text", "conclusion": "x" * 300_000})
    assert summary(tmp_path, META, WORDS, ended) == ("fix the rounding", "plain_text")


def rewritten(size: int) -> Compacted:
    return Compacted(1, (user_message("x" * size),), "ultimate", str(size))


@pytest.mark.parametrize(
    "sizes", [(300,), (20_000,), (20_000, 300), (300, 20_000, 300), (5_000_000, 300), (5_000_000, 20_000), (300,) * 100]
)
@pytest.mark.parametrize("last", [DONE, WORDS, activity(1)])
def test_a_list_tells_the_end_that_reading_the_whole_record_tells(tmp_path: Path, sizes: tuple[int, ...], last: Record) -> None:
    data = lines(META, WORDS, last, *(rewritten(size) for size in sizes))
    whole = replay([Segment(file(tmp_path, data))])
    (found,) = list_sessions(tmp_path, 10)
    assert found.stop_reason == whole.stop_reason == ("agent_exit" if last is DONE else "")
    assert ending(found.path).position == whole.position == 3 + len(sizes)


def test_sessions_are_listed_newest_first_and_exactly_to_the_limit(tmp_path: Path) -> None:
    for number in range(5):
        meta = SessionMeta(f"s{number}", "director", "/project", "1.0", task=f"task {number}")
        file(tmp_path, lines(meta, at=f"2026-01-01T00:00:00.{9 - number}"), f"20260101-00000{number // 2}_s{number}.jsonl")
    file(tmp_path, b"no session", "20260102-000000_zzz.jsonl")
    file(tmp_path, lines(META), "20260102-000000_s1_coding.jsonl")
    (tmp_path / "20260103-000000_dir.jsonl").mkdir()
    assert [found.session for found in list_sessions(tmp_path, 100)] == ["s0", "s1", "s2", "s3", "s4"]
    assert [found.session for found in list_sessions(tmp_path, 2)] == ["s0", "s1"]
    assert list_sessions(tmp_path, 0) == []
    assert list_sessions(tmp_path / "missing", 5) == []


def test_listing_reads_only_the_ends_of_a_large_file(tmp_path: Path) -> None:
    path = file(tmp_path, lines(META, WORDS))
    with path.open("ab") as stream:
        stream.truncate(40 * 1024**3)  # sparse: reading it would take minutes
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" + lines(ResponseItem(Message("assistant", (Text("x"),))), DONE))
    (found,) = list_sessions(tmp_path, 1)
    assert found.stop_reason == "agent_exit"


REASONS = [*StopReason, "", "tired"]


def test_the_reasons_are_the_eleven_of_the_specification_and_our_four_and_none_and_a_later_one() -> None:
    assert len(set(REASONS)) == 11 + 4 + 2


@pytest.mark.parametrize("reason", REASONS)
def test_every_session_is_listed_with_the_reason_why_it_can_or_cannot_go_on(tmp_path: Path, reason: str) -> None:
    file(tmp_path, lines(HERE, WORDS, *([ended(reason)] if reason else [])))
    (found,) = list_sessions(tmp_path, 10)
    assert found.stop_reason == reason
    assert found.resumable is (reason in ("paused", "cancelled", ""))
    assert found.reason
    assert (found.reason == "ended: tired") is (reason == "tired")


def test_a_session_that_is_open_is_listed_as_such(tmp_path: Path) -> None:
    path = file(tmp_path, lines(HERE, WORDS, ended("paused")))
    with path.open("ab") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        (held,) = list_sessions(tmp_path, 10)
    (free,) = list_sessions(tmp_path, 10)
    assert [(each.resumable, each.reason) for each in (held, free)] == [(False, "open in another process"), (True, "paused")]


def test_a_session_whose_directory_is_gone_cannot_go_on(tmp_path: Path) -> None:
    place = tmp_path / "project"
    file(tmp_path, lines(SessionMeta("s1", "director", str(place), "1.0"), WORDS, ended("paused")))
    (gone,) = list_sessions(tmp_path, 10)
    place.mkdir()
    (there,) = list_sessions(tmp_path, 10)
    assert [(each.resumable, each.reason) for each in (gone, there)] == [(False, "its directory does not exist any more"), (True, "paused")]


def test_a_task_that_went_on_after_a_stop_and_was_killed_may_go_on(tmp_path: Path) -> None:
    for follows, stop_reason in ((CONTEXT, "paused"), (EventMessage("note"), "paused"), (WORDS, ""), (activity(4), "")):
        file(tmp_path, lines(HERE, WORDS, ended("paused"), follows))
        (found,) = list_sessions(tmp_path, 10)
        assert (found.stop_reason, found.resumable) == (stop_reason, True)


def test_the_session_that_was_last_written_to_comes_first(tmp_path: Path) -> None:
    older = lines(META, at="2026-01-01T00:00:00") + lines(DONE, first=2, at="2026-03-01T00:00:00")
    file(tmp_path, older, "20260101-000000_s1.jsonl")
    file(tmp_path, lines(SessionMeta("s2", "director", "/p", "1"), at="2026-02-01T00:00:00"), "20260201-000000_s2.jsonl")
    assert [(each.session, each.updated[:7]) for each in list_sessions(tmp_path, 5)] == [("s1", "2026-03"), ("s2", "2026-02")]


def test_a_session_whose_first_record_is_lost_is_listed(tmp_path: Path) -> None:
    file(tmp_path, b"torn\n" + lines(CONTEXT, WORDS, DONE))
    (found,) = list_sessions(tmp_path, 5)
    assert (found.session, found.project_dir, found.prompt, found.stop_reason) == ("s1", "/project", WORDS.message.text, "agent_exit")


def test_what_is_left_out_of_the_list_is_told(tmp_path: Path) -> None:
    file(tmp_path, b"no session", "20260102-000000_zzz.jsonl")
    (tmp_path / "20260103-000000_dir.jsonl").mkdir()
    for _ in range(2):  # from the files, from the index
        account = Account()
        assert list_sessions(tmp_path, 5, account) == []
        assert sorted(account.skipped) == [
            "20260102-000000_zzz.jsonl: left out (no record in it can be read)",
            "20260103-000000_dir.jsonl: left out (not a regular file)",
        ]


def test_a_session_that_is_being_begun_is_left_out_without_a_word(tmp_path: Path) -> None:
    with file(tmp_path, b"", "20260102-000000_new.jsonl").open("ab") as begun:
        fcntl.flock(begun, fcntl.LOCK_EX)
        account = Account()
        assert list_sessions(tmp_path, 5, account) == []
        assert account.skipped == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_session_of_another_user_is_left_out_with_account(tmp_path: Path) -> None:
    os.chown(file(tmp_path, lines(META)), 12345, 12345)
    account = Account()
    assert list_sessions(tmp_path, 5, account) == []
    assert account.skipped == ["20260101-000000_s1.jsonl: left out (belongs to another user)"]


def listed(directory: Path) -> list[tuple[str, str]]:
    return [(each.session, each.stop_reason) for each in list_sessions(directory, 10)]


def test_the_index_is_used_and_follows_every_change(tmp_path: Path) -> None:
    path = file(tmp_path, lines(META, WORDS))
    assert listed(tmp_path) == [("s1", "")]
    index = tmp_path / "index.json"
    kept = json.loads(index.read_bytes())
    kept["sessions"][path.name][7] = "seen in the index"
    index.write_text(json.dumps(kept))
    assert listed(tmp_path) == [("s1", "seen in the index")]
    with path.open("ab") as stream:
        stream.write(lines(DONE, first=3))
    assert listed(tmp_path) == [("s1", "agent_exit")]
    path.unlink()
    assert listed(tmp_path) == []
    assert json.loads(index.read_bytes())["sessions"] == {}


@pytest.mark.parametrize(
    "damage",
    [b"", b"\0" * 100, b"{", b"[]", b"null", b'{"version":9,"sessions":{}}', b'{"version":2,"sessions":[]}', b"[" * 100_000],
)
def test_a_damaged_index_is_made_again(tmp_path: Path, damage: bytes) -> None:
    file(tmp_path, lines(META, WORDS, DONE))
    (tmp_path / "index.json").write_bytes(damage)
    assert listed(tmp_path) == [("s1", "agent_exit")]
    assert json.loads((tmp_path / "index.json").read_bytes())["version"] == VERSION


@pytest.mark.parametrize("row", [None, [], [1, 2, 3], {"session": "x"}])
def test_a_damaged_row_is_read_again(tmp_path: Path, row: object) -> None:
    path = file(tmp_path, lines(META, WORDS, DONE))
    (tmp_path / "index.json").write_text(json.dumps({"version": VERSION, "sessions": {path.name: row}}))
    assert listed(tmp_path) == [("s1", "agent_exit")]


def test_a_list_does_not_need_its_index(tmp_path: Path) -> None:
    file(tmp_path, lines(META, WORDS, DONE))
    (tmp_path / "index.json").mkdir()  # it can neither be read nor written
    assert listed(tmp_path) == [("s1", "agent_exit")]


def test_the_index_is_private(tmp_path: Path) -> None:
    file(tmp_path, lines(META, WORDS))
    listed(tmp_path)
    assert stat.S_IMODE((tmp_path / "index.json").stat().st_mode) == 0o600
