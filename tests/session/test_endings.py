"""The end of a run is on the record however slow what is around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.crash.clocks import slow_disk
from tests.support.model_server import ModelServer, Reply, RequestView, call, hand_over
from tests.support.session import Sessions
from yagent.rollout.index import list_sessions
from yagent.rollout.reader import read
from yagent.rollout.records import AgentCheckpoint, EventMessage
from yagent.runtime.clock import SystemClock


def ends(home: Path) -> list[tuple[bool, str]]:
    """Whether each record has a checkpoint, and how it says that it ended."""
    found = []
    for path in sorted(home.glob(".yagent/data/rollout/*/*.jsonl"), key=lambda path: len(path.name)):
        records = [entry.record for entry in read(path)]
        last = records[-1]
        reason = str(last.data["stop_reason"]) if isinstance(last, EventMessage) and last.is_terminal else ""
        found.append((any(isinstance(record, AgentCheckpoint) for record in records), reason))
    return found


@pytest.fixture
def task(model_server: ModelServer) -> None:
    model_server.play(
        {
            "are the Director": [call("delegate_repo", task="look"), "the answer"],
            "are Repo": [call("list_dir", path="."), hand_over("seen")],
        }
    )


@pytest.mark.parametrize("seconds", [6.0, 9.0])
async def test_on_a_slow_disk(sessions: Sessions, task: None, seconds: float) -> None:
    def records() -> Path | None:
        return next((path.parent for path in sessions.home.glob(".yagent/data/rollout/*/*.jsonl")), None)

    with slow_disk(records, seconds):
        async with sessions.open() as opened:
            result = await opened.do("the task")
    assert (result.answer, result.exit_code, result.warnings) == ("the answer", 0, ())
    assert ends(sessions.home) == [(True, "plain_text"), (True, "agent_exit")]


SLOW_GIT = """#!/bin/sh
case " $* " in *" status "* | *" rev-parse "*) test -e "$HOME/slow" && sleep 5.5;; esac
PATH={path} exec git "$@"
"""


@pytest.mark.slow
async def test_in_a_repository_whose_state_takes_long(sessions: Sessions, model_server: ModelServer) -> None:
    git = sessions.home / "bin/git"
    git.parent.mkdir()
    git.write_text(SLOW_GIT.format(path=os.environ["PATH"]))
    git.chmod(0o755)

    def script(view: RequestView) -> Reply:
        (sessions.home / "slow").touch()
        return Reply("the answer")

    model_server.script = script
    environ = sessions.environment(PATH=f"{git.parent}:{os.environ['PATH']}")
    async with sessions.open(environ=environ, clock=SystemClock()) as opened:
        result = await opened.do("the task")
    assert (result.answer, result.exit_code) == ("the answer", 0)
    assert not any("record" in warning for warning in result.warnings)
    assert ends(sessions.home) == [(True, "plain_text")]
    (listed,) = list_sessions(next(sessions.home.glob(".yagent/data/rollout/*")), 10)
    assert listed.stop_reason == "plain_text"


@pytest.mark.parametrize("program", ["exit 255", "kill -9 $$", "echo 'fatal: detected dubious ownership' >&2; exit 128"])
async def test_where_git_fails_nobody_is_told_that_nothing_changed(sessions: Sessions, model_server: ModelServer, program: str) -> None:
    git = sessions.home / "bin/git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\n{program}\n")
    git.chmod(0o755)
    model_server.play(
        {
            "are the Director": [call("delegate_coding", task="write"), "done"],
            "are Coding": [
                call("create_file", path="new.txt", content="x\n"),
                call("run_bash", command="touch other.txt"),
                hand_over("done"),
            ],
        }
    )
    async with sessions.open(environ=sessions.environment(PATH=f"{git.parent}:{os.environ['PATH']}"), mode="yolo") as opened:
        result = await opened.do("the task")
    first = model_server.views[0].task
    assert "Whether this is a git repository is not known: git said" in first
    assert [change.path for change in result.files_changed] == ["new.txt"]
    assert [warning for warning in result.warnings if warning.startswith("Which files commands changed is not known: git said")]
