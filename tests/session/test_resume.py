"""A session that was stopped goes on exactly where it stood: the same conversation, each call answered once, nothing carried out twice."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.llm.wire import FORMATS
from tests.support.fixtures import commit
from tests.support.model_server import Agent, Call, ModelServer, Reply, RequestView, call, hand_over
from tests.support.session import Opened, Sessions
from yagent.protocol.client import ListUnderWay
from yagent.protocol.messages import ToolCall
from yagent.protocol.ops import StopTask
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason
from yagent.rollout.reader import read
from yagent.rollout.records import AgentCheckpoint, EventMessage, encode
from yagent.rollout.writer import SessionInUse
from yagent.session.request import Resume
from yagent.session.resume import ResumeRefused
from yagent.tools.teaching import cancelled_output

Work = Callable[[Agent], Awaitable[Reply]]


def _of(server: ModelServer, who: str) -> list[RequestView]:
    return [view for view in server.views if who in view.identity]


def _messages(view: RequestView) -> list[Any]:
    return list(view.body.get("input") or view.body["messages"])


def _plain(value: Any) -> Any:
    """Without cache marks, which move."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if name != "cache_control"}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _blocks(messages: list[Any]) -> list[Any]:
    return [
        {**each, "content": [{"type": "text", "text": each["content"]}]} if isinstance(each.get("content"), str) else each
        for each in _plain(messages)
    ]


def assert_goes_on(before: RequestView, after: RequestView) -> None:
    """The later request begins with the whole earlier one."""
    assert before.body.get("tools") == after.body.get("tools")
    assert before.system == after.system
    said, now = _blocks(_messages(before)), _blocks(_messages(after))
    assert json.dumps(now[: len(said)]) == json.dumps(said)


def assert_answered_once(view: RequestView) -> None:
    results = [result.call_id for entry in view.entries for result in entry.results]
    assert sorted(results) == sorted(seen.id for entry in view.entries for seen in entry.calls)


async def stopped(sessions: Sessions, server: ModelServer, director: Any, at: str, work: Work, **more: Any) -> TaskResult:
    """A task that is stopped while an agent speaks: `work` ends with the reply that never arrives."""
    opened: list[Opened] = []

    async def stopping(agent: Agent) -> Reply:
        reply = await work(agent)
        await opened[0].session.submit(StopTask())
        return reply

    server.play({"are the Director": director, at: stopping} if at != "are the Director" else {at: stopping})
    async with sessions.open(mode="yolo", **more) as one:
        opened.append(one)
        result = await one.do("the task")
    assert result.stop_reason is StopReason.CANCELLED
    return result


async def two_steps(agent: Agent) -> Reply:
    await agent.call("create_file", path="made.txt", content="made\n")
    await agent.call("read_file", path="made.txt")
    return Reply("lost words")


@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_delegation_that_was_stopped_goes_on_and_its_result_takes_the_place_of_the_first(
    sessions: Sessions, model_server: ModelServer, workspace: Path, api_format: str
) -> None:
    first = await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", two_steps, api_format=api_format)
    before, count = _of(model_server, "are Coding")[-1], len(model_server.views)
    model_server.play({"are the Director": ["all done"], "are Coding": [hand_over("made it")]})
    async with sessions.open(mode="yolo", api_format=api_format, resume=Resume(first.session)) as opened:
        result = await opened.go_on()
    assert (result.answer, result.session, result.exit_code) == ("all done", first.session, 0)
    coding, director = model_server.views[count:]
    assert_goes_on(before, coding)
    assert_goes_on(model_server.views[0], director)
    assert_answered_once(director)
    assert "[coding#1 · ok" in director.entries[-1].results[0].text
    assert "made it" in director.entries[-1].results[0].text
    assert [each.role for each in result.delegations] == ["coding"]
    assert [(each.path, each.change) for each in result.files_changed] == [("made.txt", "created")]


async def test_the_record_of_a_continued_delegation_is_a_new_file_with_its_id_and_the_directors_is_the_same(
    sessions: Sessions, model_server: ModelServer
) -> None:
    first = await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", two_steps)
    before = sorted(sessions.home.glob(".yagent/data/rollout/**/*.jsonl"))
    model_server.play({"are the Director": ["all done"], "are Coding": [hand_over("made it")]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        await opened.go_on()
    after = sorted(sessions.home.glob(".yagent/data/rollout/**/*.jsonl"))
    assert len(before) == 2
    assert len(after) == 3
    firsts = [json.loads(path.read_text().splitlines()[0]) for path in after if "coding" in path.name]
    metas = [first["payload"] for first in sorted(firsts, key=lambda first: first["ordinal"])]
    assert metas[0]["delegation_id"] == metas[1]["delegation_id"]
    assert (metas[0].get("continues"), metas[1]["continues"], metas[1]["start_step"]) == (None, True, 3)
    ordinals = [json.loads(line)["ordinal"] for path in after for line in path.read_text().splitlines()]
    assert len(ordinals) == len(set(ordinals))


async def test_each_end_writes_one_checkpoint_before_its_terminal_record(sessions: Sessions, model_server: ModelServer) -> None:
    await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", two_steps)
    for path in sessions.home.glob(".yagent/data/rollout/**/*.jsonl"):
        records = [entry.record for entry in read(path)]
        assert [isinstance(record, AgentCheckpoint) for record in records].count(True) == 1
        assert isinstance(records[-2], AgentCheckpoint)
        assert records[-2].stop_reason == "cancelled"
        assert len(records[-2].digest) == 64
        assert len(records[-2].head) == 40


async def test_the_director_who_was_stopped_while_he_spoke_is_asked_the_same_again(sessions: Sessions, model_server: ModelServer) -> None:
    async def work(agent: Agent) -> Reply:
        await agent.call("read_file", path="notes.txt")
        return Reply("lost words")

    first = await stopped(sessions, model_server, None, "are the Director", work)
    before = model_server.views[-1]
    model_server.play({"are the Director": ["second thoughts"]})
    async with sessions.open(mode="yolo", resume=Resume(first.session[:4])) as opened:
        result = await opened.go_on()
    assert result.answer == "second thoughts"
    assert json.dumps(_blocks(_messages(before))) == json.dumps(_blocks(_messages(model_server.views[-1])))


async def test_new_words_to_a_stopped_session_come_with_a_report_of_what_was_under_way(
    sessions: Sessions, model_server: ModelServer
) -> None:
    first = await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", two_steps)
    model_server.play({"are the Director": ["understood"]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        result = await opened.do("leave it as it is")
    assert result.answer == "understood"
    asked = model_server.views[-1]
    assert_answered_once(asked)
    assert "Done before it was stopped" in asked.entries[-2].results[0].text
    assert "made.txt" in asked.entries[-2].results[0].text
    assert json.dumps(asked.body).count("<environment>") == 2
    assert "leave it as it is" in asked.user_text


async def test_a_finished_session_takes_new_words_but_does_not_go_on_by_itself(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["the answer"]})
    async with sessions.open() as opened:
        first = await opened.do("the task")
    async with sessions.open(resume=Resume(first.session)) as opened:
        with pytest.raises(ResumeRefused, match="has its answer"):
            await opened.go_on()
        model_server.play({"are the Director": ["more"]})
        assert (await opened.do("and now?")).answer == "more"
        model_server.play({"are the Director": ["even more"]})
        assert (await opened.do("and then?")).answer == "even more"
    said = [entry.text for entry in model_server.views[-1].entries if entry.role == "assistant"]
    assert said == ["the answer", "more"]


async def test_a_call_nobody_saw_end_has_an_unknown_outcome_and_is_not_made_again(
    sessions: Sessions, model_server: ModelServer, workspace: Path
) -> None:
    model_server.play(
        {
            "are the Director": [call("delegate_coding", task="work"), "done"],
            "are Coding": [Reply(calls=(Call("run_bash", {"command": "echo once >> log.txt"}),)), hand_over("made it")],
        }
    )
    async with sessions.open(mode="yolo") as opened:
        first = await opened.do("the task")
    for path in sessions.home.glob(".yagent/data/rollout/**/*.jsonl"):  # as a kill in the middle of the command leaves it
        lines = path.read_text().splitlines(keepends=True)
        kind = "coding" if "_coding" in path.name else "director"
        cut = next(n for n, line in enumerate(lines) if '"role":"tool"' in line and ("run_bash" in line or kind == "director"))
        path.write_text("".join(lines[:cut]))
    model_server.tolerate = ("prefix",)  # the kill that never was: the server has seen the conversation go on
    seen: list[str] = []

    async def looks(agent: Agent) -> Reply:
        seen.append(agent.view.entries[-1].results[0].text)
        return hand_over("looked")

    model_server.play({"are the Director": ["done again"], "are Coding": looks})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        result = await opened.go_on()
    assert result.answer == "done again"
    assert "outcome unknown" in seen[0]
    assert (workspace / "log.txt").read_text() == "once\n"


async def test_a_delegation_that_had_just_handed_over_when_its_parent_was_stopped_is_heard(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.play({"are the Director": [call("delegate_coding", task="work"), "done"], "are Coding": [hand_over("made it")]})
    async with sessions.open(mode="yolo") as opened:
        first = await opened.do("the task")
    (path,) = (each for each in sessions.home.glob(".yagent/data/rollout/**/*.jsonl") if "_coding" not in each.name)
    lines = path.read_text().splitlines(keepends=True)
    heard = next(number for number, line in enumerate(lines) if '"role":"tool"' in line)
    record = json.loads(lines[heard])
    (result,) = record["payload"]["message"]["parts"]
    delegation = ToolCall(result["call_id"], result["name"], "")
    result |= {"text": cancelled_output(delegation).text, "is_error": True}
    terminal = encode(record["ordinal"] + 1, record["timestamp"], EventMessage("turn_aborted", {"stop_reason": "cancelled"}))
    path.write_text("".join(lines[:heard]) + json.dumps(record) + "\n" + terminal.decode())  # as a stop in that moment leaves it
    model_server.tolerate = ("prefix",)
    count = len(model_server.views)
    model_server.play({"are the Director": ["all done"]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        assert (await opened.go_on()).answer == "all done"
    (view,) = model_server.views[count:]
    assert "made it" in view.entries[-1].results[0].text


PARALLEL = Reply(calls=(Call("delegate_repo", {"task": "part one"}), Call("delegate_repo", {"task": "part two"})))


async def test_delegations_side_by_side_go_on_each_by_itself_and_nested_ones_with_them(
    sessions: Sessions, model_server: ModelServer
) -> None:
    opened: list[Opened] = []
    arrived: list[str] = []

    async def repo(agent: Agent) -> Reply:
        if "part one" in agent.view.task:
            await agent.call("delegate_devops", task="look deeper")
            return hand_over("never said")
        await agent.call("read_file", path="notes.txt")
        arrived.append("two")
        return await _stopping(agent)

    async def devops(agent: Agent) -> Reply:
        await agent.call("run_bash", command="echo deeper >> log.txt")
        arrived.append("deep")
        return await _stopping(agent)

    async def _stopping(agent: Agent) -> Reply:
        number = 1
        while len(arrived) < 2:
            number += 1
            await agent.call("read_file", path="notes.txt", start_line=number)
        await opened[0].session.submit(StopTask())
        return Reply("never said")

    model_server.play({"are the Director": [PARALLEL], "are Repo": repo, "are DevOps": devops})
    async with sessions.open(mode="yolo") as one:
        opened.append(one)
        first = await one.do("the task")
    count = len(model_server.views)

    async def goes_on(agent: Agent) -> Reply:
        return hand_over("one, with what DevOps found" if "part one" in agent.view.task else "two")

    model_server.play({"are the Director": ["both done"], "are Repo": goes_on, "are DevOps": [hand_over("deeper")]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as again:
        under_way = await again.session.query(ListUnderWay())
        result = await again.go_on()
        assert await again.session.query(ListUnderWay()) == ()
    assert [(each.agent, each.task, each.reasons) for each in under_way] == [
        ("director", "the task", ()),
        ("repo", "part one", ()),
        ("devops", "look deeper", ()),
        ("repo", "part two", ()),
    ]
    assert result.answer == "both done"
    after = model_server.views[count:]
    assert sorted(view.identity.split(",")[0].split(" ")[2] for view in after) == ["DevOps", "Repo", "Repo", "the"]
    for view in after:
        assert_answered_once(view)
    texts = [each.text for entry in after[-1].entries for each in entry.results]
    assert "[repo#1 · ok" in texts[0]
    assert "with what DevOps found" in texts[0]
    assert "[repo#2 · ok" in texts[1]
    assert (sessions.workspace / "log.txt").read_text() == "deeper\n"


@pytest.mark.parametrize("role", ["coding", "repo", "chat", "devops"])
async def test_every_role_goes_on_with_the_request_it_was_stopped_in(sessions: Sessions, model_server: ModelServer, role: str) -> None:
    async def work(agent: Agent) -> Reply:
        await agent.call("thinking", thought="a thought") if role == "chat" else await agent.call("read_file", path="notes.txt")
        return Reply("lost words")

    who = {"coding": "are Coding", "repo": "are Repo", "chat": "are Chat", "devops": "are DevOps"}[role]
    first = await stopped(sessions, model_server, [call(f"delegate_{role}", task="work")], who, work)
    before, count = _of(model_server, who)[-1], len(model_server.views)
    model_server.play({"are the Director": ["all done"], who: [hand_over("did it")]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        assert (await opened.go_on()).answer == "all done"
    assert json.dumps(_blocks(_messages(before))) == json.dumps(_blocks(_messages(model_server.views[count])))


async def test_a_workspace_that_moved_is_told_and_goes_on_where_that_is_wanted(sessions: Sessions, model_server: ModelServer) -> None:
    first = await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", two_steps)
    commit(sessions.workspace, "commit", "-q", "--allow-empty", "-m", "moved")
    model_server.play({"are the Director": ["all done"], "are Coding": [hand_over("made it")]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        result = await opened.go_on()
    assert result.answer == "all done"
    assert any("another commit" in warning for warning in result.warnings)


async def test_what_is_switched_off_leaves_no_checkpoint_and_is_not_resumed(sessions: Sessions, model_server: ModelServer) -> None:
    sessions.configure("[resume]\nenable = false\n")
    model_server.play({"are the Director": ["the answer"]})
    async with sessions.open() as opened:
        first = await opened.do("the task")
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    assert not any(isinstance(entry.record, AgentCheckpoint) for entry in read(path))
    with pytest.raises(ResumeRefused, match="YAGENT_RESUME"):
        async with sessions.open(resume=Resume(first.session)):
            pass


async def test_a_session_is_open_in_one_process_at_a_time(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["the answer", "more"]})
    async with sessions.open() as opened:
        first = await opened.do("the task")
        with pytest.raises(SessionInUse, match="open in another process"):
            async with sessions.open(resume=Resume(first.session)):
                pass
        with pytest.raises(ResumeRefused, match="open in another process"):
            async with sessions.open(resume=Resume()):
                pass
    async with sessions.open(resume=Resume()) as again:
        assert (await again.do("and now?")).session == first.session


async def test_rights_that_changed_meanwhile_are_told_in_each_request_and_never_recorded(
    sessions: Sessions, model_server: ModelServer
) -> None:
    first = await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", two_steps)
    count = len(model_server.views)
    model_server.tolerate = ("prefix",)
    model_server.play({"are the Director": ["all done"], "are Coding": [hand_over("made it")]})
    async with sessions.open(resume=Resume(first.session)) as opened:
        await opened.go_on()
    for view in model_server.views[count:]:
        assert "the approvals have changed" in view.hint
    recorded = "".join(path.read_text() for path in sessions.home.glob(".yagent/data/rollout/**/*.jsonl"))
    assert "the approvals have changed" not in recorded
