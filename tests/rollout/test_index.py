"""The list of sessions: complete, newest first, with the reason why each can or cannot go on; and quick."""

from __future__ import annotations

import os
from pathlib import Path

from tests.rollout.conversations import META, ended, said
from yagent.protocol.messages import Message, Text
from yagent.rollout.index import list_sessions
from yagent.rollout.records import EventMessage, Record, ResponseItem, SessionMeta, encode

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
