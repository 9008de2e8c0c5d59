"""What agents are told of what runs unasked is what holds in this run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.model_server import Agent, ModelServer, Reply, delegating, hand_over
from tests.support.session import Sessions
from yagent.session.settings import approvals_line
from yagent.workspace.permissions import Mode, PermissionSettings

FREE = "commands known to read only"
ONLY = "only as the allow list of this run says:"


@pytest.mark.parametrize(
    ("mode", "ceiling", "allow", "said"),
    [
        (Mode.ASK, (), (), f"reading and {FREE} run at once; anything else:"),
        (Mode.ASK, (), ("shell(make)",), f"reading and {FREE} run at once, and what the user allows: shell(make); anything else:"),
        (Mode.YOLO, (), (), "edits and commands in the directory run at once; what goes outside, loses the user's work or publishes:"),
        (
            Mode.YOLO,
            (),
            ("shell(make)",),
            "edits and commands in the directory run at once, and what the user allows: shell(make); what else goes",
        ),
        (
            Mode.YOLO,
            ("edit",),
            ("edit(docs/**)", "shell(make)"),
            f"{FREE} and commands in the directory run at once, other edits {ONLY} edit(docs/**), shell(make)",
        ),
        (
            Mode.YOLO,
            ("shell",),
            ("shell(make)",),
            f"{FREE} and edits in the directory run at once, other commands {ONLY} shell(make); anything",
        ),
        (
            Mode.YOLO,
            ("edit", "shell"),
            tuple(f"shell(make {number})" for number in range(12)),
            f"Approvals: {FREE} run at once, other edits and commands {ONLY} shell(make 0), shell(make 1)",
        ),
    ],
)
def test_agents_are_told_what_runs_at_once(tmp_path: Path, mode: Mode, ceiling: tuple[str, ...], allow: tuple[str, ...], said: str) -> None:
    settings = PermissionSettings(tmp_path, mode, allow=allow, ceiling=frozenset(kind for kind in ("edit", "shell") if kind in ceiling))
    line = approvals_line(settings, can_ask=True)
    assert said in line
    assert line.endswith("the user is asked.")
    assert ("2 more; anything else" in line) == (len(allow) > 10)


async def test_a_list_of_the_run_limits_its_kind_and_one_of_the_configuration_does_not(
    sessions: Sessions, model_server: ModelServer
) -> None:
    sessions.configure('[permissions]\nallow = ["shell(git branch -D nothing)"]\n')
    model_server.play({"are the Director": ["done"]})
    async with sessions.open(mode="yolo", allow=("edit(docs/**)",)) as opened:
        await opened.do("go")
    assert "commands in the directory run at once, other edits only as the allow list" in str(model_server.views[-1].body["messages"])


async def test_an_edit_list_of_the_run_leaves_commands_free_whatever_the_configuration_allows(
    sessions: Sessions, model_server: ModelServer
) -> None:
    said: list[str] = []

    async def coding(agent: Agent) -> Reply:
        said.append(await agent.call("run_bash", command="python3 -c 'print(6*7)'"))
        said.append(await agent.call("create_file", path="docs/a.md", content="a"))
        said.append(await agent.call("create_file", path="b.md", content="b"))
        return hand_over("Done.")

    sessions.configure('[permissions]\nallow = ["shell(make *)"]\n')
    model_server.play({"are the Director": delegating("delegate_coding", "work"), "are Coding": coding})
    async with sessions.open(mode="yolo", allow=("edit(docs/**)",)) as opened:
        result = await opened.do("go")
    assert "42" in said[0]
    assert [(sessions.workspace / name).exists() for name in ("docs/a.md", "b.md")] == [True, False]
    assert [each.subject for each in result.denied] == ["b.md"]
