"""The loop against a strict model: steps, circles, and the last word."""

from __future__ import annotations

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.lines import FORMATS, ROLES, checked, leave
from tests.agents.stage import LAST_STEP, Rules, Stage, limited
from tests.support.model_server import Agent, Call, ModelServer, Reply, call, status
from yagent.protocol.stop import StopReason


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
    assert "12 times and was ended. Last came read_file, with the result: " in str(result.error)
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


async def test_a_second_task_in_one_conversation_never_answers_with_the_first(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": ["The first answer.", Reply(text="never", chaos=(status(400, body=b"{}"),) * 5)]})
    stage = make_stage()
    assert (await stage.run()).deliverable == "The first answer."
    result = await stage.run(task="another")
    assert (result.stop_reason, result.deliverable, result.status) == (StopReason.LLM_ERROR, "", "error")
    assert [message.role for message in stage.recorders[""].messages] == ["user", "assistant", "user"]
