"""What the account of a denied call advises does what it says: followed word for word, the call runs, and so does all that ran before."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from tests.support.command_line import CommandLine
from tests.support.model_server import Agent, ModelServer, Reply, delegating, hand_over
from tests.support.model_server.scripts import Roles

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
CONFIGURED = re.compile(r"\[permissions\] (allow = \[.*?\])")
OPTION = re.compile(r"--allow (?:'[^']*'|\S+)")

USUAL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_replace_in_file", {"path": "notes.txt", "edits": [{"search": "second", "replace": "2nd"}]}),
    ("run_bash", {"command": "python3 -m unittest"}),
)


def making(*calls: tuple[str, dict[str, Any]]) -> Roles:
    """An agent that makes these calls."""

    async def makes(agent: Agent) -> Reply:
        await agent.call("read_file", path="notes.txt")
        for name, arguments in calls[:-1]:
            await agent.call(name, **arguments)
        return hand_over(await agent.call(calls[-1][0], **calls[-1][1]))

    return {"are the Director": delegating("delegate_coding", "work"), "are Coding": makes}


@pytest.mark.parametrize(
    ("options", "denied", "beside"),
    [
        (["-y"], ("run_bash", {"command": "git branch -D nothing"}), USUAL),
        (["-y"], ("run_bash", {"command": "git config user.name 'A \"B\"'"}), USUAL),
        (["-y"], ("create_file", {"path": ".envrc", "content": "x"}), USUAL),
        (["-y", "--allow", "edit(docs/**)"], USUAL[0], USUAL[1:]),
        (["-y", "--allow", "shell(git status)"], USUAL[1], USUAL[:1]),
        ([], USUAL[0], ()),
        ([], USUAL[1], ()),
    ],
)
async def test_advice_that_is_followed_word_for_word_works(
    yagent: CommandLine, model_server: ModelServer, options: list[str], denied: tuple[str, dict[str, Any]], beside: Any
) -> None:
    model_server.play(making(*beside, denied))
    first = (await yagent.run("-p", "go", "--output", "json", *options)).document
    assert [each["tool"] for each in first["denied"]] == [denied[0]]
    advice = first["denied"][0]["advice"]
    configured = CONFIGURED.search(advice)
    if configured:
        place = yagent.data / "config/config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"[permissions]\n{configured[1]}\n")
        more = []
    else:
        found = OPTION.search(advice)
        assert found is not None, advice
        more = shlex.split(found[0])
    (yagent.workspace / "notes.txt").write_text("first\nsecond\nthird\n")
    model_server.play(making(*beside, denied))
    again = await yagent.run("-p", "go", "--output", "json", *options, *more)
    assert again.code == 0, again.told
    assert again.document["denied"] == []
