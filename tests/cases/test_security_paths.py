"""Paths that were once let through, grants that were too wide, children that could do more (cases of several sets), by their ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.permission_room import Room, create, read
from yagent.protocol.visible import has_hidden, visible
from yagent.workspace.guard import GuardError, fingerprint
from yagent.workspace.permissions import Action, Decision, EditPath, Mode, Network, Permissions, ReadPath, ShellLine, UseTool

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.mark.parametrize("path", ["out/x.txt", "n.md", "d.txt", "sub/../../outside/y.txt", "out/../../outside/z.txt"])
@pytest.mark.parametrize("change", ["create", "edit"])
def test_B07_a_path_that_leads_out_through_a_link_is_asked_for_by_its_real_name(room: Room, path: str, change: str) -> None:
    (room.workspace / "out").symlink_to("../outside")
    (room.workspace / "n.md").symlink_to("../outside/victim.txt")
    (room.workspace / "d.txt").symlink_to("../outside/new.txt")
    verdict = room.permissions(Mode.YOLO).judge("tool", [EditPath(path, "create" if change == "create" else "edit")])
    assert verdict.decision is ASK
    real = room.base.parent / "outside/z.txt" if "z.txt" in path else room.outside
    assert str(real) in verdict.explanation()
    assert read(path, room.permissions()).decision is ASK


def test_B07_a_link_that_points_inside_still_works(room: Room) -> None:
    room.write("real/conf.txt")
    (room.workspace / "link.txt").symlink_to("real/conf.txt")
    assert create("link.txt", room.permissions(Mode.YOLO)).allowed


def test_B08_a_loop_of_links_is_an_error_and_never_a_hang(room: Room) -> None:
    (room.workspace / "a").symlink_to("b")
    (room.workspace / "b").symlink_to("a")
    verdict = create("a", room.permissions(Mode.FULL_YOLO))
    assert verdict.decision is DENY
    assert "circle" in verdict.explanation()
    assert room.shell("cat a", room.permissions(Mode.FULL_YOLO)).decision is DENY


@pytest.mark.parametrize(
    ("path", "decision"), [("~/notes.txt", ASK), ("~", ASK), ("~root/x", DENY), ("a/~/b.txt", ALLOW), ("./~", ALLOW), ("./~/x", ALLOW)]
)
def test_B18_a_leading_tilde_is_the_home_directory_and_is_outside(room: Room, path: str, decision: Decision) -> None:
    assert create(path, room.permissions(Mode.YOLO)).decision is decision


def test_B18_in_a_shell_line_the_shell_expands_it_and_quotes_keep_it(room: Room) -> None:
    permissions = room.permissions(Mode.YOLO)
    assert room.shell("touch ~/x", permissions).decision is ASK
    assert room.shell("touch '~/x'", permissions).decision is ALLOW
    assert room.shell("touch ~root/x", permissions).decision is ASK
    assert room.shell("touch a/~/x", permissions).decision is ALLOW


def test_I08_a_sibling_with_the_same_beginning_is_outside(room: Room) -> None:
    sibling = room.base / "w-evil"
    sibling.mkdir()
    (sibling / "s").write_text("s")
    for path in (
        "../w-evil/s",
        f"{room.base}/w-evil/s",
        f"{room.workspace}/../w-evil/s",
        f"{room.workspace}//../w-evil/s",
        "sub/../../w-evil/s",
    ):
        assert read(path, room.permissions()).decision is ASK, path
        assert room.shell(f"cat {path}", room.permissions()).decision is ASK, path
    assert read(f"{room.workspace}/./a/../b", room.permissions()).decision is ALLOW


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/post-commit",
        ".git/config",
        ".envrc",
        ".vscode/tasks.json",
        ".idea/x.xml",
        ".husky/pre-commit",
        ".github/workflows/x.yml",
    ],
)
def test_I11_edits_accepted_for_the_session_do_not_cover_what_starts_by_itself(room: Room, path: str) -> None:
    permissions = room.permissions(allow=["edit(**)"])
    assert create("README.md", permissions).decision is ALLOW
    assert create(path, permissions).decision is ASK
    assert (
        "the git directory" in create(path, permissions).explanation()
        or "runs" in create(path, permissions).explanation()
        or ("starts" in create(path, permissions).explanation())
    )


def test_I16_what_was_shown_is_compared_before_it_runs(room: Room) -> None:
    script = room.write("script.sh", "echo SAFE")
    for line in (
        "sh script.sh",
        "bash -x script.sh",
        "./script.sh",
        "python3 script.sh",
        "timeout 5 sh script.sh",
        "touch a && sh script.sh",
    ):
        verdict = room.shell(line, room.permissions())
        assert script in verdict.touches, line
    shown = fingerprint(verdict.touches)
    script.write_text("echo EVIL")
    assert fingerprint(verdict.touches) != shown
    assert create("script.sh", room.permissions()).touches == (script,)


def test_I16_a_location_is_checked_again_at_the_effect(room: Room) -> None:
    (room.workspace / "sub").mkdir()
    guard = room.permissions().guard
    location = guard.locate("sub/x")
    (room.workspace / "sub").rmdir()
    (room.workspace / "sub").symlink_to(room.outside)
    with pytest.raises(GuardError):
        guard.verify(location)


@pytest.mark.parametrize(
    "command",
    [
        *(f"echo a{mark}b" for mark in "\u202e\u2066\u2069\u200b\u00ad\u2028\U000e0041\u00a0"),
        "curl http://ex\u0430mple.org/",
        "touch p\u0430ypal",
    ],
)
def test_I22_hidden_and_look_alike_characters_are_marked_and_never_remembered(room: Room, command: str) -> None:
    verdict = room.shell(f"{command} > x", room.permissions())
    assert verdict.hidden_characters
    assert [offer.scope for offer in verdict.offers] == ["once"]
    assert has_hidden(command)
    if "\u0430" not in command:
        assert "\\u{" in visible(command)


def test_I22_plain_text_of_other_scripts_is_no_false_alarm(room: Room) -> None:
    assert not room.shell("touch 文件.txt 🙂.md файл", room.permissions()).hidden_characters


def test_I29_deny_beats_every_mode_and_an_allow_list_is_a_ceiling(room: Room) -> None:
    for mode in Mode:
        assert room.shell("curl x", room.permissions(mode, allow=["shell(*)"], deny=["shell(curl *)"])).decision is DENY
    settings = room.permissions(Mode.YOLO, allow=["shell(make test *)"]).settings
    from_list = Permissions(
        type(settings)(
            workspace=settings.workspace,
            mode=Mode.YOLO,
            allow=settings.allow,
            ceiling=frozenset({"shell"}),
            environment=settings.environment,
        )
    )
    assert room.shell("make test", from_list).decision is ALLOW
    assert room.shell("ls", from_list).decision is ALLOW
    assert room.shell("make install", from_list).decision is ASK
    assert create("a", from_list).decision is ALLOW


def narrow_by_mode(permissions: Permissions) -> Permissions:
    return permissions.narrowed(mode=Mode.FULL_YOLO)


def narrow_twice(permissions: Permissions) -> Permissions:
    return permissions.narrowed().narrowed(mode=Mode.FULL_YOLO)


@pytest.mark.parametrize("parent", list(Mode))
@pytest.mark.parametrize("narrow", [narrow_by_mode, narrow_twice])
@pytest.mark.parametrize(
    "action",
    [
        EditPath("a", "create"),
        EditPath("denied", "create"),
        EditPath("../outside/x", "create"),
        ShellLine("make", "."),
        ShellLine("git push", "."),
        ShellLine("denied x", "."),
        UseTool("mcp_x"),
        Network("http://example.org"),
        ReadPath("/etc/passwd"),
    ],
)
def test_J09_a_child_and_a_grandchild_may_nothing_that_the_parent_may_not(
    room: Room, parent: Mode, narrow: Callable[[Permissions], Permissions], action: Action
) -> None:
    permissions = room.permissions(parent, deny=["edit(denied)", "shell(denied *)"])
    child = narrow(permissions)
    assert child.judge("tool", [action]).decision.rank >= permissions.judge("tool", [action]).decision.rank
