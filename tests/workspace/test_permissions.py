"""Verdicts on paths, hosts and tools, in each mode, with rules, grants and children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.permission_room import Room, create, read
from yagent.workspace.permissions import (
    Action,
    Decision,
    Delegate,
    EditPath,
    Mode,
    Network,
    Permissions,
    ReadPath,
    RuleError,
    ShellLine,
    UseTool,
)
from yagent.workspace.rules import Rule, parse_rule

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


class Given:
    """Grants as a list."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def rules(self) -> Sequence[Rule]:
        return [parse_rule(text) for text in self.texts]


@pytest.mark.parametrize(
    ("action", "verdicts"),
    [
        (ReadPath("a"), (ALLOW, ALLOW, ALLOW)),
        (ReadPath("../outside/victim.txt"), (ASK, ALLOW, ALLOW)),
        (ReadPath("/usr/include/stdio.h"), (ALLOW, ALLOW, ALLOW)),
        (ReadPath("/etc/passwd"), (ASK, ALLOW, ALLOW)),
        (ReadPath("~/.ssh/id_rsa"), (DENY, DENY, DENY)),
        (ReadPath("~/.yagent/settings.json"), (DENY, DENY, DENY)),
        (ReadPath("/proc/self/environ"), (DENY, DENY, DENY)),
        (EditPath("a", "create"), (ASK, ALLOW, ALLOW)),
        (EditPath("../outside/x", "create"), (ASK, ASK, ALLOW)),
        (EditPath("../outside/victim.txt", "edit"), (ASK, ASK, ALLOW)),
        (EditPath("../temporary/x", "create"), (ASK, ALLOW, ALLOW)),
        (EditPath(".git/hooks/x", "create"), (ASK, ASK, ASK)),
        (EditPath("~/.bashrc", "edit"), (ASK, ASK, ASK)),
        (EditPath("~/.yagent/config/config.toml", "edit"), (ASK, ASK, ASK)),
        (EditPath(".envrc", "create"), (ASK, ASK, ALLOW)),
        (EditPath(".github/workflows/x.yml", "create"), (ASK, ALLOW, ALLOW)),
        (EditPath(".", "delete"), (ASK, ASK, ALLOW)),
        (EditPath("a\0b", "create"), (DENY, DENY, DENY)),
        (Network("https://example.org/"), (ASK, ASK, ALLOW)),
        (Network("http://127.0.0.1:8000/x"), (ASK, ALLOW, ALLOW)),
        (Network("http://127.0.0.1.example.org/"), (ASK, ASK, ALLOW)),
        (Network("http://localhost@example.org/"), (ASK, ASK, ALLOW)),
        (UseTool("mcp_files_write"), (ASK, ASK, ALLOW)),
        (Delegate("coding"), (ALLOW, ALLOW, ALLOW)),
    ],
)
def test_each_mode_allows_what_it_should_and_no_more(room: Room, action: Action, verdicts: tuple[Decision, Decision, Decision]) -> None:
    assert tuple(room.permissions(mode).judge("tool", [action]).decision for mode in Mode) == verdicts


def test_the_strictest_action_of_a_call_decides(room: Room) -> None:
    verdict = room.permissions(Mode.YOLO).judge("rename_file", [EditPath("a", "rename"), EditPath("../outside/x", "create")])
    assert verdict.decision is ASK
    assert [reason.code for reason in verdict.reasons] == ["outside_write"]
    assert "outside the workspace" in verdict.explanation()


def test_what_an_allow_list_does_not_have_is_said_to_be_not_on_it(room: Room) -> None:
    settings = replace(room.permissions(Mode.YOLO, allow=["edit(docs/**)"]).settings, ceiling=frozenset({"edit"}))
    assert create("docs/a", Permissions(settings)).decision is ALLOW
    verdict = create("tests/a", Permissions(settings))
    assert verdict.decision is ASK
    assert verdict.explanation() == "creating tests/a is not on the allow list of this run."
    assert room.shell("touch tests/a", Permissions(settings)).explanation() == verdict.explanation()
    assert create("tests/a", Permissions(replace(settings, ceiling=frozenset({"shell"})))).decision is ALLOW


def test_a_reason_says_a_thing_once(room: Room) -> None:
    permissions = room.permissions(Mode.YOLO)
    outside = room.outside / "victim.txt"
    (room.workspace / "link").symlink_to(outside)
    said = {
        f"echo x > {outside}": f"replacing {outside} is outside the workspace.",
        "echo x > link": f"replacing link is outside the workspace ({outside}).",
        f"tool {outside} > {outside}": f"replacing {outside} is outside the workspace.",
        'tool "$X" > "$X"': '"$X" is only known when the line runs.',
        'echo b > "$X"; cat "$X"': '"$X" is only known when the line runs.',
    }
    assert {line: room.shell(line, permissions).explanation() for line in said} == said


def test_deny_beats_ask_beats_allow(room: Room) -> None:
    permissions = room.permissions(Mode.FULL_YOLO, allow=["edit(**)"], ask=["edit(b/**)"], deny=["edit(b/c)"])
    assert create("a", permissions).decision is ALLOW
    assert create("b/a", permissions).decision is ASK
    assert create("b/c", permissions).decision is DENY


def test_a_rule_that_is_not_understood_stops_the_start(room: Room) -> None:
    with pytest.raises(RuleError):
        room.permissions(deny=["nonsense"])


def test_a_deny_rule_for_a_tool_closes_it_in_every_mode(room: Room) -> None:
    permissions = room.permissions(Mode.FULL_YOLO, deny=["tool(create_file)"])
    assert create("a", permissions).decision is DENY


def test_an_allow_rule_for_a_tool_covers_edits_inside_and_not_outside_nor_shell_lines(room: Room) -> None:
    permissions = room.permissions(allow=["tool(create_file)", "tool(run_bash)"])
    assert create("a", permissions).decision is ALLOW
    assert create("../outside/a", permissions).decision is ASK
    assert create(".git/hooks/x", permissions).decision is ASK
    assert room.shell("make", permissions).decision is ASK


def test_the_model_calling_a_call_dangerous_only_makes_it_stricter(room: Room) -> None:
    permissions = room.permissions()
    line = [ShellLine("ls", str(room.workspace))]
    assert permissions.judge("run_bash", line).decision is ALLOW
    assert permissions.judge("run_bash", line, declared_dangerous=True).decision is ASK
    assert room.permissions(deny=["shell(ls *)"]).judge("run_bash", line, declared_dangerous=False).decision is DENY


def test_offers_are_exact_and_the_broad_one_is_for_plain_edits_only(room: Room) -> None:
    offers = create("src/a.py", room.permissions()).offers
    assert [(offer.scope, offer.rule) for offer in offers] == [
        ("once", ""),
        ("session", "edit(src/a.py)"),
        ("project", "edit(src/a.py)"),
        ("session", "edit(**)"),
    ]
    assert [offer.scope for offer in create(".git/hooks/x", room.permissions()).offers] == ["once"]
    assert all(offer.rule != "edit(**)" for offer in create(".envrc", room.permissions()).offers)
    assert [offer.rule for offer in read("../outside/victim.txt", room.permissions()).offers][1:] == [f"read({room.outside}/**)"] * 2


def test_the_grant_for_edits_inside_covers_neither_protected_nor_self_executing_files_nor_deletions(room: Room) -> None:
    room.write("kept.txt")
    permissions = room.permissions(grants=Given("edit(**)"))
    assert create("README.md", permissions).decision is ALLOW
    for path in (".git/config", ".envrc", ".vscode/tasks.json", ".idea/x", ".husky/pre-commit", ".github/workflows/x.yml", "~/.bashrc"):
        assert create(path, permissions).decision is ASK, path
    assert permissions.judge("delete_file", [EditPath("kept.txt", "delete")]).decision is ASK


def test_an_offer_taken_allows_that_and_nothing_else(room: Room) -> None:
    room.write("a[1].txt")
    offer = create("a[1].txt", room.permissions()).offers[1]
    permissions = room.permissions(grants=Given(offer.rule))
    assert create("a[1].txt", permissions).decision is ALLOW
    assert create("a1.txt", permissions).decision is ASK


def test_deleting_what_is_not_recoverable_asks_under_yolo(room: Room) -> None:
    mine, theirs = room.write("mine"), room.write("theirs")
    permissions = room.permissions(Mode.YOLO, recoverable=lambda path: path == mine)
    assert permissions.judge("delete_file", [EditPath("mine", "delete")]).decision is ALLOW
    verdict = permissions.judge("delete_file", [EditPath("theirs", "delete")])
    assert (verdict.decision, verdict.reasons[0].code) == (ASK, "loses_work")
    assert verdict.touches == (theirs,)


def test_a_link_that_leads_out_is_judged_by_where_it_leads(room: Room) -> None:
    (room.workspace / "note").symlink_to(room.outside / "victim.txt")
    (room.workspace / "draft").symlink_to(room.outside / "not-yet")
    for path in ("note", "draft"):
        verdict = create(path, room.permissions(Mode.YOLO))
        assert verdict.decision is ASK
        assert str(room.outside) in verdict.explanation()


def test_a_deny_rule_holds_through_a_link_and_for_searches(room: Room) -> None:
    room.write("secrets.env")
    (room.workspace / "link.txt").symlink_to("secrets.env")
    permissions = room.permissions(Mode.FULL_YOLO, deny=["read(secrets.env)"])
    assert read("link.txt", permissions).decision is DENY
    assert not permissions.may_read(room.workspace / "link.txt")
    assert not permissions.may_read(room.workspace / "secrets.env")
    assert permissions.may_read(room.workspace / "other")
    assert not permissions.may_read(room.home / ".ssh/id_rsa")


def test_a_recursive_read_above_a_secret_is_left_to_the_filter_of_the_tool(room: Room) -> None:
    permissions = room.permissions(Mode.YOLO)
    assert permissions.judge("search", [ReadPath("~", recursive=True)]).decision is ALLOW
    assert not permissions.may_read(room.home / ".ssh/id_rsa")


@pytest.mark.parametrize("parent", list(Mode))
@pytest.mark.parametrize("wanted", [None, *Mode])
def test_a_child_never_has_a_wider_mode_than_its_parent_nor_a_grandchild(room: Room, parent: Mode, wanted: Mode | None) -> None:
    child = room.permissions(parent).narrowed(mode=wanted)
    assert child.mode.rank <= parent.rank
    assert child.narrowed(mode=Mode.FULL_YOLO).mode.rank <= child.mode.rank


def test_a_child_keeps_every_deny_and_ask_rule_and_follows_its_parent_down(room: Room) -> None:
    parent = room.permissions(Mode.YOLO, deny=["edit(a)"])
    child = parent.narrowed(deny=["edit(b)"])
    assert create("a", child).decision is DENY
    assert create("b", child).decision is DENY
    assert create("b", parent).decision is ALLOW
    assert create("c", child).decision is ALLOW
    parent.set_mode(Mode.ASK)
    assert create("c", child).decision is ASK
    parent.set_mode(Mode.FULL_YOLO)
    assert child.mode is Mode.YOLO


def test_a_grant_given_to_a_child_holds_for_the_whole_tree(room: Room) -> None:
    grants = Given()
    parent = room.permissions(grants=grants)
    child = parent.narrowed()
    grants.texts.append("edit(a)")
    assert create("a", child).allowed
    assert create("a", parent).allowed


def test_hidden_characters_are_flagged_and_never_remembered(room: Room) -> None:
    verdict = create("a\u202eb", room.permissions())
    assert verdict.hidden_characters
    assert [offer.scope for offer in verdict.offers] == ["once"]
    assert verdict.subject == "a\u202eb"
