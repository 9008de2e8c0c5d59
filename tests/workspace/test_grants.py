"""Grants: once, for the session, for the project; stored narrow, shared by processes."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from yagent.protocol.asks import Offer
from yagent.workspace.grants import PROJECTS, Grants
from yagent.workspace.rules import RuleError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "settings.json"


def put(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


def content(file: Path) -> str:
    return file.read_text()


def stored(file: Path, project: Path) -> list[str]:
    """The rules that the file holds for a project."""
    return list(json.loads(content(file))[PROJECTS][real(project)]["rules"])


def linked(base: Path) -> Path:
    (base / "a").mkdir()
    (base / "link").symlink_to("a")
    return base / "link"


def real(path: Path) -> str:
    return os.path.realpath(path)


def exists(path: Path) -> bool:
    return os.path.lexists(path)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def grants(file: Path | None, project: Path, clock: VirtualClock) -> Grants:
    return Grants(project, file, clock=clock)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


async def test_once_is_kept_nowhere(file: Path, tmp_path: Path, clock: VirtualClock) -> None:
    given = grants(file, tmp_path, clock)
    await given.add(Offer("once"))
    assert not given.rules()
    assert not exists(file)


async def test_a_restart_keeps_the_project_grant_and_drops_the_session_one(file: Path, tmp_path: Path, clock: VirtualClock) -> None:
    given = grants(file, tmp_path, clock)
    await given.add(Offer("session", "shell(make *)"))
    assert await given.add(Offer("project", "shell(pytest *)")) is None
    assert [rule.text for rule in given.rules()] == ["shell(make *)", "shell(pytest *)"]
    again = grants(file, tmp_path, clock)
    assert await again.load() is None
    assert [rule.text for rule in again.rules()] == ["shell(pytest *)"]
    assert mode_of(file) == 0o600
    assert mode_of(file.parent) == 0o700


async def test_a_grant_of_one_project_does_not_hold_in_another(file: Path, tmp_path: Path, clock: VirtualClock) -> None:
    alias = linked(tmp_path)
    await grants(file, tmp_path / "a", clock).add(Offer("project", "shell(pytest *)"))
    other = grants(file, tmp_path / "b", clock)
    await other.load()
    assert not other.rules()
    same = grants(file, alias, clock)
    await same.load()
    assert same.rules()


async def test_two_sessions_do_not_lose_each_others_grants_nor_foreign_settings(file: Path, tmp_path: Path, clock: VirtualClock) -> None:
    put(file, json.dumps({"theme": "dark"}))
    first, second = grants(file, tmp_path, clock), grants(file, tmp_path, clock)
    await first.load()
    await second.load()
    await first.add(Offer("project", "shell(pytest *)"))
    await second.add(Offer("project", "shell(make test *)"))
    assert stored(file, tmp_path) == ["shell(pytest *)", "shell(make test *)"]
    assert json.loads(content(file))["theme"] == "dark"


async def test_a_grant_given_twice_is_stored_once_and_in_its_own_words(file: Path, tmp_path: Path, clock: VirtualClock) -> None:
    given = grants(file, tmp_path, clock)
    for rule in ("shell(pytest *)", "shell(make)", "shell(pytest *)"):
        await given.add(Offer("project", rule))
    assert stored(file, tmp_path) == ["shell(make)", "shell(pytest *)"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"authorized_projects": []}', "\0", "[" * 100_000])
async def test_a_damaged_file_is_reported_counts_as_no_grants_and_is_kept_aside(
    file: Path, tmp_path: Path, clock: VirtualClock, damage: str
) -> None:
    put(file, damage)
    given = grants(file, tmp_path, clock)
    assert "settings.json" in (await given.load() or "")
    assert not given.rules()
    assert content(file) == damage
    await given.add(Offer("project", "shell(pytest *)"))
    assert stored(file, tmp_path) == ["shell(pytest *)"]
    assert content(file.with_name("settings.json.damaged-1")) == damage


async def test_a_stored_rule_that_is_no_rule_is_named_and_the_others_hold(file: Path, tmp_path: Path, clock: VirtualClock) -> None:
    put(file, json.dumps({"authorized_projects": {real(tmp_path): {"rules": ["nonsense", "shell(make)", 7]}}}))
    given = grants(file, tmp_path, clock)
    assert "nonsense" in (await given.load() or "")
    assert [rule.text for rule in given.rules()] == ["shell(make)"]


async def test_a_file_that_cannot_be_written_leaves_the_grant_for_the_session_and_says_so(tmp_path: Path, clock: VirtualClock) -> None:
    put(tmp_path / "blocked", "")
    given = grants(tmp_path / "blocked" / "settings.json", tmp_path, clock)
    assert "session only" in (await given.add(Offer("project", "shell(make)")) or "")
    assert [rule.text for rule in given.rules()] == ["shell(make)"]


async def test_what_is_no_rule_cannot_be_granted(file: Path, tmp_path: Path, clock: VirtualClock) -> None:
    with pytest.raises(RuleError):
        await grants(file, tmp_path, clock).add(Offer("session", "anything"))


async def test_without_a_data_home_everything_is_for_the_session(tmp_path: Path, clock: VirtualClock) -> None:
    given = grants(None, tmp_path, clock)
    await given.add(Offer("project", "shell(make)"))
    assert [rule.text for rule in given.rules()] == ["shell(make)"]


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
async def test_what_is_no_file_is_not_waited_for(file: Path, tmp_path: Path, clock: VirtualClock, put: Callable[[Path], None]) -> None:
    file.parent.mkdir()
    put(file)
    kept = grants(file, tmp_path, clock)
    assert "is not a regular file" in (await kept.load() or "")
    assert await kept.add(Offer("project", "shell(ls)")) is None
    assert stored(file, tmp_path) == ["shell(ls)"]
