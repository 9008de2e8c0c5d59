"""File names that break lines, move cursors, look like options or remarks, or are no text at all."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.hostile.places import NAMES, name_files, names_in, special_files
from tests.hostile.tour import LOOKS, Tour, hidden
from tests.support.command_line import CommandLine
from tests.support.model_server import Call, ModelServer

pytestmark = [pytest.mark.real_time, pytest.mark.slow]


def called(tool: str, path: str, **more: object) -> Call:
    """A call as a model writes it: JSON in ASCII."""
    return Call(tool, json.dumps({"path": path, **more}))


async def test_names_of_any_bytes_are_listed_on_one_line_each_and_can_be_worked_with(
    yagent: CommandLine, model_server: ModelServer, workspace: Path
) -> None:
    name_files(workspace)
    names = [os.fsdecode(name) for name in NAMES if b"\xff" not in name]
    edit = [{"search": "needle", "replace": "pin"}]
    works = [call for name in names for call in (called("read_file", name), called("search_replace_in_file", name, edits=edit))]
    visit = await Tour(yagent, model_server, limit=50).visit(works=works)
    assert visit.run.code == 0, visit.run.told
    listing, tree, found, _ = visit.looks
    for shown in (listing, tree, found):
        assert hidden(shown) == []
    assert len(listing.splitlines()) == len(NAMES) + 2
    assert len([line for line in found.splitlines() if line.endswith(":1:needle here")]) == len(NAMES) + 1
    for read, changed in zip(visit.works[::2], visit.works[1::2], strict=True):
        assert read == "1\tneedle here"
        assert re.fullmatch(r"Changed .*? \(\+1 -1 lines\)\.\n--- .*\n\+\+\+ .*\n@@ -1 \+1 @@\n-needle here\n\+pin here", changed), changed
        assert hidden(changed) == []
    assert all((workspace / name).read_text() == "pin here\n" for name in names)
    assert "PWNED" not in names_in(workspace)


async def test_a_name_that_is_no_text_is_left_alone_and_its_neighbours_are_named(
    yagent: CommandLine, model_server: ModelServer, workspace: Path
) -> None:
    place = workspace / os.fsdecode(b"bad\xff\xfe.txt")
    place.write_bytes(b"needle\n")
    works = [
        called("read_file", "bad\udcff\udcfe.txt"),
        called("delete_file", "bad\ufffd\ufffd.txt"),
        Call("run_bash", {"command": "cat bad*"}),
    ]
    visit = await Tour(yagent, model_server).visit(works=works)
    assert visit.works[0].startswith("cannot read bad\ufffd\ufffd.txt: there is no such file")
    assert visit.works[2].startswith("needle\n")
    assert place.read_bytes() == b"needle\n"


async def test_what_is_no_file_is_called_what_it_is_at_once_and_never_opened(
    yagent: CommandLine, model_server: ModelServer, workspace: Path
) -> None:
    names = special_files(workspace)
    edit = [{"search": "a", "replace": "b"}]
    looks = [*LOOKS, *(called(tool, name) for tool in ("read_file", "list_dir") for name in names)]
    looks += [called("search_by_regex", name, pattern="x") for name in names]
    works = [called("search_replace_in_file", name, edits=edit) for name in names]
    works += [called("create_file", name, content="x", overwrite=True) for name in names]
    before = {name: os.lstat(workspace / name) for name in names}
    visit = await Tour(yagent, model_server).visit(looks, works)
    assert "pipe (pipe)" in visit.looks[0]
    assert "zero -> /dev/zero" in visit.looks[0]
    for answer in (*visit.looks[len(LOOKS) :], *visit.works):
        assert re.search(r"is an? (pipe|device|socket)|in a circle|memory and environment|needs an approval", answer), answer
    assert {name: os.lstat(workspace / name).st_ino for name in names} == {name: status.st_ino for name, status in before.items()}
