"""Case J-09: what the user denies is denied to his agents' agents too, in every mode and whatever they ask for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.fixtures import commit
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.session import Sessions
from yagent.protocol.asks import Answer

DENIED = ("edit(denied*)", "shell(touch *)", "shell(git push *)", "read(notes.txt)")
TRIED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("run_bash", {"command": "touch denied.txt"}),
    ("run_bash", {"command": "true && touch denied.txt"}),
    ("run_bash", {"command": "bash -c 'touch denied.txt'"}),
    ("run_bash", {"command": "echo x > denied.txt"}),
    ("run_bash", {"command": "git push origin main"}),
    ("run_bash", {"command": "cat notes.txt"}),
    ("create_file", {"path": "denied.txt", "content": "x"}),
    ("create_file", {"path": "./sub/../denied.txt", "content": "x"}),
    ("read_file", {"path": "notes.txt"}),
)


@pytest.mark.parametrize("asked", [True, False], ids=["a user who allows all", "nobody to ask"])
@pytest.mark.parametrize("mode", [None, "yolo", "full-yolo"])
async def test_J09_what_is_denied_stays_denied_for_a_child_and_a_grandchild_in_every_mode(
    sessions: Sessions, model_server: ModelServer, mode: str | None, *, asked: bool
) -> None:
    seen: list[tuple[str, str, bool]] = []
    pushed = sessions.workspace.parent / "pushed.git"
    commit(sessions.workspace, "init", "-q", "--bare", str(pushed))
    commit(sessions.workspace, "remote", "add", "origin", str(pushed))

    async def tries(agent: Agent) -> Reply:
        who = agent.view.identity.split(",")[0].split()[-1]
        for tool, arguments in TRIED:
            seen.append((who, await agent.call(tool, **arguments), True))
        seen.append((who, await agent.call("create_file", path=f"allowed-{who}.txt", content="x"), False))
        return hand_over("tried")

    async def repo(agent: Agent) -> Reply:
        seen.append(("Repo", await agent.call("read_file", path="notes.txt"), True))
        await agent.calls(Call("delegate_devops", {"task": "do it", "mode": "full-yolo"}))
        await agent.call("delegate_devops", task="do it")
        return hand_over("handed on")

    async def director(agent: Agent) -> str:
        await agent.call("delegate_coding", task="try")
        await agent.call("delegate_repo", task="have it tried")
        return "end"

    model_server.play({"are the Director": director, "are Coding": tries, "are Repo": repo, "are DevOps": tries})
    person = (lambda needed: Answer(granted=True)) if asked else None
    async with sessions.open(mode=mode, deny=DENIED, person=person) as opened:
        result = await opened.do("go")
    assert result.answer == "end"
    assert {who for who, _, _ in seen} == {"Coding", "Repo", "DevOps"}
    assert not (sessions.workspace / "denied.txt").exists()
    assert commit(pushed, "branch", "--list").strip() == ""
    refused = [text for _, text, is_denied in seen if is_denied]
    assert all("first line" not in text for text in refused)
    may = asked or mode is not None
    assert (sessions.workspace / "allowed-Coding.txt").exists() is may
    assert [text for text in refused if not re.search("your rule|There is no tool called 'create_file'", text)] == []
