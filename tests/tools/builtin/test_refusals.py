"""Calls that cannot succeed: refused before anybody is asked, in words that name the next call, by names relative to the workspace."""

import os
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from tests.tools.scopes import YES, Desk
from yagent.workspace.permissions import Mode

TEXT = "".join(f"line {number}\n" for number in range(1, 14))


@pytest.fixture
def asking(workspace: Path, clock: VirtualClock, isolated_home: Path) -> Desk:
    """The Coding agent where every change is asked about, and granted."""
    desk = Desk(workspace, clock, mode=Mode.ASK, home=isolated_home)
    desk.person.usually = YES
    (workspace / "docs").mkdir()
    (workspace / "docs" / "guide.md").write_text(TEXT)
    (workspace / "taken.txt").touch()
    return desk


IMPOSSIBLE = [
    ("delete_file", {"path": "docs"}),
    ("delete_file", {"path": "docs/missing.md"}),
    ("create_file", {"path": "docs/guide.md", "content": "x"}),
    ("create_file", {"path": "docs/guide.md", "content": "x", "overwrite": True}),
    ("create_file", {"path": "docs", "content": "x", "overwrite": True}),
    ("rename_file", {"source": "docs/missing.md", "target": "new"}),
    ("rename_file", {"source": "docs/guide.md", "target": "taken.txt"}),
    ("search_replace_in_file", {"path": "docs/missing.md", "edits": [{"search": "a", "replace": "b"}]}),
    ("search_replace_in_file", {"path": "docs/guide.md", "edits": [{"search": "line", "replace": "b"}]}),
]


@pytest.mark.parametrize(("name", "arguments"), IMPOSSIBLE)
async def test_what_cannot_succeed_is_refused_without_asking_and_by_relative_names(
    asking: Desk, workspace: Path, name: str, arguments: dict[str, object]
) -> None:
    output = await asking.make(name, **arguments)
    assert output.is_error
    assert asking.person.asked == []
    assert asking.denials == []
    assert str(workspace) not in output.text
    asking.permissions.set_mode(Mode.YOLO)
    assert (await asking.make(name, **arguments)).text == output.text


async def test_what_can_succeed_is_asked_about(asking: Desk, workspace: Path) -> None:
    output = await asking.make("search_replace_in_file", path="docs/guide.md", edits=[{"search": "line 3\n", "replace": "3\n"}])
    assert not output.is_error
    assert len(asking.person.asked) == 1


async def test_nothing_is_told_of_files_that_may_not_be_read(asking: Desk, isolated_home: Path, tmp_path: Path) -> None:
    secret = isolated_home / ".ssh" / "id_rsa"
    secret.parent.mkdir()
    secret.write_text("the key\n")
    outside = tmp_path / "outside.txt"
    outside.write_text("of no concern\n")
    for path in (secret, outside, tmp_path / "missing"):
        asking.person.usually = YES.__class__(granted=False)
        for name, arguments in (
            ("search_replace_in_file", {"edits": [{"search": "the kez", "replace": "x"}]}),
            ("create_file", {"content": "x"}),
            ("delete_file", {}),
        ):
            text = (await asking.make(name, path=str(path), **arguments)).text
            assert "refused by the rules" in text or "The user declined" in text


@pytest.mark.parametrize("name", ["read_file", "list_dir", "print_dir_tree", "search_by_regex"])
async def test_missing_places_are_named_relative_to_the_workspace(asking: Desk, workspace: Path, name: str) -> None:
    pattern = {"pattern": "x"} if name == "search_by_regex" else {}
    for path in ("docs/giude.md", "dosc/guide.md"):
        output = await asking.make(name, path=path, **pattern)
        assert output.is_error
        assert path in output.text
        assert str(workspace) not in output.text
    assert "guide.md" in (await asking.make("read_file", path="docs/giude.md")).text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("doc/guide.md", "there is no such file, nor a directory doc; close: docs/guide.md"),
        ("dosc/giude.md", "there is no such file, nor a directory dosc; close: docs/guide.md"),
        ("doc/nothing.txt", "there is no such file, nor a directory doc; close: docs/"),
        ("docs/sub/dep/a.txt", "there is no such file, nor a directory docs/sub/dep; close: docs/sub/deep/a.txt"),
        ("docs/else/a.txt", "there is no such file, nor a directory docs/else"),
        ("wae/id_rsa", "there is no such file, nor a directory wae"),
        ("{outside}/hoem/id_rsa", "there is no such file, nor a directory {outside}/hoem"),
    ],
)
async def test_what_a_misspelt_directory_may_have_meant_is_named(
    asking: Desk, workspace: Path, tmp_path: Path, path: str, said: str
) -> None:
    (workspace / "docs/sub/deep").mkdir(parents=True)
    (workspace / "docs/sub/deep/a.txt").touch()
    (tmp_path / "elsewhere/home").mkdir(parents=True)
    (tmp_path / "elsewhere/home/id_rsa").touch()
    (workspace / "way").symlink_to(tmp_path / "elsewhere/home")
    asking.permissions.set_mode(Mode.YOLO)
    path, said = (text.format(outside=tmp_path / "elsewhere") for text in (path, said))
    assert (await asking.make("read_file", path=path)).text == f"cannot read {path}: {said}"


async def test_a_misspelt_directory_above_a_listed_one_is_named(asking: Desk, workspace: Path) -> None:
    (workspace / "docs/sub").mkdir()
    assert "close: docs/sub/" in (await asking.make("list_dir", path="dosc/sub")).text


async def test_a_file_is_replaced_whole_only_after_all_of_it_was_shown(asking: Desk, workspace: Path) -> None:
    await asking.make("read_file", path="docs/guide.md", max_lines=1)
    output = await asking.make("create_file", path="docs/guide.md", content="x\n", overwrite=True)
    assert "overwrite=true" not in output.text
    first = 'first call read_file {"path": "docs/guide.md", "start_line": 2, "end_line": 13}, then send this call again'
    assert output.text.endswith(f"to replace it whole, {first}")
    assert "search_replace_in_file" in output.text
    await asking.make("read_file", path="docs/guide.md", start_line=2, end_line=13)
    assert not (await asking.make("create_file", path="docs/guide.md", content="x\n", overwrite=True)).is_error


async def test_who_did_not_ask_to_overwrite_is_told_how(asking: Desk) -> None:
    unread = await asking.make("create_file", path="docs/guide.md", content="x\n")
    first = 'first call read_file {"path": "docs/guide.md"}, then send this call again with overwrite=true'
    assert unread.text.endswith(f"to replace it whole, {first}")
    await asking.make("read_file", path="docs/guide.md")
    read = await asking.make("create_file", path="docs/guide.md", content="x\n")
    assert read.text.endswith("to replace it whole, send this call again with overwrite=true")


async def test_what_an_answer_had_no_room_for_does_not_count_as_shown(asking: Desk, workspace: Path) -> None:
    (workspace / "wide.txt").write_text(("x" * 999 + "\n") * 100)
    assert "(cut at 28 kB)" in (await asking.make("read_file", path="wide.txt")).text
    output = await asking.make("create_file", path="wide.txt", content="x\n", overwrite=True)
    assert '"start_line": 28, "end_line": 100' in output.text


async def test_two_limits_that_do_not_agree_are_settled_in_a_note(asking: Desk) -> None:
    shorter = await asking.make("read_file", path="docs/guide.md", start_line=2, max_lines=3, end_line=10)
    assert [line.partition("\t")[0] for line in shorter.text.splitlines()[:3]] == ["2", "3", "4"]
    assert "[max_lines and end_line do not agree; the smaller was taken: max_lines]" in shorter.text
    assert "smaller was taken: end_line" in (await asking.make("read_file", path="docs/guide.md", max_lines=9, end_line=3)).text
    assert "do not agree" not in (await asking.make("read_file", path="docs/guide.md", start_line=2, max_lines=3, end_line=4)).text


EDIT = {"search": "line 3\n", "replace": "3\u202e\n"}
SHOWN: list[tuple[str, dict[str, object], list[str]]] = [
    ("search_replace_in_file", {"path": "docs/guide.md", "edits": [EDIT]}, ["--- a/docs/guide.md", "-line 3", "+3\u202e"]),
    ("create_file", {"path": "new.txt", "content": "one\ntwo"}, ["+++ b/new.txt", "+one", "+two"]),
    ("create_file", {"path": "empty.txt", "content": ""}, ["An empty file."]),
    ("create_file", {"path": "long.txt", "content": "x\n" * 700}, ["… 103 more lines of this diff are left out"]),
    ("delete_file", {"path": "docs/guide.md"}, ["Deletes docs/guide.md: 13 lines, 95 bytes."]),
    ("rename_file", {"source": "docs/guide.md", "target": "docs/new.md"}, ["Renames docs/guide.md", "to      docs/new.md"]),
]


@pytest.mark.parametrize(("name", "arguments", "lines"), SHOWN)
async def test_who_is_asked_about_a_change_sees_the_change(asking: Desk, name: str, arguments: dict[str, object], lines: list[str]) -> None:
    output = await asking.make(name, **arguments)
    assert not output.is_error, output.text
    (ask,) = asking.person.asked
    shown = ask.subject.splitlines()
    assert [line for line in lines if line not in shown] == []


async def test_a_file_that_no_tool_reads_is_not_shown_and_what_was_asked_for_is(asking: Desk, isolated_home: Path) -> None:
    secret = isolated_home / ".ssh" / "id_rsa"
    secret.parent.mkdir()
    secret.write_text("the key\nmore\n")
    await asking.make("search_replace_in_file", path=str(secret), edits=[{"search": "the key", "replace": "mine"}])
    (ask,) = asking.person.asked
    assert ask.subject == f"{secret}\n-the key\n+mine"


async def test_nothing_is_prepared_for_people_who_are_not_asked(asking: Desk, workspace: Path) -> None:
    asking.permissions.set_mode(Mode.YOLO)
    assert not (await asking.make("create_file", path="new.txt", content="x")).is_error
    assert asking.person.asked == []


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_file", {"path": ""}, "the path is empty"),
        ("read_file", {"path": "a\0b"}, "NUL byte"),
        ("read_file", {"path": "a\ud800b"}, "half a character"),
        ("read_file", {"path": "loop"}, "in a circle"),
        ("create_file", {"path": "a\ud800b", "content": "x"}, "half a character"),
        ("create_file", {"path": "a\ufffdb/c", "content": "x"}, "U+FFFD"),
        ("delete_file", {"path": "a\ud800b"}, "half a character"),
        ("rename_file", {"source": "taken.txt", "target": "a\ufffdb"}, "U+FFFD"),
        ("create_file", {"path": "$TMPDIR/a.csv", "content": "x"}, "write {temporary}/a.csv, or ./$TMPDIR/a.csv for a file of that name"),
        ("create_file", {"path": "${TMPDIR}/a/b", "content": "x"}, "write {temporary}/a/b, or ./"),
        ("create_file", {"path": "$HOME/a.csv", "content": "x"}, "write {home}/a.csv, or ./"),
        ("create_file", {"path": "/tmp/${USER}/a.csv", "content": "x"}, "variables such as ${USER} are not replaced"),
        ("rename_file", {"source": "taken.txt", "target": "docs/$NAME.txt"}, "write the path it stands for"),
        ("read_file", {"path": "$TMPDIR/a.csv"}, "write {temporary}/a.csv"),
        ("search_by_regex", {"pattern": "x", "path": "$TMPDIR"}, "write {temporary}, or ./"),
        ("create_file", {"path": "~nobody/a.csv", "content": "x"}, "write the absolute path, or ./~nobody/a.csv for a file of that name"),
    ],
)
async def test_a_path_that_can_be_none_is_a_mistake_and_no_denial(
    asking: Desk, workspace: Path, mode: Mode, name: str, arguments: dict[str, object], said: str
) -> None:
    (workspace / "loop").symlink_to("loop")
    before = sorted(os.listdir(workspace))
    asking.permissions.set_mode(mode)
    output = await asking.make(name, **arguments)
    assert output.is_error
    assert (
        said.replace("{temporary}", str(workspace.parent / "temporary")).replace("{home}", str(asking.permissions.guard.home))
        in output.text
    )
    assert "rule" not in output.text
    assert asking.denials == []
    assert asking.person.asked == []
    assert sorted(os.listdir(workspace)) == before


async def test_a_file_whose_name_really_holds_the_replacement_character_can_be_changed(asking: Desk, workspace: Path) -> None:
    (workspace / "a\ufffdb").mkdir()
    assert not (await asking.make("create_file", path="a\ufffdb/c", content="x")).is_error


async def test_a_file_whose_name_really_looks_like_a_variable_can_be_changed(asking: Desk, workspace: Path) -> None:
    (workspace / "$DATA").mkdir()
    for path in ("$DATA/c", "./$NAME", "docs/$id.tsx", "a$B", "~/new.txt", "docs/~x"):
        assert not (await asking.make("create_file", path=path, content="x")).is_error, path


@pytest.mark.parametrize("pattern", ["(" * 5000, "a{99999999999999999999}"])
async def test_a_pattern_no_engine_takes_is_said_to_be_one(asking: Desk, pattern: str) -> None:
    output = await asking.make("search_by_regex", pattern=pattern)
    assert output.is_error
    assert "inside" not in output.text
    assert "pattern" in output.text
