"""How a session is put together, seen from its tasks."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import KEY, until
from tests.support.fixtures import commit
from tests.support.model_server import Agent, Call, ModelServer, Reply, call, delegating, hand_over
from tests.support.model_server.scripts import Roles
from tests.support.session import Sessions
from tests.tools.scopes import surface_of
from yagent.config.problems import ConfigError
from yagent.llm.engine import CallOptions, Dialogue, Head
from yagent.protocol.events import BackgroundEnded, SessionStarted, WarningIssued
from yagent.protocol.messages import Message, ModelIdentity
from yagent.protocol.ops import Shutdown, StartTask, StopTask
from yagent.protocol.result import FileChange
from yagent.protocol.stop import StopReason
from yagent.runtime.left_behind import private_prefix
from yagent.session.refused import TaskRefused

LOOKING: Roles = {
    "are the Director": delegating("delegate_repo", "look"),
    "are Repo": [call("read_file", path="notes.txt"), hand_over("ok")],
}


async def test_two_tasks_share_the_conversation_and_the_context_is_given_once(sessions: Sessions, model_server: ModelServer) -> None:
    (sessions.workspace / "AGENTS.md").write_text("Use tabs.\n")
    model_server.play({"are the Director": ["first answer", "second answer"]})
    async with sessions.open() as opened:
        answers = [(await opened.do(words)).answer for words in ("first question", "second question")]
    assert answers == ["first answer", "second answer"]
    last = model_server.views[-1]
    spoken = [entry.text for entry in last.entries if entry.role == "user"]
    assert "<request>\nfirst question\n</request>" in spoken[0]
    assert spoken[1:] == ["second question"]
    assert "".join(spoken).count("Use tabs.") == 1
    assert model_server.kept == 1.0


async def test_a_delegation_is_told_the_users_work_apart_from_the_tasks(sessions: Sessions, model_server: ModelServer) -> None:
    commit(sessions.workspace, "init", "-q")
    (sessions.workspace / "draft.txt").write_text("mine\n")
    model_server.play(
        {
            "are the Director": [call("delegate_coding", task="make"), call("delegate_repo", task="look"), "done"],
            "are Coding": [call("create_file", path="new.txt", content="x\n"), hand_over("made")],
            "are Repo": [hand_over("seen")],
        }
    )
    async with sessions.open(mode="yolo") as opened:
        await opened.do("go on")
    told = {view.identity.split(",")[0]: view.task for view in model_server.views}
    users = "Not committed before the user's request, the user's own work, keep it (also from git stash, which runs unasked): draft.txt"
    assert [name for name, text in told.items() if users not in text] == []
    assert [name for name, text in told.items() if "Changed since the user's request: new.txt (created)" in text] == ["You are Repo"]


async def test_an_agent_is_given_the_tools_that_its_golden_surface_shows(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play(LOOKING)
    async with sessions.open() as opened:
        await opened.do("go")
    given = {view.identity.split(",")[0]: view.tools for view in model_server.views}
    for role, who in (("director", "You are the Director of yagent"), ("repo", "You are Repo")):
        assert tuple(given[who]) == surface_of(role, can_ask=False).names


async def test_a_second_task_is_refused_while_one_runs(sessions: Sessions, model_server: ModelServer) -> None:
    go_on = asyncio.Event()

    async def answer(view: object) -> Reply:
        await go_on.wait()
        return Reply(text="done")

    model_server.script = answer
    async with sessions.open() as opened:
        first = asyncio.ensure_future(opened.do("one"))
        await until(lambda: model_server.exchanges)
        with pytest.raises(TaskRefused, match="running"):
            await opened.do("two")
        go_on.set()
        assert (await first).answer == "done"


async def test_a_stopped_task_says_so_and_the_session_goes_on(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="touch started; sleep 60"))

    async def director(agent: Agent) -> Reply:
        await agent.call("delegate_coding", task="wait")
        return Reply(text="the second task sees what was cut short")

    model_server.play({"are the Director": director, "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        first = asyncio.ensure_future(opened.do("one"))
        await until((sessions.workspace / "started").exists)
        await opened.session.submit(StopTask())
        stopped = await first
        again = await opened.do("two")
    assert (stopped.stop_reason, stopped.exit_code) == (StopReason.CANCELLED, 130)
    assert again.answer == "the second task sees what was cut short"
    assert "cancelled" in str(model_server.views[-1].body["messages"]).lower()


async def test_changed_files_are_told_apart_from_the_users_own_changes(sessions: Sessions, model_server: ModelServer) -> None:
    place = sessions.workspace
    (place / "mine.txt").write_text("mine\n")
    (place / "notes.txt").write_text("first line, changed by me\nsecond line\n")

    async def coding(agent: Agent) -> Reply:
        await agent.call("read_file", path="notes.txt")
        await agent.call("search_replace_in_file", path="notes.txt", edits=[{"search": "second", "replace": "2nd"}])
        await agent.call("create_file", path="made.txt", content="x\n")
        return hand_over("done")

    model_server.play({"are the Director": delegating("delegate_coding", "change"), "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        result = await opened.do("go")
    assert set(result.files_changed) == {FileChange("notes.txt", "modified", before_task=True), FileChange("made.txt", "created")}


async def test_background_commands_end_with_the_task_and_are_named(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="sleep 300", is_background=True))

    model_server.play({"are the Director": delegating("delegate_coding", "start"), "are Coding": coding})
    async with sessions.open(mode="full-yolo") as opened:
        result = await opened.do("go")
    assert any("sleep 300" in warning for warning in result.warnings)
    assert len(opened.told(BackgroundEnded)) == 1


async def test_what_began_is_told_first(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["ok"]})
    environ = {"HOME": str(sessions.home), "PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model_server.url}
    async with sessions.open(environ=environ) as opened:
        await opened.do("go")
    assert isinstance(opened.events[0].payload, SessionStarted)
    assert any("OPENAI_API_KEY" in warning.text for warning in opened.told(WarningIssued))


async def test_a_secret_looking_variable_reaches_commands_only_when_it_is_passed(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="printenv DEPLOY_TOKEN"))

    said = []
    for passed in ((), ("DEPLOY_TOKEN",)):
        model_server.play({"are the Director": delegating("delegate_coding", "look"), "are Coding": coding})
        async with sessions.open(environ=sessions.environment(DEPLOY_TOKEN="tok-123"), mode="full-yolo", pass_env=passed) as opened:
            said.append((await opened.do("go")).answer)
    assert ["tok-123" in answer for answer in said] == [False, True]
    assert "DEPLOY_TOKEN" in said[0]


async def test_nothing_runs_side_by_side_without_concurrency(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play(
        {"are the Director": delegating("delegate_repo", "one", "two"), "are Repo": [Reply(calls=hand_over("x").calls, pace=1.0)]}
    )
    async with sessions.open(environ=sessions.environment(YAGENT_CONCURRENCY="0")) as opened:
        assert (await opened.do("go")).exit_code == 0
    assert model_server.peak_in_flight == 1


def number_of_a_process_that_is_gone() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


async def test_a_session_removes_its_temporary_directory_and_those_that_killed_runs_left(
    sessions: Sessions, model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    within = tmp_path / "temporary files"
    within.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(within))
    left = within / f"yagent-{number_of_a_process_that_is_gone()}-{private_prefix().split('-')[2]}-abcd1234"
    left.mkdir(mode=0o700)
    (within / "yagent-notes").mkdir()
    model_server.play({"are the Director": ["ok"]})
    async with sessions.open() as opened:
        assert (await opened.do("go")).exit_code == 0
        assert left.is_dir()  # it is not looked for while somebody waits
        assert len([path for path in within.iterdir() if path.name.startswith(f"yagent-{os.getpid()}-")]) == 1
    assert [path.name for path in within.iterdir()] == ["yagent-notes"]


@pytest.mark.parametrize("limit", [1, 3, 6])
async def test_as_many_delegations_of_one_reply_run_side_by_side_as_are_configured(
    sessions: Sessions, model_server: ModelServer, limit: int
) -> None:
    model_server.play(
        {
            "are the Director": delegating("delegate_repo", *(f"look {number}" for number in range(7))),
            "are Repo": [Reply(calls=hand_over("x").calls, pace=1.0)],
        }
    )
    sessions.configure(f"[agent]\nmax_parallel_delegations = {limit}\nmax_parallel_readonly_tools = 2\n")
    async with sessions.open() as opened:
        assert len((await opened.do("go")).delegations) == 7
    assert model_server.peak_in_flight == limit


async def test_the_step_limit_of_a_run_caps_the_delegations_too(sessions: Sessions, model_server: ModelServer) -> None:
    async def repo(agent: Agent) -> Reply:
        while "last step" not in await agent.call("read_file", text="so far", path="notes.txt"):
            pass
        return Reply(text="so far")

    model_server.play({"are the Director": delegating("delegate_repo", "look"), "are Repo": repo})
    async with sessions.open(max_steps=2) as opened:
        result = await opened.do("go")
    assert [(each.stop_reason, each.steps) for each in result.delegations] == [(StopReason.MAX_STEPS, 2)]


async def test_nothing_is_written_into_the_repository(sessions: Sessions, model_server: ModelServer) -> None:
    before = tree(sessions.workspace)
    model_server.play(LOOKING)
    async with sessions.open() as opened:
        assert (await opened.do("go")).files_changed == ()
    assert tree(sessions.workspace) == before
    assert commit(sessions.workspace, "status", "--porcelain", "--ignored") == ""


def tree(place: Path) -> dict[str, bytes]:
    """Every file with its bytes."""
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


async def test_the_data_home_holds_exactly_what_it_should_and_nobody_else_can_read_it(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.play(LOOKING)
    async with sessions.open() as opened:
        result = await opened.do("go")
    data = sessions.home / ".yagent"
    names = [str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()]
    files = {re.sub(r"\d{8}-\d{6}", "TIME", re.sub(r"\d{4}-\d\d-\d\d", "DAY", name)) for name in names}
    project = next(data.glob("data/rollout/*")).name
    assert {name.replace(result.session, "SESSION") for name in files if name.startswith("data/")} == {
        f"data/rollout/{project}/TIME_SESSION.jsonl",
        f"data/rollout/{project}/TIME_SESSION_repo.jsonl",
        "data/tokens.json",
        "data/tokens.json.lock",
    }
    assert {name.replace(result.session, "SESSION") for name in files if not name.startswith("data/")} <= {
        "notes/SESSION/repo/0001.md",
        "logs/app-DAY.log",
        *(f"logs/SESSION-1/{kind}-DAY.log" for kind in ("llm", "llm-error", "tool", "delegate")),
    }
    for path in (data, *data.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("api_format", ["openai", "responses", "anthropic"])
async def test_two_sessions_send_the_same_bytes_up_to_the_first_user_message(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    for _ in range(2):
        model_server.play({"are the Director": [call("list_dir", path="."), "ok"]})
        async with sessions.open(api_format=api_format) as opened:
            await opened.do("go")
    first, second = model_server.views[0], model_server.views[2]
    assert (first.segments[:2], first.system) == (second.segments[:2], second.system)
    assert model_server.kept == 1.0


class BrokenEngine:
    """An engine with a defect."""

    identity = ModelIdentity("broken", "broken", "openai")

    async def prepare(self) -> None:
        """Nothing to get ready."""

    def engine(self, agent: str, tool: str | None = None) -> BrokenEngine:
        """Itself, for everybody."""
        return self

    def open(self, head: Head) -> Dialogue:
        """A dialogue that fails when asked."""
        return BrokenDialogue()


class BrokenDialogue:
    """Fails with something nobody expects."""

    def append(self, message: Message) -> None:
        """Nothing."""

    def stream(self, options: CallOptions) -> Any:
        """Fail."""
        raise ZeroDivisionError(f"with {KEY} in hand")


async def test_an_unexpected_failure_leaves_a_report_and_a_short_message(sessions: Sessions) -> None:
    async with sessions.open(source=BrokenEngine()) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code, result.status) == (StopReason.PANIC, 1, "error")
    (report,) = (sessions.home / ".yagent/logs").glob("crash-*.txt")
    assert str(report) in result.error
    text = report.read_text()
    assert "ZeroDivisionError" in text
    assert "Traceback" in text
    assert KEY not in text


async def test_a_shutdown_ends_a_running_task(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.script = lambda view: Reply(text="slow", pace=3600.0, piece=1)
    async with sessions.open() as opened:
        running = asyncio.ensure_future(opened.session.submit(StartTask("go")))
        await until(lambda: model_server.exchanges)
        await opened.session.submit(Shutdown())
        result = await running
    assert result is not None
    assert result.stop_reason is StopReason.CANCELLED


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("micro_agent", {"task": "t"}),
        ("thinking", {"thought": "t"}),
        ("deepthinking", {"question": "q"}),
        ("design", {"requirement": "r"}),
    ],
)
async def test_each_cognition_tool_can_have_a_model_of_its_own(
    sessions: Sessions, model_server: ModelServer, tool: str, arguments: dict[str, str]
) -> None:
    provider = f'[global.llm.providers.{{name}}]\napi_base_url = "{model_server.url}"\nmodel = "{{name}}-model"\n'
    text = '[global.llm]\nuse_provider = "main"\n' + provider.format(name="main") + provider.format(name="mind")
    sessions.configure(f'{text}[tools.llm.{tool}]\nuse_provider = "mind"\n')

    async def coding(agent: Agent) -> Reply:
        await agent.calls(Call("load_tool", {"names": [tool]}))
        return hand_over(await agent.call(tool, **arguments))

    model_server.play({"are the Director": delegating("delegate_coding", "think"), "are Coding": coding, "no files": ["a thought"]})
    async with sessions.open(environ={"HOME": str(sessions.home), "PATH": os.environ["PATH"]}) as opened:
        assert "a thought" in (await opened.do("go")).answer
    asked = {view.body["model"] for view in model_server.views if not view.tools}
    assert asked == {"mind-model"}
    assert {view.body["model"] for view in model_server.views if view.tools} == {"main-model"}


@pytest.mark.parametrize(
    ("listed", "asked"),
    [(("qwen-local",), "qwen-local"), (("other", "gpt-5.5", "third"), "gpt-5.5"), (("other", "third"), "Give one with -m")],
    ids=["the only one", "the vendor's usual one", "none that is known"],
)
async def test_where_no_model_is_named_the_endpoint_is_asked_and_none_is_made_up(
    sessions: Sessions, model_server: ModelServer, listed: tuple[str, ...], asked: str
) -> None:
    model_server.play({"are the Director": ["ok"]})
    model_server.models = listed
    environ = {"HOME": str(sessions.home), "PATH": os.environ["PATH"], "OPENAI_BASE_URL": sessions.url, "OPENAI_API_KEY": KEY}
    if asked not in listed:
        with pytest.raises(ConfigError, match=asked) as refused:
            async with sessions.open(environ=environ):
                pass
        assert "other, third" in str(refused.value)
        return
    async with sessions.open(environ=environ) as opened:
        assert (await opened.do("go")).answer == "ok"
    assert {view.body["model"] for view in model_server.views} == {asked}


async def test_an_endpoint_whose_list_of_models_cannot_be_read_wants_the_model_named(sessions: Sessions) -> None:
    environ = {"HOME": str(sessions.home), "PATH": os.environ["PATH"], "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": KEY}
    with pytest.raises(ConfigError, match="list cannot be read"):
        async with sessions.open(environ=environ):
            pass
