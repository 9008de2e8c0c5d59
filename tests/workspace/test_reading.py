"""Reading text files within limits."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from yagent.workspace.files import FileError, FileLedger, FileMissingError, FileTooLargeError, NotTextError, Wanted, read_text


async def test_a_small_file_is_read_whole_and_known_exactly(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    slice_ = await read_text(path)
    assert slice_.lines == ("one", "two")
    assert (slice_.first_line, slice_.last_line, slice_.total_lines, slice_.truncated) == (1, 2, 2, None)
    assert (slice_.encoding, slice_.newline, slice_.bom, slice_.size) == ("utf-8", "crlf", False, 10)


async def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    slice_ = await read_text(tmp_path / "f")
    assert (slice_.lines, slice_.first_line, slice_.last_line, slice_.total_lines) == ((), 0, 0, 0)


@pytest.mark.parametrize(("lines", "truncated"), [(1000, False), (1001, True)])
async def test_at_most_a_thousand_lines_are_read_at_once(tmp_path: Path, lines: int, truncated: bool) -> None:
    (tmp_path / "f").write_text("x\n" * lines)
    slice_ = await read_text(tmp_path / "f")
    assert slice_.last_line == 1000
    assert (slice_.truncated is not None) == truncated
    if truncated:
        rest = await read_text(tmp_path / "f", Wanted(1001))
        assert (rest.lines, rest.truncated) == (("x",), None)


async def test_a_range_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    slice_ = await read_text(tmp_path / "f", Wanted(3, 2))
    assert slice_.lines == ("line 3", "line 4")
    assert slice_.truncated == "lines 3 to 4 of 10 are shown; read on from line 5"


@pytest.mark.parametrize(("start", "count"), [(0, 1), (1, 0), (-3, 5)])
async def test_ranges_count_from_one(tmp_path: Path, start: int, count: int) -> None:
    (tmp_path / "f").write_text("x\n")
    with pytest.raises(FileError, match="count from 1"):
        await read_text(tmp_path / "f", Wanted(start, count))


async def test_a_line_past_the_end_is_an_error_that_says_how_many_there_are(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\ny\n")
    with pytest.raises(FileError, match=r"has 2 lines; there is no line 9"):
        await read_text(tmp_path / "f", Wanted(9))


@pytest.mark.parametrize(("size", "warned"), [(1_999_999, False), (2_000_000, True), (10_000_000, True)])
async def test_from_two_megabytes_on_a_warning_is_given(tmp_path: Path, size: int, warned: bool) -> None:
    (tmp_path / "f").write_bytes((b"x" * 99 + b"\n") * (size // 100) + b"y" * (size % 100))
    slice_ = await read_text(tmp_path / "f")
    assert any("large file" in warning for warning in slice_.warnings) == warned


async def test_over_ten_megabytes_only_a_range_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"".join(b"line %07d\n" % number for number in range(1, 800_001)))
    with pytest.raises(FileTooLargeError, match="read a range"):
        await read_text(tmp_path / "f")
    slice_ = await read_text(tmp_path / "f", Wanted(700_000, 2))
    assert slice_.lines == ("line 0700000", "line 0700001")
    assert slice_.total_lines is None
    last = await read_text(tmp_path / "f", Wanted(800_000, 5))
    assert (last.lines, last.truncated, last.total_lines) == (("line 0800000",), None, 800_000)
    with pytest.raises(FileError, match="no line 900000"):
        await read_text(tmp_path / "f", Wanted(900_000, 5))


async def test_a_sparse_file_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.truncate(10_000_000_000)
    with pytest.raises(FileTooLargeError):
        await read_text(tmp_path / "f")
    with pytest.raises(NotTextError, match="binary"):
        await read_text(tmp_path / "f", Wanted(1, 10))


async def test_a_very_long_line_is_shown_by_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("short\n" + "x" * 12_000_000 + "\nafter\n")
    slice_ = await read_text(tmp_path / "f", Wanted(1, 3))
    assert slice_.lines[0] == "short"
    assert slice_.lines[1].endswith("[line cut: 12000000 characters]")
    assert slice_.lines[2] == "after"
    assert len(slice_.text) < 3000
    assert any("cut" in warning for warning in slice_.warnings)


async def test_what_does_not_fit_into_one_answer_is_left_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(("y" * 1500 + "\n") * 500)
    slice_ = await read_text(tmp_path / "f")
    assert len(slice_.text) <= 200_000
    assert slice_.truncated == f"lines 1 to {slice_.last_line} of 500 are shown; read on from line {slice_.last_line + 1}"


@pytest.mark.parametrize("kind", ["directory", "pipe", "socket", "device"])
async def test_what_is_no_file_is_said_to_be_none_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    else:
        path = Path("/dev/zero")
    with pytest.raises(NotTextError, match=kind):
        await read_text(path)


async def test_binary_content_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    with pytest.raises(NotTextError, match="PNG image"):
        await read_text(tmp_path / "f")


async def test_a_missing_file_names_similar_ones(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    with pytest.raises(FileMissingError, match=r"README\.md"):
        await read_text(tmp_path / "readme.md")


async def test_a_link_loop_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(FileError, match="loop"):
        await read_text(tmp_path / "a")


async def test_a_name_with_a_nul_character_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        await read_text(tmp_path / "a\0b")


async def test_bytes_of_no_character_are_shown_as_replacement(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("日本語です\n".encode() + b"\xe9 x\n")
    slice_ = await read_text(tmp_path / "f")
    assert slice_.lines[1] == "\ufffd x"
    assert any("no valid characters" in warning for warning in slice_.warnings)


async def test_form_feeds_and_unicode_separators_do_not_end_lines(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\x0cb\u2028c\x85d\ne\n")
    assert (await read_text(tmp_path / "f")).lines == ("a\x0cb\u2028c\x85d", "e")


async def test_the_ledger_remembers_what_was_read(tmp_path: Path) -> None:
    ledger = FileLedger()
    (tmp_path / "f").write_text("x\n")
    slice_ = await read_text(tmp_path / "f", ledger=ledger)
    seen = ledger.seen(tmp_path / "f")
    assert seen is not None
    assert (seen.digest, seen.content()) == (slice_.digest, b"x\n")


def test_the_ledger_forgets_contents_before_digests() -> None:
    ledger = FileLedger(memory_limit=200)
    for number in range(50):
        ledger.record(Path(f"/f{number}"), os.urandom(100))
    first, last = ledger.seen(Path("/f0")), ledger.seen(Path("/f49"))
    assert first is not None
    assert last is not None
    assert first.content() is None
    assert last.content() is not None
