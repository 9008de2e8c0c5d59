"""Reading: everything good comes back, everything else is accounted for, and nothing is read that need not be."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from yagent.protocol.messages import user_message
from yagent.rollout import reader
from yagent.rollout.reader import LINE_LIMIT, Account, merged, read, session_files, session_of
from yagent.rollout.records import EventMessage, Record, ResponseItem, SessionMeta, encode

META = SessionMeta("abc123", "director", "/project", "1.0", task="fix the rounding")
WORDS = ResponseItem(user_message("<environment>…</environment> fix the rounding"))
DONE = EventMessage("task_complete", {"stop_reason": "agent_exit"})


def lines(*records: Record, first: int = 1, at: str = "2026-01-01T00:00:00+00:00") -> bytes:
    return b"".join(encode(first + index, at, record) for index, record in enumerate(records))


def file(directory: Path, data: bytes, name: str = "20260101-000000_abc123.jsonl") -> Path:
    path = directory / name
    path.write_bytes(data)
    return path


def records(path: Path, account: Account | None = None) -> list[Record]:
    return [entry.record for entry in read(path, account)]


def test_a_whole_file_comes_back_without_an_account(tmp_path: Path) -> None:
    account = Account()
    assert records(file(tmp_path, lines(META, WORDS, DONE)), account) == [META, WORDS, DONE]
    assert (account.count, account.skipped) == (0, [])


def test_every_cut_of_the_last_line_loses_that_line_only(tmp_path: Path) -> None:
    whole, last = lines(META, WORDS), lines(DONE, first=3)
    for cut in range(1, len(last) - 1):
        account = Account()
        assert records(file(tmp_path, whole + last[:cut]), account) == [META, WORDS]
        assert account.skipped == [f"line 3: {cut} bytes skipped (torn at the end of the file)"]


def test_a_last_line_that_lacks_only_its_end_is_whole(tmp_path: Path) -> None:
    account = Account()
    assert records(file(tmp_path, lines(META, DONE)[:-1]), account) == [META, DONE]
    assert account.count == 0


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (b"\0" * 4096 + b"\n", "zero bytes"),
        (b"not json\n", "damaged"),
        (b"\xff\xfe\n", "damaged"),
        (b"[1, 2]\n", "damaged"),
        (b"null\n", "damaged"),
        (b'{"ordinal":1}\n', "damaged"),
        (b"[" * 100_000 + b"\n", "damaged"),
        (b'{"ordinal":Infinity,"timestamp":"","type":"event_msg","payload":{"name":"x"}}\n', "without its place in the order"),
        (b'{"ordinal":1,"timestamp":5,"type":"event_msg","payload":{"name":"x"}}\n', "without its place in the order"),
        (b'{"ordinal":1,"timestamp":"","type":"world_state","payload":{}}\n', "unknown record type 'world_state'"),
        (b'{"ordinal":1,"timestamp":"","type":"event_msg","payload":{"name":7}}\n', "name of EventMessage cannot be a int"),
        (b'{"ordinal":1,"timestamp":"","type":["x"],"payload":{}}\n', "unknown record type ['x']"),
    ],
)
def test_a_bad_line_in_the_middle_is_skipped_with_an_account(tmp_path: Path, damage: bytes, why: str) -> None:
    account = Account()
    assert records(file(tmp_path, lines(META) + damage + lines(DONE)), account) == [META, DONE]
    assert account.skipped == [f"line 2: {len(damage)} bytes skipped ({why})"]


def test_zero_bytes_before_a_record_do_not_cost_the_record(tmp_path: Path) -> None:
    account = Account()
    assert records(file(tmp_path, lines(META) + b"\0" * 100 + lines(DONE)), account) == [META, DONE]
    assert account.skipped == ["line 2: 101 bytes skipped (zero bytes beside a record)"]


def test_blank_lines_are_nothing_and_cost_no_account(tmp_path: Path) -> None:
    account = Account()
    assert records(file(tmp_path, b"\n\r\n" + lines(META) + b"\n"), account) == [META]
    assert account.count == 0


def test_a_later_version_is_read_and_named(tmp_path: Path) -> None:
    later = lines(META).replace(b'"version":1', b'"version":9,"mood":"good"')
    account = Account()
    (record,) = records(file(tmp_path, later), account)
    assert isinstance(record, SessionMeta)
    assert record.session == "abc123"
    assert account.skipped == ["line 1: written in version 9 of this format; known here is 1"]


def test_an_account_of_very_many_bad_lines_stays_small(tmp_path: Path) -> None:
    account = Account()
    assert records(file(tmp_path, b"x\n" * 10_000), account) == []
    assert (account.count, len(account.skipped)) == (10_000, reader.TOLD)


@pytest.mark.slow
def test_a_line_over_the_limit_is_skipped_whole_within_bounded_memory(tmp_path: Path) -> None:
    path = file(tmp_path, lines(META))
    piece = b'{"a":"' + b"x" * (1024 * 1024 - 6)
    with path.open("ab") as stream:
        for _ in range(3 * LINE_LIMIT // len(piece)):
            stream.write(piece)
        stream.write(b"\n" + lines(DONE, first=2))
    account = Account()
    tracemalloc.start()
    try:
        assert records(path, account) == [META, DONE]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert account.skipped == [f"line 2: {3 * LINE_LIMIT + 1} bytes skipped (longer than any record)"]
    assert peak < 2.5 * LINE_LIMIT


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        records(tmp_path / "gone.jsonl")


def names(**sessions: Any) -> list[tuple[str, str]]:
    return [(session, path.name) for session, paths in sessions.items() for path in paths]


def test_files_of_a_session_are_found_by_a_prefix_of_its_id(tmp_path: Path) -> None:
    for name in (
        "20260101-000002_abc123_coding.jsonl",
        "20260101-000001_abc123_custom_data_analyst.jsonl",
        "20260101-000000_abc123.jsonl",
        "20260101-000000_abd.jsonl",
        "notes.txt",
        "stray.jsonl",
        "20260101-000000_abc123.txt",
    ):
        file(tmp_path, b"", name)
    assert names(**session_files(tmp_path, "abc")) == [
        ("abc123", "20260101-000000_abc123.jsonl"),
        ("abc123", "20260101-000001_abc123_custom_data_analyst.jsonl"),
        ("abc123", "20260101-000002_abc123_coding.jsonl"),
    ]
    assert set(session_files(tmp_path, "ab")) == {"abc123", "abd"}
    assert session_files(tmp_path, "x") == {}


def test_the_exact_id_wins_over_ids_that_begin_with_it(tmp_path: Path) -> None:
    file(tmp_path, b"", "20260101-000000_ab.jsonl")
    file(tmp_path, b"", "20260101-000000_abc.jsonl")
    assert set(session_files(tmp_path, "ab")) == {"ab"}


@pytest.mark.parametrize(("name", "session"), [("t_s.jsonl", "s"), ("t_s_a_b.jsonl", "s"), ("t.jsonl", ""), ("t_s.json", "")])
def test_a_file_name_tells_the_session(name: str, session: str) -> None:
    assert session_of(Path(name)) == session


def test_the_files_of_a_session_are_read_in_one_order(tmp_path: Path) -> None:
    def event(number: int) -> EventMessage:
        return EventMessage(f"e{number}")

    director = file(tmp_path, b"".join(encode(number, "", event(number)) for number in (1, 4, 5, 9)), "t_s.jsonl")
    coding = file(tmp_path, b"x\n" + b"".join(encode(number, "", event(number)) for number in (2, 3, 6, 8)), "t_s_coding.jsonl")
    repo = file(tmp_path, encode(7, "", event(7)), "t_s_repo.jsonl")
    account = Account()
    order = list(merged([director, coding, repo], account))
    assert [entry.ordinal for _, entry in order] == list(range(1, 10))
    assert [path.name for path, entry in order if entry.ordinal in (1, 2, 7)] == ["t_s.jsonl", "t_s_coding.jsonl", "t_s_repo.jsonl"]
    assert account.skipped == ["t_s_coding.jsonl, line 1: 2 bytes skipped (damaged)"]


def test_what_jq_would_read_is_one_object_a_line(tmp_path: Path) -> None:
    for line in lines(META, WORDS, DONE).splitlines():
        assert set(json.loads(line)) == {"ordinal", "timestamp", "type", "payload"}
