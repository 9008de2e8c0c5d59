"""The loop against a strict model: how a run goes."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.lines import FORMATS, ROLES, checked, leave
from tests.support.model_server import Agent, Call, ModelServer, Reply, call
from tests.tools.scopes import PROMPTS
from yagent.agents.loop.hooks import LoopHooks
from yagent.protocol.events import AiResponse, LlmCallEnd, LlmCallStart, ThinklinkEntry, ToolCallResult, ToolCallStart
from yagent.protocol.messages import Usage
from yagent.protocol.stop import StopReason
from yagent.rollout.records import EventMessage, ResponseItem


@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_plain_answer_costs_one_model_call(make_stage: StageMaker, model_server: ModelServer, api_format: str) -> None:
    model_server.play({"Director": ["It is 42."]})
    stage = make_stage(api_format=api_format)
    result = await stage.run()
    assert (result.stop_reason, result.deliverable, result.steps) == (StopReason.PLAIN_TEXT, "It is 42.", 1)
    assert (result.status, result.exit_code, result.error) == ("ok", 0, None)
    assert len(model_server.views) == 1
    assert checked(stage) == ["user", "assistant"]
    ended = {"stop_reason": "plain_text", "status": "ok", "steps": 1, "error": ""}
    assert stage.recorders[""].terminals == [EventMessage("task_complete", ended)]


@pytest.mark.parametrize("api_format", FORMATS)
async def test_tools_run_and_their_results_come_back_in_call_order(
    make_stage: StageMaker, model_server: ModelServer, api_format: str
) -> None:
    async def director(agent: Agent) -> str:
        results = await agent.calls(*[Call("read_file", {"path": f"{name}.txt"}) for name in "cab"], text="Let me look.")
        return " ".join(result.text.strip().split()[-1] for result in results)

    model_server.play({"Director": director})
    stage = make_stage(api_format=api_format)
    result = await stage.run()
    assert (result.deliverable, result.steps) == ("c a b", 2)
    assert checked(stage) == ["user", "assistant", "tool", "assistant"]
    assert model_server.kept == 1.0
    assert [(start.name, end.ok) for start, end in zip(stage.published(ToolCallStart), stage.published(ToolCallResult), strict=True)] == [
        ("read_file", True)
    ] * 3
    assert [start.call_no for start in stage.published(LlmCallStart)] == [end.call_no for end in stage.published(LlmCallEnd)] == [1, 2]
    assert [response.text for response in stage.published(AiResponse)] == ["Let me look.", "c a b"]


async def test_agent_exit_beside_other_calls_waits_until_their_results_are_read(make_stage: StageMaker, model_server: ModelServer) -> None:
    end = Call("agent_exit", {"reason": "done", "handoff": {"conclusion": "All good.", "status": "ok"}})
    look = Call("read_file", {"path": "missing.py"})
    model_server.play({ROLES["coding"]: [Reply(calls=(look, end)), Reply(calls=(end,))]})
    result = await make_stage().run("coding")
    assert result.deliverable == "All good."
    refused = model_server.views[1].results[-1]
    assert "not executed" in refused.text
    assert "beside other calls" in refused.text


@pytest.mark.parametrize("role", ROLES)
async def test_agent_exit_ends_every_role_after_exactly_one_call(make_stage: StageMaker, model_server: ModelServer, role: str) -> None:
    model_server.play({ROLES[role]: [leave()]})
    stage = make_stage()
    result = await stage.run(role)
    assert (result.stop_reason, result.deliverable, result.status) == (StopReason.AGENT_EXIT, "All is well.", "ok")
    assert len(model_server.views) == 1
    assert checked(stage) == ["user", "assistant", "tool"]
    assert stage.recorders[""].terminals[0].data["conclusion"] == "All is well."


@pytest.mark.parametrize(
    ("text", "handoff", "deliverable"),
    [
        ("", {}, "All is well."),
        ("Short.", {}, "All is well."),
        ("The whole long answer, with everything in it.", {}, "The whole long answer, with everything in it."),
        ("<thought>goal: leave\nreason: all is done and told</thought>", {}, "All is well."),
        (
            "",
            {"facts": [{"claim": "It rounds", "where": "a.py:3"}], "open_questions": ["Why?"]},
            "All is well.\n\n- It rounds (a.py:3)\n\nOpen:\n- Why?",
        ),
        ("", {"conclusion": ""}, "done"),
    ],
)
async def test_what_an_exit_delivers(
    make_stage: StageMaker, model_server: ModelServer, text: str, handoff: dict[str, Any], deliverable: str
) -> None:
    older = Reply(text="An older, much longer message than all that follows it.", calls=call("list_dir", path=".").calls)
    model_server.play({ROLES["coding"]: [older, leave(text, **handoff)]})
    assert (await make_stage().run("coding")).deliverable == deliverable


async def test_an_exit_that_hands_over_nothing_is_no_success(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({ROLES["coding"]: [call("agent_exit", reason=" ", handoff={"conclusion": " ", "status": "ok"})]})
    result = await make_stage().run("coding")
    assert (result.status, result.exit_code) == ("error", 1)


@pytest.mark.parametrize("status_said", ["ok", "partial", "error"])
async def test_the_agents_own_verdict_is_kept(make_stage: StageMaker, model_server: ModelServer, status_said: str) -> None:
    model_server.play({ROLES["coding"]: [leave(status=status_said)]})
    result = await make_stage().run("coding")
    assert (result.status, result.exit_code) == (status_said, 1 if status_said == "error" else 0)


@pytest.mark.parametrize(("role", "nudges"), [("director", 0), ("coding", 2), ("repo", 1), ("chat", 0), ("devops", 0)])
async def test_a_plain_reply_is_nudged_as_often_as_the_role_says(
    make_stage: StageMaker, model_server: ModelServer, role: str, nudges: int
) -> None:
    heard: list[str] = []

    async def part(agent: Agent) -> str:
        heard.extend([await agent.say(f"words {number}") for number in range(nudges)])
        return "the last words"

    model_server.play({ROLES[role]: part})
    stage = make_stage()
    result = await stage.run(role)
    assert (result.stop_reason, result.deliverable, result.steps) == (StopReason.PLAIN_TEXT, "the last words", nudges + 1)
    text = PROMPTS.text("reminders/repo_no_action.md" if role == "repo" else "reminders/no_action.md")
    assert heard == [text] * nudges
    assert model_server.kept == 1.0
    checked(stage)


async def test_a_nudge_that_is_heeded_leads_on(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({ROLES["repo"]: ["I know it all.", leave()]})
    assert (await make_stage().run("repo")).stop_reason is StopReason.AGENT_EXIT


async def test_a_thought_alone_is_no_answer(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": ["<thought>\ngoal: g\nreason: r\n</thought>"]})
    result = await make_stage().run()
    assert result.stop_reason is StopReason.LLM_ERROR
    assert "holds no words for you" in str(result.error)


async def test_a_thought_is_told_and_kept_out_of_the_answer(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": ["<thought>\ngoal: g\nstep: s\nreason: r\nplan:\n- [x] a\n</thought>\nDone."]})
    stage = make_stage()
    assert (await stage.run()).deliverable == "Done."
    (entry,) = stage.published(ThinklinkEntry)
    assert (entry.agent, entry.goal, entry.step, entry.reason) == ("director", "g", "s", "r")
    assert [(item.state, item.text) for item in entry.plan] == [("done", "a")]


async def test_a_thought_that_is_missing_leaves_a_line_in_the_log(
    make_stage: StageMaker, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "yagent.agents")
    looks = call("list_dir", path=".")
    model_server.play({ROLES["coding"]: [looks, leave("No thought here.")], ROLES["repo"]: [leave("None wanted here.")]})
    await make_stage().run("coding")
    await make_stage().run("repo")
    assert [record.message for record in caplog.records if "thought" in record.message] == [
        f"coding step {number}: no readable thought block ({number} so far)" for number in (1, 2)
    ]


async def test_a_thought_that_is_not_complete_is_kept_and_leaves_a_line_in_the_log(
    make_stage: StageMaker, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "yagent.agents")
    two_current = "<thought>\ngoal: g\nplan:\n- [>] a\n- [>] b\n</thought>"
    whole = "<thought>\ngoal: g\nreason: r\n</thought>"
    model_server.play({ROLES["coding"]: [Reply(two_current, calls=call("list_dir", path=".").calls), leave(whole)]})
    stage = make_stage()
    await stage.run("coding")
    said = "coding step 1: its thought is not valid: reason is empty, more than one plan item is current"
    assert [record.message for record in caplog.records if "thought" in record.message] == [said]
    assert [entry.goal for entry in stage.published(ThinklinkEntry)] == ["g", "g"]


async def test_the_users_words_join_before_the_next_step(make_stage: StageMaker, model_server: ModelServer) -> None:
    waiting = ["look at b too"]

    async def repo(agent: Agent) -> Reply:
        await agent.call("read_file", path="a.txt")
        assert agent.view.user_text == "look at b too"
        return leave()

    def steering() -> list[str]:
        return [waiting.pop()] if waiting and len(model_server.views) == 1 else []

    model_server.play({ROLES["repo"]: repo})
    stage = make_stage()
    await stage.run("repo", hooks=LoopHooks(steering=steering))
    assert checked(stage) == ["user", "assistant", "tool", "user", "assistant", "tool"]


async def test_usage_is_kept_with_the_message_it_paid_for(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="x", usage=Usage(10, 2, 0))]})
    stage = make_stage()
    await stage.run()
    items = [record for record in stage.recorders[""].records if isinstance(record, ResponseItem)]
    assert [item.usage is None for item in items] == [True, False]
    assert items[1].usage is not None
    assert (items[1].usage.total_input, items[1].usage.output, items[1].usage.cached) == (10, 2, 0)
