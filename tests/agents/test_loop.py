"""The loop against a strict model: how a run goes, and how it ends."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.stage import LAST_STEP, Rules, Stage, assert_paired, limited
from tests.support.model_server import Agent, Call, Chaos, ModelServer, Reply, call, status
from tests.tools.scopes import PROMPTS
from yagent.agents.loop.hooks import LoopHooks
from yagent.agents.loop.turn import PAUSES
from yagent.protocol.events import AiResponse, LlmCallEnd, LlmCallStart, LlmRetry, ThinklinkEntry, ToolCallResult, ToolCallStart
from yagent.protocol.messages import Usage
from yagent.protocol.stop import StopReason
from yagent.rollout.records import EventMessage, ResponseItem

FORMATS = ("openai", "responses", "anthropic")
ROLES = {name: f"You are {name}," for name in ("coding", "repo", "chat", "devops")} | {"director": "You are the Director"}
HANDOFF = {"conclusion": "All is well.", "status": "ok"}


def leave(text: str = "", **changes: Any) -> Reply:
    return Reply(text=text, calls=(Call("agent_exit", {"reason": "done", "handoff": {**HANDOFF, **changes}}),))


def checked(stage: Stage) -> list[str]:
    """The record of the run's agent holds no unpaired call and one terminal record; gives the roles of its messages."""
    recorder = stage.recorders[""]
    assert_paired(recorder.messages)
    assert len(recorder.terminals) == 1
    assert recorder.records[-1] is recorder.terminals[0]
    assert recorder.durable == len(recorder.records)
    return [message.role for message in recorder.messages]


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


@pytest.mark.parametrize("api_format", FORMATS)
async def test_the_last_step_is_announced_inside_the_last_result_and_answered_in_words(
    make_stage: StageMaker, model_server: ModelServer, api_format: str
) -> None:
    async def repo(agent: Agent) -> str:
        await agent.call("read_file", path="a.txt")
        first, last = await agent.calls(Call("read_file", {"path": "b.txt"}), Call("read_file", {"path": "c.txt"}))
        assert LAST_STEP not in first.text
        assert last.text.endswith(f"[yagent] {LAST_STEP}")
        return "What I found."

    model_server.play({ROLES["repo"]: repo})
    stage = make_stage(Rules(limited("repo", max_steps=2)), api_format=api_format)
    result = await stage.run("repo")
    assert (result.stop_reason, result.deliverable, result.steps, result.status) == (StopReason.MAX_STEPS, "What I found.", 2, "partial")
    assert not result.is_finished
    assert checked(stage) == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert stage.recorders[""].terminals[0].name == "turn_aborted"
    assert model_server.kept == 1.0


async def test_an_exit_in_the_last_word_hands_over(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({ROLES["repo"]: [call("read_file", path="a.txt"), leave(status="partial")]})
    result = await make_stage(Rules(limited("repo", max_steps=1))).run("repo")
    assert (result.stop_reason, result.deliverable) == (StopReason.MAX_STEPS, "All is well.")
    assert result.handoff is not None
    assert not result.is_finished


async def test_an_exit_in_the_last_step_itself_needs_no_other_word(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({ROLES["repo"]: [leave()]})
    stage = make_stage(Rules(limited("repo", max_steps=1)))
    assert (await stage.run("repo")).stop_reason is StopReason.AGENT_EXIT
    assert "[yagent]" not in stage.recorders[""].messages[-1].results[0].text


@pytest.mark.parametrize("api_format", FORMATS)
async def test_who_calls_tools_instead_of_a_last_word_is_asked_again_without_them(
    make_stage: StageMaker, model_server: ModelServer, api_format: str
) -> None:
    async def coding(agent: Agent) -> str:
        await agent.call("read_file", path="a.txt")
        refused = await agent.calls(Call("create_file", {"path": "new.txt", "content": "x"}), leave().calls[0])
        assert all("Not run" in result.text for result in refused)
        choice = agent.view.body.get("tool_choice")
        assert choice in ("none", {"type": "none"})
        return "Words at last."

    model_server.play({ROLES["coding"]: coding})
    stage = make_stage(Rules(limited("coding", max_steps=1)), api_format=api_format)
    result = await stage.run("coding")
    assert (result.stop_reason, result.deliverable) == (StopReason.MAX_STEPS, "Words at last.")
    assert not (stage.workspace / "new.txt").exists()
    checked(stage)


async def test_who_never_finds_a_last_word_is_ended_with_the_words_it_had(make_stage: StageMaker, model_server: ModelServer) -> None:
    again = call("read_file", path="b.txt")
    model_server.play({ROLES["repo"]: [Reply(text="I look at a.", calls=call("read_file", path="a.txt").calls), again, again]})
    stage = make_stage(Rules(limited("repo", max_steps=1)))
    result = await stage.run("repo")
    assert (result.stop_reason, result.deliverable, result.status) == (StopReason.MAX_STEPS, "I look at a.", "partial")
    checked(stage)


async def test_a_model_that_fails_in_the_last_word_does_not_hide_the_step_limit(make_stage: StageMaker, model_server: ModelServer) -> None:
    broken = Reply(text="never", chaos=(status(500),) * 9)
    model_server.play({ROLES["repo"]: [Reply(text="I look at a.", calls=call("read_file", path="a.txt").calls), broken]})
    stage = make_stage(Rules(limited("repo", max_steps=1)))
    result = await stage.run("repo")
    assert (result.stop_reason, result.deliverable) == (StopReason.MAX_STEPS, "I look at a.")
    assert any("last reply" in note for note in result.notes)
    checked(stage)


async def test_the_same_call_with_the_same_result_is_named_three_times_and_ended_at_twelve(
    make_stage: StageMaker, model_server: ModelServer
) -> None:
    notes: dict[int, str] = {}

    async def coding(agent: Agent) -> str:
        for number in range(1, 13):
            text = await agent.call("read_file", path="a.txt")
            if "[yagent]" in text:
                notes[number] = text.split("[yagent] ")[1]
        return "unreached"

    model_server.play({ROLES["coding"]: coding})
    stage = make_stage()
    result = await stage.run("coding")
    assert (result.stop_reason, result.steps, result.exit_code) == (StopReason.LOOP_DETECTED, 12, 3)
    assert {number: text.split(":")[0] for number, text in notes.items()} == {3: "Note", 5: "Warning", 8: "Strong warning"}
    assert "same call 12 times" in str(result.error)
    checked(stage)


async def test_two_calls_in_turn_are_a_circle_too(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> str:
        for number in range(30):
            await agent.call("read_file", path="ab"[number % 2] + ".txt")
        return "unreached"

    model_server.play({ROLES["coding"]: coding})
    result = await make_stage().run("coding")
    assert (result.stop_reason, result.steps) == (StopReason.LOOP_DETECTED, 23)


async def test_a_poll_whose_result_changes_is_no_circle(make_stage: StageMaker, model_server: ModelServer) -> None:
    stage: Stage = make_stage()

    async def coding(agent: Agent) -> str:
        for number in range(20):
            (stage.workspace / "a.txt").write_text(f"{number} of 20\n")
            assert "[yagent]" not in await agent.call("read_file", path="a.txt")
        return "done"

    model_server.play({ROLES["coding"]: coding})
    stage.rules.roles = limited("coding", nudges=0)
    assert (await stage.run("coding")).deliverable == "done"


@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_refusal_ends_the_run_and_is_called_one(make_stage: StageMaker, model_server: ModelServer, api_format: str) -> None:
    finish = "refusal" if api_format == "anthropic" else "content_filter"
    model_server.play({ROLES["coding"]: [Reply(text="I cannot help with that.", finish=finish)]})
    stage = make_stage(api_format=api_format)
    result = await stage.run("coding")
    assert (result.stop_reason, result.status, result.exit_code) == (StopReason.LLM_ERROR, "error", 1)
    assert "declined to answer" in str(result.error)
    assert "I cannot help with that." in str(result.error)
    assert len(model_server.views) == 1
    checked(stage)


async def test_a_refusal_without_a_word_is_not_asked_again(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({ROLES["coding"]: [Reply(finish="content_filter")]})
    result = await make_stage().run("coding")
    assert "declined to answer (content_filter): it gave no reason" in str(result.error)
    assert len(model_server.views) == 1


async def test_an_answer_cut_at_the_output_limit_is_called_cut(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({ROLES["coding"]: [Reply(text="The first half of", finish="length")]})
    result = await make_stage().run("coding")
    assert (result.stop_reason, result.deliverable, result.status) == (StopReason.PLAIN_TEXT, "The first half of", "partial")
    assert result.notes == ("The answer was cut at the output limit; it may be incomplete.",)


async def test_an_output_limit_used_up_before_the_first_word_is_not_asked_again(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({ROLES["coding"]: [Reply(reasoning="so much to think", finish="length")]})
    result = await make_stage().run("coding")
    assert (result.stop_reason, result.status) == (StopReason.LLM_ERROR, "error")
    assert "output limit before it said anything" in str(result.error)
    assert len(model_server.views) == 1


async def test_the_pieces_of_a_paused_turn_are_one_answer(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.tolerate = ("prefix",)  # the provider itself has both pieces sent back as one message
    model_server.play({ROLES["chat"]: [Reply(text="First ", finish="pause"), Reply(text="and last.", finish="stop")]})
    stage = make_stage(api_format="anthropic")
    result = await stage.run("chat")
    assert (result.stop_reason, result.deliverable, result.steps) == (StopReason.PLAIN_TEXT, "First and last.", 1)
    assert len(model_server.views) == 2
    assert checked(stage) == ["user", "assistant", "assistant"]


async def test_a_provider_that_pauses_for_ever_is_given_up(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.tolerate = ("prefix",)
    model_server.play({ROLES["repo"]: [Reply(text=f"part {number}", finish="pause") for number in range(PAUSES + 1)]})
    result = await make_stage(api_format="anthropic").run("repo")
    assert (result.stop_reason, len(model_server.views)) == (StopReason.LLM_ERROR, PAUSES)
    assert f"paused its turn {PAUSES} times" in str(result.error)


@pytest.mark.parametrize("empty", [Reply(), Reply(text=" \n"), Reply(reasoning="hm")], ids=["nothing", "blank", "only reasoning"])
async def test_an_empty_reply_is_asked_for_again(make_stage: StageMaker, model_server: ModelServer, empty: Reply) -> None:
    model_server.play({"Director": [call("list_dir", path="."), empty, empty, "Here I am."]})
    stage = make_stage()
    result = await stage.run()
    assert (result.deliverable, result.steps) == ("Here I am.", 2)
    assert checked(stage) == ["user", "assistant", "tool", "assistant"]
    assert [retry.delay_seconds for retry in stage.published(LlmRetry)] == [2.0, 4.0]


async def test_a_model_that_only_returns_nothing_is_an_honest_error(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply()] * 5})
    result = await make_stage().run()
    assert (result.stop_reason, result.status, len(model_server.views)) == (StopReason.LLM_ERROR, "error", 3)
    assert "returned nothing" in str(result.error)


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
    model_server.play({ROLES["coding"]: [leave("No thought here.")], ROLES["repo"]: [leave("None wanted here.")]})
    await make_stage().run("coding")
    await make_stage().run("repo")
    assert [record.message for record in caplog.records if "thought" in record.message] == ["coding step 1: no readable thought block"]


async def test_trouble_that_passes_is_waited_out_with_growing_pauses(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="Good.", chaos=(status(500), Chaos("reset_mid_stream")))]})
    stage = make_stage()
    assert (await stage.run()).deliverable == "Good."
    assert [(retry.delay_seconds, retry.attempt) for retry in stage.published(LlmRetry)] == [(2.0, 2), (4.0, 3)]
    ends = stage.published(LlmCallEnd)
    assert len(ends) == len(stage.published(LlmCallStart)) == 3
    assert [end.error is None for end in ends] == [False, False, True]


async def test_trouble_that_stays_ends_the_run_with_the_code_for_trying_later(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="never", chaos=(status(503),) * 9)]})
    stage = make_stage()
    result = await stage.run()
    assert (result.stop_reason, result.exit_code) == (StopReason.LLM_ERROR, 75)
    assert len(model_server.exchanges) == 3
    checked(stage)


async def test_a_server_that_asks_for_a_long_wait_is_not_pestered(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="never", chaos=(status(429, retry_after="3600"),) * 9)]})
    result = await make_stage().run()
    assert (result.exit_code, len(model_server.exchanges)) == (75, 1)


async def test_a_short_wait_the_server_asks_for_is_kept(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="Good.", chaos=(status(429, retry_after="20"),))]})
    stage = make_stage()
    started = stage.clock.now()
    assert (await stage.run()).deliverable == "Good."
    assert stage.clock.now() - started >= 20


async def test_a_wrong_key_is_not_tried_again(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.key = "another"
    model_server.play({"Director": ["never"]})
    result = await make_stage().run()
    assert (result.stop_reason, result.exit_code, len(model_server.exchanges)) == (StopReason.LLM_ERROR, 2, 1)


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


async def test_a_second_task_in_one_conversation_never_answers_with_the_first(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": ["The first answer.", Reply(text="never", chaos=(status(400, body=b"{}"),) * 5)]})
    stage = make_stage()
    assert (await stage.run()).deliverable == "The first answer."
    result = await stage.run(task="another")
    assert (result.stop_reason, result.deliverable, result.status) == (StopReason.LLM_ERROR, "", "error")
    assert [message.role for message in stage.recorders[""].messages] == ["user", "assistant", "user"]
