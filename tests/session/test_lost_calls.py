"""What replies cost that broke off on their way: they count for the limit, and what is not known is told as not known."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from tests.llm.wire import FORMATS
from tests.session.test_limits import DIME, priced
from tests.support.model_server import Agent, Call, Chaos, ModelServer, Reply, status
from tests.support.session import Sessions
from tests.support.virtual_time import VirtualClock
from yagent.protocol.events import AiChunk, LlmCallEnd
from yagent.protocol.ops import StopTask
from yagent.protocol.stop import StopReason
from yagent.runtime.supervise import Domain

Script: TypeAlias = Callable[[Agent], Coroutine[Any, Any, Reply]]
CUTS = [
    Chaos("reset_mid_stream", share=0.9),
    Chaos("close_mid_stream", share=0.9),
    Chaos("hang_mid_stream", share=0.9),
    Chaos("end_without_mark"),
    Chaos("error_in_stream", share=0.9),
]
REFUSALS = [
    status(429),
    status(500),
    status(503, body=b"<html><body>Service Unavailable</body></html>"),
    Chaos("reset_before_headers"),
    Chaos("error_in_stream", share=0.0, code=429),
    Chaos("html_page"),
]


def _looks_then(last: Reply) -> Script:
    async def director(agent: Agent) -> Reply:
        await agent.reply(Reply(text="I look." * 20, calls=(Call("read_file", {"path": "notes.txt"}),), usage=DIME))
        return last

    return director


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.kind)
@pytest.mark.parametrize("api_format", FORMATS)
async def test_replies_that_broke_off_count_for_the_limit(
    sessions: Sessions, model_server: ModelServer, api_format: str, cut: Chaos
) -> None:
    model_server.play({"are the Director": _looks_then(Reply(text="done " * 500, usage=DIME, chaos=(cut,) * 4))})
    async with sessions.open(environ=priced(sessions, api_format), max_cost=0.25) as opened:
        result = await opened.do("go")
    assert len(model_server.exchanges) == 3  # 30 cents at most: the limit is passed by the one in flight
    assert (result.stop_reason, result.exit_code) == (StopReason.COST_LIMIT, 3)
    assert result.cost is None
    (told,) = (warning for warning in result.warnings if "broke off" in warning)
    assert f"at least ${'0.30' if api_format == 'anthropic' else '0.10'}" in told


@pytest.mark.parametrize("api_format", FORMATS)
async def test_what_broke_off_and_was_had_again_leaves_the_cost_unknown(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    model_server.play({"are the Director": [Reply(text="done " * 50, usage=DIME, chaos=CUTS[:2])]})
    async with sessions.open(environ=priced(sessions, api_format)) as opened:
        result = await opened.do("go")
        ends = opened.told(LlmCallEnd)
    assert (result.exit_code, result.answer.split()[0], result.cost) == (0, "done", None)
    assert [end.cost for end in ends[:2]] == [None, None]
    assert [end.usage is not None for end in ends] == [api_format == "anthropic"] * 2 + [True]
    assert len([warning for warning in result.warnings if "broke off" in warning]) == 1


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: f"{refusal.kind}-{refusal.status}")
@pytest.mark.parametrize("api_format", FORMATS)
async def test_what_was_refused_before_an_answer_began_costs_nothing(
    sessions: Sessions, model_server: ModelServer, api_format: str, refusal: Chaos
) -> None:
    model_server.play({"are the Director": _looks_then(Reply(text="done", usage=DIME, chaos=(refusal,) * 2))})
    async with sessions.open(environ=priced(sessions, api_format), max_cost=0.35) as opened:
        result = await opened.do("go")
    assert (result.exit_code, result.answer) == (0, "done")
    assert not any("broke off" in warning for warning in result.warnings)
    assert result.cost == pytest.approx(0.2, abs=0.001)


@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_reply_the_user_stopped_leaves_the_cost_unknown(
    sessions: Sessions, model_server: ModelServer, api_format: str, clock: VirtualClock
) -> None:
    model_server.play({"are the Director": _looks_then(Reply(text="word " * 500, usage=DIME, pace=1.0))})
    async with sessions.open(environ=priced(sessions, api_format)) as opened, Domain("stopping") as domain:
        events = opened.session.events()

        async def stop() -> None:
            async for event in events:
                if isinstance(event.payload, AiChunk) and event.payload.text.startswith("word"):
                    await opened.session.submit(StopTask(hard=True))
                    return

        domain.go("stop", stop())
        result = await opened.do("go")
    assert (result.stop_reason, result.cost) == (StopReason.CANCELLED, None)
    assert any("at least $0." in warning for warning in result.warnings), result.warnings


async def test_with_nothing_known_a_lost_call_is_judged_by_the_size_of_its_request(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [Reply(text="done " * 50, usage=DIME, chaos=(CUTS[0],) * 9)]})
    async with sessions.open(environ=priced(sessions, "openai"), max_cost=0.02) as opened:
        result = await opened.do("go")
    assert len(model_server.exchanges) < 10
    assert (result.stop_reason, result.cost) == (StopReason.COST_LIMIT, None)
