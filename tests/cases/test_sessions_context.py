"""Cases of conversations that outgrow their window, in whole sessions: what is asked of the model, and what is left of the session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.narrow import PROVIDER, SUMMARISER, THOUGHT, Narrow, bare, size, write_long
from tests.llm.wire import FORMATS, sse
from tests.support.fixtures import commit
from tests.support.model_server import Agent, Call, ModelServer, Reply, RequestView, call, hand_over
from tests.support.session import Sessions
from yagent.protocol.events import ContextEmergencyCompressed, ContextUltimateCompressed, LlmCallEnd
from yagent.protocol.ops import StopTask
from yagent.protocol.stop import StopReason
from yagent.session.request import Resume


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("room", [20, 100], ids=["no room", "little room"])
async def test_D06_a_window_that_prompt_and_tools_nearly_fill_ends_the_run_after_two_summaries_at_most(
    sessions: Sessions, model_server: ModelServer, api_format: str, room: int
) -> None:
    write_long(sessions)
    model_server.tolerate = ("prefix",)
    model_server.script = lambda view: Reply("so it is")
    sessions.configure(PROVIDER.format(url=sessions.url, api_format=api_format))
    async with sessions.open(environ=bare(sessions)) as opened:
        await opened.do("say something")
    head = size(model_server.views[-1])
    model_server.script = narrow = Narrow(head + 4 * room, "a summary that is too long " * 160, words="many words " * 200)
    environ = bare(sessions, YAGENT_COMPRESS_THRESHOLD=str(head + room))
    async with sessions.open(environ=environ) as opened:
        result = await opened.do("Read long.txt.")
    assert (result.stop_reason, result.exit_code) == (StopReason.CONTEXT_OVERFLOW, 3), result
    assert "window" in result.error
    assert "larger window" in result.error
    assert len(narrow.summaries) <= 2
    assert len(model_server.exchanges) < 20
    assert narrow.refused == []


@pytest.mark.parametrize("api_format", FORMATS)
async def test_D06_a_summary_that_is_too_long_is_cut_and_steps_are_made_between_compressions(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    write_long(sessions)
    model_server.tolerate = ("prefix",)
    model_server.script = narrow = Narrow(12_000, "a summary that is too long " * 2000, words="many words " * 300)
    async with sessions.open(environ=sessions.environment(api_format, YAGENT_COMPRESS_THRESHOLD="8000")) as opened:
        result = await opened.do("Read long.txt.")
    assert result.answer == "all done", result
    steps = [told.step for kind in (ContextEmergencyCompressed, ContextUltimateCompressed) for told in opened.told(kind)]
    assert len(steps) == len(set(steps))
    assert 2 <= len(narrow.summaries) <= len(steps) < narrow.steps
    assert narrow.refused == []


RULES = "Project rule: every module has a docstring of one line."
ORIGINAL = "Do A: make the totals right."
NEWEST = "Change the plan, do NOT write code yet, show the plan."


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("moment", ["after the words", "in a tool turn"])
async def test_D09_after_a_poor_summary_rules_task_plan_and_newest_words_stand_verbatim_the_newest_last(
    sessions: Sessions, model_server: ModelServer, api_format: str, moment: str
) -> None:
    write_long(sessions)
    (sessions.workspace / "AGENTS.md").write_text(f"# Rules\n\n{RULES}\n")
    commit(sessions.workspace, "add", "-A")
    commit(sessions.workspace, "commit", "-q", "-m", "rules")
    answered: list[str] = []

    def script(view: RequestView) -> Reply:
        if SUMMARISER in view.identity:
            return Reply("worked on stuff")
        if NEWEST not in str(view.body):
            much = 2000 if "It is about numbers." in str(view.body) else 500
            return Reply(THOUGHT.format(goal="totals that are right") + "many words " * much, piece=4096)
        if moment == "in a tool turn" and not answered:
            answered.append("read")
            return Reply("I look. " + "many words " * 3000, calls=(Call("read_file", {"path": "notes.txt"}),), piece=4096)
        return Reply("1. write the notes 2. tag it")

    model_server.tolerate = ("prefix",)
    model_server.script = script
    small = sessions.environment(api_format, YAGENT_COMPRESS_THRESHOLD="9000")
    async with sessions.open(environ=small if moment == "in a tool turn" else sessions.environment(api_format)) as opened:
        first = await opened.do(ORIGINAL)
        if moment == "in a tool turn":
            await opened.do(NEWEST)
        else:
            await opened.do("Tell me more. It is about numbers.")
    if moment == "after the words":
        async with sessions.open(environ=small, resume=Resume(first.session)) as opened:
            await opened.do(NEWEST)
    assert opened.told(ContextEmergencyCompressed)
    request = next(view for view in model_server.views if "worked on stuff" in str(view.body))
    assert request.system == model_server.views[0].system
    words = "\n".join(entry.text for entry in request.entries)
    order = [words.find(each) for each in (RULES, ORIGINAL, "worked on stuff", "write the notes", "tag it")]
    assert -1 not in order, (order, words)
    assert order == sorted(order)
    assert words.rstrip().endswith(NEWEST)


@pytest.mark.parametrize("api_format", FORMATS)
async def test_D09_running_commands_are_named_after_a_compression(sessions: Sessions, model_server: ModelServer, api_format: str) -> None:
    def script(view: RequestView) -> Reply:
        if SUMMARISER in view.identity:
            return Reply("worked on stuff")
        if "the Director" in view.identity:
            asked = any(entry.calls for entry in view.entries)
            return Reply("done") if asked else Reply(calls=(Call("delegate_devops", {"task": "serve it"}),))
        if "worked on stuff" in str(view.body):
            return Reply("it runs")
        started = any("is_background" in call.arguments for entry in view.entries for call in entry.calls)
        if not started:
            return Reply(calls=(Call("run_bash", {"command": "sleep 1000", "is_background": True}),))
        return Reply("many words " * 3000, calls=(Call("read_file", {"path": "notes.txt"}),), piece=4096)

    model_server.tolerate = ("prefix",)
    model_server.script = script
    async with sessions.open(mode="full-yolo", environ=sessions.environment(api_format, YAGENT_COMPRESS_THRESHOLD="9000")) as opened:
        await opened.do("Serve it.")
    request = next(view for view in model_server.views if "worked on stuff" in str(view.body))
    assert "sleep 1000" in "\n".join(entry.text for entry in request.entries).split("Still running:")[-1]


@pytest.mark.parametrize("api_format", FORMATS)
async def test_D09_a_delegation_that_was_stopped_keeps_the_rules_of_the_project(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    (sessions.workspace / "AGENTS.md").write_text(f"# Rules\n\n{RULES}\n")

    async def stops(agent: Agent) -> Reply:
        await agent.call("read_file", path="notes.txt")
        await opened.session.submit(StopTask())
        return Reply("never said")

    def script(view: RequestView) -> Reply:
        if SUMMARISER in view.identity:
            return Reply("worked on stuff")
        if "the Director" in view.identity:
            return Reply("done")
        if "worked on stuff" in str(view.body):
            return hand_over("made")
        return Reply("many words " * 3000, calls=(Call("read_file", {"path": "notes.txt"}),), piece=4096)

    model_server.play({"are the Director": [call("delegate_coding", task="make it"), "done"], "are Coding": stops})
    small = sessions.environment(api_format, YAGENT_COMPRESS_THRESHOLD="9000")
    async with sessions.open(environ=small) as opened:
        first = await opened.do("Make it.")
    model_server.tolerate, model_server.script = ("prefix",), script
    async with sessions.open(environ=small, resume=Resume(first.session)) as opened:
        assert (await opened.go_on()).answer == "done"
    request = next(view for view in model_server.views if "worked on stuff" in str(view.body) and "are Coding" in view.identity)
    words = "\n".join(entry.text for entry in request.entries)
    assert RULES in words
    assert "make it" in words


USAGES = {
    "openai": {
        "prompt_tokens": 900,
        "completion_tokens": 120,
        "total_tokens": 1020,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 30},
    },
    "responses": {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 600},
        "output_tokens": 120,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 1020,
    },
    "anthropic": {"input_tokens": 300, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 100, "output_tokens": 1},
}
PRICES = "price_input = 10.0\nprice_output = 100.0\nprice_cache_read = 1.0\nprice_cache_write = 12.0\n"
COSTS = {"openai": 300 * 10 + 600 * 1 + 120 * 100, "anthropic": 300 * 10 + 500 * 1 + 100 * 12 + 120 * 100}


def _stream(api_format: str, repeats: int) -> str:
    """A reply "yes" whose usage is told `repeats` times, each time in full."""
    usage = USAGES[api_format]
    events: list[tuple[str, dict[str, Any]]]
    if api_format == "openai":
        events = [("", {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "yes"}}]})]
        events += [("", {"choices": [], "usage": usage})] * (repeats - 1)
        events += [("", {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})]
    elif api_format == "responses":
        content = [{"type": "output_text", "text": "yes", "annotations": []}]
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
        events = [("response.created", {"response": {"id": "r", "usage": usage}})] * (repeats - 1)
        events += [("response.output_item.done", {"output_index": 0, "item": item})]
        events += [("response.completed", {"response": {"id": "r", "status": "completed", "output": [item], "usage": usage}})]
    else:
        events = [("message_start", {"message": {"id": "m", "role": "assistant", "content": [], "usage": usage}})]
        events += [("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})]
        events += [("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "yes"}})]
        events += [("content_block_stop", {"index": 0})]
        events += [("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 120}})] * repeats
        events += [("message_stop", {})]
    return sse(*({"type": kind, **data} if kind else data for kind, data in events), *(["[DONE]"] if api_format == "openai" else []))


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("repeats", [1, 3])
async def test_D14_size_and_cost_count_each_token_once_however_often_usage_is_told(
    sessions: Sessions, model_server: ModelServer, api_format: str, repeats: int
) -> None:
    model_server.script = lambda view: Reply(raw=_stream(api_format, repeats))
    sessions.configure(PROVIDER.format(url=sessions.url, api_format=api_format) + PRICES)
    async with sessions.open(environ=bare(sessions)) as opened:
        result = await opened.do("go")
    (told,) = opened.told(LlmCallEnd)
    assert result.answer == "yes"
    assert result.usage is not None
    cached, written = (500, 100) if api_format == "anthropic" else (600, result.usage.cache_written)
    usage = result.usage
    assert (usage.total_input, usage.output, usage.cached, usage.cache_written) == (900, 120, cached, written)
    assert not written or api_format == "anthropic"
    assert usage.reasoning == (None if api_format == "anthropic" else 30)
    assert result.cost == told.cost == pytest.approx(COSTS.get(api_format, COSTS["openai"]) / 1_000_000)
