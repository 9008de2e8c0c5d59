"""Changing files through tool calls; that bytes are kept is the workspace's own test."""

import os
from pathlib import Path

from tests.tools.scopes import NOBODY, Desk
from yagent.protocol.asks import Answer
from yagent.workspace.permissions import Mode


async def test_a_new_file_is_written_exactly_and_not_shown_again(coding: Desk, workspace: Path) -> None:
    output = await coding.make("create_file", path="new/deep/a.txt", content="one\ntwo")
    assert (workspace / "new/deep/a.txt").read_bytes() == b"one\ntwo"
    assert output.text == "Created new/deep/a.txt (+2 -0 lines)."
    assert output.paths == ("new/deep/a.txt",)
    assert "+one" in output.diff


async def test_b14_an_existing_file_is_replaced_only_on_request_and_after_it_was_read(coding: Desk, workspace: Path) -> None:
    place = workspace / "a.txt"
    place.write_text("old\n")
    assert (await coding.make("create_file", path="a.txt", content="new\n")).is_error
    assert (await coding.make("create_file", path="a.txt", content="new\n", overwrite=True)).is_error
    assert place.read_text() == "old\n"
    await coding.make("read_file", path="a.txt")
    coding.person.answers.append(Answer(granted=True, answered_by="user"))  # nothing else has what is replaced
    output = await coding.make("create_file", path="a.txt", content="new\n", overwrite=True)
    assert output.text.startswith("Replaced a.txt (+1 -1 lines).")
    assert place.read_text() == "new\n"


async def test_edits_are_applied_in_order_or_not_at_all(coding: Desk, workspace: Path) -> None:
    place = workspace / "a.txt"
    place.write_text("a\nb\na\n")
    ambiguous = [{"search": "b", "replace": "c"}, {"search": "a", "replace": "d"}]
    refused = await coding.make("search_replace_in_file", path="a.txt", edits=ambiguous)
    assert refused.is_error
    assert place.read_text() == "a\nb\na\n"
    edits = [{"search": "b", "replace": "c"}, {"search": "a", "replace": "d", "all": True}, {"search": "c\n", "replace": ""}]
    changed = await coding.make("search_replace_in_file", path="a.txt", edits=edits)
    assert place.read_text() == "d\nd\n"
    assert changed.summary == "+2 -3"
    assert changed.diff in changed.text


async def test_one_edit_given_without_its_list_is_accepted(coding: Desk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("a\n")
    output = await coding.make("search_replace_in_file", path="a.txt", edits={"search": "a", "replace": "b"})
    assert not output.is_error
    assert (workspace / "a.txt").read_text() == "b\n"


async def test_rename_and_delete(coding: Desk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("a\n")
    (workspace / "taken.txt").touch()
    assert (await coding.make("rename_file", source="a.txt", target="taken.txt")).is_error
    renamed = await coding.make("rename_file", source="a.txt", target="sub/b.txt")
    assert renamed.text == "Renamed a.txt to sub/b.txt."
    assert renamed.paths == ("a.txt", "sub/b.txt")


async def test_both_paths_of_a_rename_are_judged(coding: Desk, workspace: Path, tmp_path: Path) -> None:
    inside, outside = workspace / "a.txt", tmp_path / "b.txt"
    inside.touch()
    outside.touch()
    for source, target in (("a.txt", "../c.txt"), ("../b.txt", "c.txt")):
        output = await coding.make("rename_file", source=source, target=target)
        assert output.is_error
        assert "nobody can give one" in output.text
    assert inside.exists()
    assert outside.exists()


async def test_deleting_a_link_leaves_what_it_points_to(coding: Desk, workspace: Path) -> None:
    (workspace / "real.txt").touch()
    (workspace / "link.txt").symlink_to("real.txt")
    coding.permissions.set_mode(Mode.FULL_YOLO)
    await coding.make("delete_file", path="link.txt")
    assert not (workspace / "link.txt").is_symlink()
    assert (workspace / "real.txt").exists()


async def test_in_ask_mode_nothing_changes_when_nobody_answers(coding: Desk, workspace: Path) -> None:
    coding.permissions.set_mode(Mode.ASK)
    coding.person.answers = [NOBODY]
    output = await coding.make("create_file", path="a.txt", content="x")
    assert output.is_error
    assert not (workspace / "a.txt").exists()
    assert [each.answered_by for each in coding.denials] == ["nobody"]


async def test_a_name_that_ends_like_a_directorys_becomes_no_file(coding: Desk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("a\n")
    (workspace / "old").mkdir()
    for path in ("sub/", "sub/.", "deep/sub//"):
        for output in (
            await coding.make("create_file", path=path, content="x"),
            await coding.make("rename_file", source="a.txt", target=path),
        ):
            assert output.is_error
            assert "names a directory" in output.text
    assert {"sub", "deep"}.isdisjoint(os.listdir(workspace))
    assert not (await coding.make("rename_file", source="old", target="new/")).is_error
    assert (workspace / "new").is_dir()
