"""read_file: numbered lines, and what to do next in brackets."""

import json
from pathlib import Path

import pytest

from tests.tools.scopes import Desk
from yagent.tools.bounds import MAX_BYTES


async def test_lines_are_numbered_and_nothing_is_added_to_a_whole_file(coding: Desk, workspace: Path) -> None:
    (workspace / "a.py").write_text("import os\n\n\tprint(1)\n")
    output = await coding.make("read_file", path="a.py")
    assert output.text == "1\timport os\n2\t\n3\t\tprint(1)"
    assert output.paths == ("a.py",)


async def test_a_range_says_where_it_stops_and_names_the_next_call(coding: Desk, workspace: Path) -> None:
    (workspace / "a b.txt").write_text("".join(f"line {number}\n" for number in range(1, 51)))
    first = await coding.make("read_file", path="a b.txt", start_line=10, max_lines=3)
    body, _, remark = first.text.rpartition("\n")
    assert body == "10\tline 10\n11\tline 11\n12\tline 12"
    assert remark.startswith("[lines 10 to 12 of 50 shown; to read on: read_file ")
    again = await coding.make("read_file", **json.loads(remark.removesuffix("]").partition("read_file ")[2]))
    assert again.text.startswith("13\tline 13")
    assert again.text.endswith("50\tline 50\n[end of file at line 50]")


async def test_reading_on_from_answer_to_answer_gives_every_line_once(coding: Desk, workspace: Path) -> None:
    lines = [f"{number} {'x' * (number % 90)}" for number in range(1, 2501)]
    (workspace / "long.txt").write_text("\n".join(lines))
    seen: list[str] = []
    following = {"path": "long.txt"}
    while following:
        text = (await coding.make("read_file", **following)).text
        assert len(text.encode()) < MAX_BYTES
        assert "left out here" not in text
        *_, last = text.splitlines()
        seen += [line.partition("\t")[2] for line in text.splitlines() if "\t" in line]
        following = json.loads(last.removesuffix("]").partition("read_file ")[2]) if "to read on" in last else {}
    assert seen == lines


async def test_an_empty_file_is_called_empty(coding: Desk, workspace: Path) -> None:
    (workspace / "empty").touch()
    assert (await coding.make("read_file", path="empty")).text == "[empty is empty]"


async def test_foreign_line_endings_are_told(coding: Desk, workspace: Path) -> None:
    (workspace / "dos.txt").write_bytes(b"a\r\nb\r\n")
    assert (await coding.make("read_file", path="dos.txt")).text.startswith("1\ta\n2\tb\n[line endings: crlf")


@pytest.mark.parametrize("path", ["missing.txt", ".", "", "a\0b"])
async def test_what_cannot_be_read_is_an_error_result(coding: Desk, path: str) -> None:
    output = await coding.make("read_file", path=path)
    assert output.is_error
    assert output.text


async def test_the_keys_of_yagent_are_refused(coding: Desk, isolated_home: Path) -> None:
    secret = isolated_home / ".ssh" / "id_ed25519"
    secret.parent.mkdir()
    secret.write_text("a key")
    output = await coding.make("read_file", path=str(secret))
    assert output.is_error
    assert "a key" not in output.text
