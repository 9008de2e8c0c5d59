"""Output within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.workspace.output import CappedLog, HeadAndTail, readable


def test_short_output_is_whole_and_writes_no_log(tmp_path: Path) -> None:
    output = HeadAndTail(100, CappedLog(tmp_path / "log", 1000))
    for _ in range(3):
        output.add(b"line\n")
    assert (output.text(), output.omitted) == ("line\nline\nline\n", 0)
    assert not (tmp_path / "log").exists()


def test_long_output_keeps_both_ends_and_names_the_log_with_the_whole(tmp_path: Path) -> None:
    output = HeadAndTail(100, CappedLog(tmp_path / "log", 100_000))
    lines = b"".join(b"line %d\n" % number for number in range(1000))
    for start in range(0, len(lines), 7):
        output.add(lines[start : start + 7])
    output.log.close()
    text = output.text()
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 998\nline 999\n")
    assert f"of {len(lines)} bytes left out here; the whole output is in {tmp_path / 'log'}" in text
    assert (tmp_path / "log").read_bytes() == lines


def test_a_full_log_says_how_much_it_has(tmp_path: Path) -> None:
    output = HeadAndTail(10, CappedLog(tmp_path / "log", 50))
    output.add(b"x" * 30)
    output.add(b"y" * 70)
    output.log.close()
    assert "its first 50 bytes are in" in output.text()
    assert (tmp_path / "log").read_bytes() == b"x" * 30 + b"y" * 20


def test_a_log_that_cannot_be_written_costs_only_the_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    output = HeadAndTail(10, CappedLog(tmp_path / "file" / "log", 50))
    output.add(b"x" * 100)
    assert "90 of 100 bytes left out here]" in output.text()


@given(st.lists(st.binary(max_size=30), max_size=30))
def test_both_ends_are_what_came_first_and_last(pieces: list[bytes]) -> None:
    output = HeadAndTail(40, CappedLog(Path("/dev/null/none"), 0))
    for piece in pieces:
        output.add(piece)
    whole = b"".join(pieces)
    assert output.total == len(whole)
    assert output.omitted == max(0, len(whole) - 40)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\r\nb\n", "a\nb\n"),
        (b"10%\r50%\r100%\ndone", "100%\ndone"),
        (b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\y", "red xy"),
        (b"caf\xe9\0\x08", "caf\ufffd"),
        ("日本\tü\n".encode(), "日本\tü\n"),
    ],
)
def test_output_reads_as_on_a_terminal(data: bytes, text: str) -> None:
    assert readable(data) == text
