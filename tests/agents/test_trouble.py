"""The loop against a strict model that refuses, breaks off, says nothing or cannot be reached."""

from __future__ import annotations

import asyncio

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.lines import FORMATS, ROLES, checked
from tests.agents.stage import ProbeRecorder, Rules
from tests.support.model_server import Chaos, ModelServer, Reply, call, status
from tests.support.virtual_time import VirtualTimeLoop
from yagent.agents.loop.turn import PAUSES
from yagent.protocol.events import LlmCallEnd, LlmCallStart, LlmRetry
from yagent.protocol.stop import StopReason


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
    assert str(result.error).endswith(" 1 attempt failed. Given up: 3 attempts failed in 3 rounds.")
    assert [retry.reason.endswith(" 1 attempt failed.") for retry in stage.published(LlmRetry)] == [True, True], "there it goes on"
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


class SlowRecorder(ProbeRecorder):
    """Keeps the whole program busy for half a minute."""

    async def barrier(self) -> None:
        await super().barrier()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.advance(30.0)


async def test_time_that_was_over_when_a_call_was_sent_is_no_trouble_of_the_provider(
    make_stage: StageMaker, model_server: ModelServer
) -> None:
    model_server.play({"Director": [Reply("late", chaos=[Chaos("hang_before_headers")])]})
    result = await make_stage(Rules(task_timeout=20.0, recorder=lambda identity, clock: SlowRecorder(clock))).run()
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 3)
    assert "answered" not in str(result.error)
