"""Engines without a model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.conftest import events_of
from tests.support.virtual_time import VirtualClock
from yagent.llm.divergence import Divergence
from yagent.llm.engine import Completed, Dialogue, Engine, Head, ModelError, ReasoningDelta, Sent, TextDelta
from yagent.llm.playback import Playback
from yagent.llm.recorded import (
    RecordedConversation,
    RecordedEngine,
    RecordedSession,
    RecordedTurn,
    ReplayDiverged,
    ReplaySettings,
    prompt_fingerprint,
)
from yagent.llm.recorded_consult import RecordedConsultant
from yagent.llm.scripted import ScriptedEngine, ScriptedReply, ScriptedRequest, UnknownAgent
from yagent.protocol.messages import (
    Message,
    ModelIdentity,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    result_message,
    user_message,
)

DIRECTOR, CODING = "You are the Director.", "You are Coding."
IDENTITY = ModelIdentity("recorded", "m", "openai")


def turn(text: str, *results: ToolResult, **more: Any) -> RecordedTurn:
    """A recorded reply that made a call for each result."""
    calls = tuple(ToolCall(result.call_id, result.name, "{}") for result in results)
    message = Message("assistant", (Reasoning("I think"), Text(text), *calls), IDENTITY.fingerprint)
    return RecordedTurn(message, "tool_calls" if calls else "stop", Usage(10, 2), results, **more)


def conversation(identity: str, agent: str, task: str, *turns: RecordedTurn, **more: Any) -> RecordedConversation:
    """What one agent said."""
    return RecordedConversation(identity, agent, task, turns, **more)


def result(call_id: str, text: str, *, is_error: bool = False) -> ToolResult:
    """A result of one tool."""
    return ToolResult(call_id, "run_bash", text, is_error)


def head(agent: str, conversation: str) -> Head:
    """A head of an agent; only its first line is who it is."""
    return Head(conversation, f"{agent}\nOther words than recorded.")


async def last(engine: Engine, conversation: str, agent: str, task: str) -> str:
    """The text of the first reply to a task."""
    dialogue = engine.open(head(agent, conversation))
    dialogue.append(user_message(task))
    done = (await events_of(dialogue))[-1]
    assert isinstance(done, Completed)
    return done.message.text


def recorded(
    *conversations: RecordedConversation, clock: VirtualClock, settings: ReplaySettings | None = None, live: Engine | None = None
) -> tuple[RecordedEngine, list[Divergence]]:
    """An engine and what it reports."""
    found: list[Divergence] = []
    session = RecordedSession(conversations, found.append, settings)
    return RecordedEngine(session, Playback(clock), identity=IDENTITY, live=live), found


async def step(dialogue: Dialogue, *results: ToolResult) -> str:
    """One reply, appended with the results of its calls; its text."""
    done = (await events_of(dialogue))[-1]
    assert isinstance(done, Completed)
    dialogue.append(done.message)
    if results:
        dialogue.append(result_message(*results))
    return done.message.text


async def test_a_recording_is_told_word_by_word_and_whole(clock: VirtualClock) -> None:
    said = turn("two words")
    engine, found = recorded(conversation("", DIRECTOR, "do it", said), clock=clock)
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("Today is Monday.\n\ndo  it"))
    events = await events_of(dialogue)
    assert isinstance(events[0], Sent)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["two", " words"]
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "I think"
    assert events[-1] == Completed(said.message, "stop", Usage(10, 2), "m")
    engine.session.report_unplayed()
    assert found == []


async def test_agents_are_matched_by_who_they_are_and_what_they_do_in_any_order(clock: VirtualClock) -> None:
    engine, found = recorded(
        conversation("", DIRECTOR, "task", turn("director")),
        conversation("d1", CODING, "fix a", turn("first a")),
        conversation("d2", CODING, "fix b", turn("b")),
        conversation("d3", CODING, "fix a", turn("second a")),
        clock=clock,
    )
    assert await last(engine, "3", CODING, "fix b") == "b"
    assert await last(engine, "1", CODING, "please fix a") == "first a"
    assert await last(engine, "2", CODING, "please fix a") == "second a"
    assert await last(engine, "0", DIRECTOR, "task") == "director"
    with pytest.raises(UnknownAgent, match="You are Coding"):
        await last(engine, "4", CODING, "fix a")
    assert [each.what for each in found] == ["unknown"]


async def test_of_two_with_one_task_each_gets_its_own_and_a_longer_task_is_not_taken_for_a_shorter(clock: VirtualClock) -> None:
    engine, _ = recorded(
        conversation("d1", CODING, "fix", turn("first")),
        conversation("d2", CODING, "fix", turn("second")),
        conversation("d3", CODING, "fix all", turn("all")),
        clock=clock,
    )
    assert await last(engine, "s-d2", CODING, "fix") == "second"
    assert await last(engine, "s-x", CODING, "fix all") == "all"
    assert await last(engine, "s-d1", CODING, "fix") == "first"


async def test_an_id_that_comes_again_in_a_later_run_begins_the_next_conversation(clock: VirtualClock) -> None:
    engine, _ = recorded(conversation("d1", CODING, "fix a", turn("a")), conversation("d1", CODING, "fix b", turn("b")), clock=clock)
    assert await last(engine, "s-d1", CODING, "fix a") == "a"
    assert await last(engine, "s-d1", CODING, "fix b") == "b"


async def test_a_restored_conversation_goes_on_behind_what_was_said(clock: VirtualClock) -> None:
    engine, _ = recorded(conversation("", DIRECTOR, "t", turn("one", result("c1", "ok")), turn("two")), clock=clock)
    dialogue = engine.open(head(DIRECTOR, "c"))
    for message in (user_message("t"), turn("one", result("c1", "ok")).message, result_message(result("c1", "ok"))):
        dialogue.append(message)
    assert await step(dialogue) == "two"


def is_open(result: ToolResult) -> bool:
    """As results of calls read that were cut short."""
    return result.text in ("unknown", "cancelled")


async def test_a_conversation_that_was_cut_short_inside_calls_makes_these_again_before_it_goes_on(clock: VirtualClock) -> None:
    first = turn("one", result("c1", "ok"), result("c2", "ok"), result("c3", "ok"))
    settings = ReplaySettings(strict=True, is_open=is_open)
    engine, found = recorded(conversation("", DIRECTOR, "t", first, turn("two")), clock=clock, settings=settings)
    dialogue = engine.open(head(DIRECTOR, "c"))
    restored = [user_message("t"), first.message, result_message(result("c1", "ok"), result("c2", "unknown"), result("c3", "cancelled"))]
    for message in restored:
        dialogue.append(message)
    said = (await events_of(dialogue))[-1]
    assert isinstance(said, Completed)
    assert (said.message.text, [call.id for call in said.message.calls]) == ("one", ["c2-again", "c3-again"])
    dialogue.append(said.message)
    dialogue.append(result_message(result("c2-again", "it is there already", is_error=True), result("c3-again", "ok")))
    assert await step(dialogue) == "two"
    assert found == [], "what was made again is compared with nothing"


async def test_calls_that_are_cut_short_again_and_again_are_made_until_they_end(clock: VirtualClock) -> None:
    first = turn("one", result("c1", "ok"), result("c2", "ok"))
    messages = [user_message("t"), first.message, result_message(result("c1", "unknown"), result("c2", "unknown"))]
    for ids in (["c1-again", "c2-again"], ["c2-again-again"]):
        engine, _ = recorded(conversation("", DIRECTOR, "t", first, turn("two")), clock=clock, settings=ReplaySettings(is_open=is_open))
        dialogue = engine.open(head(DIRECTOR, "c"))
        for message in messages:
            dialogue.append(message)
        said = (await events_of(dialogue))[-1]
        assert isinstance(said, Completed)
        assert [call.id for call in said.message.calls] == ids
        messages += [said.message, result_message(*(result(name, "ok" if name == "c1-again" else "cancelled") for name in ids))]
    assert isinstance(said, Completed)
    dialogue.append(said.message)
    dialogue.append(result_message(result("c2-again-again", "ok")))
    assert await step(dialogue) == "two"


async def test_what_is_cut_short_while_a_conversation_goes_on_is_not_made_again(clock: VirtualClock) -> None:
    settings = ReplaySettings(is_open=is_open)
    engine, _ = recorded(conversation("", DIRECTOR, "t", turn("one", result("c1", "ok")), turn("two")), clock=clock, settings=settings)
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    await step(dialogue, result("c1", "cancelled"))
    assert await step(dialogue) == "two"


async def test_results_are_compared_and_differences_reported(clock: VirtualClock) -> None:
    first = turn("go", result("c1", "took 1.25 s in /tmp/abc/x"), result("c2", "1 passed"), step=1)
    engine, found = recorded(conversation("", DIRECTOR, "t", first, turn("end"), name="Director"), clock=clock)
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    await step(dialogue, result("c1", "took 12 ms in /tmp/other/y"), result("c2", "2 failed"))
    expected = [("Director", 1, "c2", "text", "1 passed", "2 failed")]
    assert [(item.agent, item.step, item.call_id, item.what, item.recorded, item.now) for item in found] == expected
    assert await step(dialogue) == "end"
    with pytest.raises(ReplayDiverged, match="is over"):
        await events_of(dialogue)
    assert [each.what for each in found] == ["text", "over"]


async def test_a_strict_replay_stops_at_the_first_difference(clock: VirtualClock) -> None:
    turns = (turn("go", result("c1", "ok")), turn("end"))
    engine, _ = recorded(conversation("", DIRECTOR, "t", *turns), clock=clock, settings=ReplaySettings(strict=True))
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    await step(dialogue, result("c1", "no", is_error=True))
    with pytest.raises(ReplayDiverged, match=r"run_bash \(c1\).*error: no"):
        await events_of(dialogue)


async def test_what_the_agent_is_told_in_between_is_compared(clock: VirtualClock) -> None:
    engine, found = recorded(
        conversation("", DIRECTOR, "t", turn("one", told=("hurry",)), turn("two", told=()), turn("three")), clock=clock
    )
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    await step(dialogue)
    await step(dialogue)
    dialogue.append(user_message("slowly"))
    await step(dialogue)
    assert [(each.what, each.recorded, each.now) for each in found] == [("told", "hurry", ""), ("told", "", "slowly")]


async def test_a_record_that_was_cut_ends_each_run_in_words_of_its_own(clock: VirtualClock) -> None:
    stopped = turn("one", result("c1", "x"), closing="[stopped]")
    engine, found = recorded(conversation("", DIRECTOR, "t", stopped, turn("two", run=1)), clock=clock)
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    await step(dialogue, result("c1", "x"))
    assert await step(dialogue) == "[stopped]"
    engine.session.run = 1
    dialogue.append(user_message("and now?"))
    assert await step(dialogue) == "two"
    assert found == []


async def test_a_live_model_goes_on_after_everything_that_was_said_and_is_compared_while_it_does_the_same(clock: VirtualClock) -> None:
    seen: list[ScriptedRequest] = []

    def script(request: ScriptedRequest) -> ScriptedReply:
        seen.append(request)
        return ScriptedReply(text="other words", calls=(ToolCall(f"live{len(seen)}", "run_bash", '{"a": 1}' if len(seen) == 3 else "{ }"),))

    turns = [turn(f"said {number}", result(f"c{number}", "ok"), step=number) for number in (1, 2, 3, 4)]
    live = ScriptedEngine(script, Playback(clock))
    engine, found = recorded(conversation("", DIRECTOR, "t", *turns, live_from=1), clock=clock, live=live)
    assert engine.identity == live.identity
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    assert await step(dialogue, result("c1", "ok")) == "said 1"
    assert await step(dialogue, result("live1", "ok")) == "other words"
    assert [message.text for message in seen[0].messages] == ["t", "said 1", ""]
    await step(dialogue, result("live2", "not ok"))
    await step(dialogue, result("live3", "ok"))
    assert [(each.step, each.what, each.call_id) for each in found] == [(3, "text", "live2"), (4, "calls", "")]
    assert "run_bash {}" in found[1].recorded


async def test_what_was_never_asked_for_is_reported(clock: VirtualClock) -> None:
    engine, found = recorded(
        conversation("", DIRECTOR, "t", turn("one"), turn("two", step=2), name="Director"),
        conversation("d", CODING, "x", turn("y")),
        clock=clock,
    )
    await last(engine, "c", DIRECTOR, "t")
    engine.session.report_unplayed()
    assert [(each.agent, each.what, each.step) for each in found] == [("Director", "unplayed", 2)]


async def test_another_system_prompt_is_a_remark_and_no_divergence(clock: VirtualClock) -> None:
    known = prompt_fingerprint(head(DIRECTOR, "").system)
    engine, found = recorded(
        conversation("", DIRECTOR, "t", turn("one"), name="Director", prompt=known),
        conversation("d", CODING, "t", turn("one"), name="Coding", prompt="0" * 16),
        clock=clock,
    )
    await last(engine, "c", DIRECTOR, "t")
    await last(engine, "d", CODING, "t")
    assert (list(engine.session.remarks), found) == (["Coding has another system prompt now than in the record."], [])


async def test_the_questions_of_tools_are_answered_from_their_recorded_results(clock: VirtualClock) -> None:
    call = ToolCall("c1", "thinking", '{"arguments": "{\\"thought\\": \\"is it so?\\"}"}')
    asked = RecordedTurn(Message("assistant", (call,)), "tool_calls", None, (ToolResult("c1", "thinking", "it is so"),))
    said = conversation("", DIRECTOR, "t", asked)
    engine, _ = recorded(said, clock=clock)
    consultant = RecordedConsultant("thinking", [said], engine)
    assert await last(consultant, "thinking-1", "Think.", "is it so?") == "it is so"
    with pytest.raises(UnknownAgent, match="no answer"):
        await last(consultant, "thinking-2", "Think.", "why?")
    live = ScriptedEngine(lambda request: ScriptedReply(text="because"), Playback(clock))
    goes_on, _ = recorded(said, clock=clock, live=live)
    assert await last(RecordedConsultant("thinking", [said], goes_on), "thinking-2", "Think.", "why?") == "because"


@given(st.text(), st.text())
def test_words_put_together_are_the_text(text: str, thought: str) -> None:
    async def told() -> list[str]:
        completed = Completed(Message("assistant", (Reasoning(thought), Text(text))), "stop", None)
        events = [event async for event in Playback(VirtualClock()).tell(completed)]
        parts = (TextDelta, ReasoningDelta)
        return ["".join(event.text for event in events if isinstance(event, kind)) for kind in parts]

    assert asyncio.run(told()) == [text, thought]


async def test_words_come_at_the_pace_asked_for(clock: VirtualClock) -> None:
    engine = ScriptedEngine(lambda request: ScriptedReply(text="one two three"), Playback(clock, pace=0.5))
    started = clock.now()
    await last(engine, "c", "anybody", "t")
    assert clock.now() - started == pytest.approx(1.5)


async def test_a_script_sees_who_asks_what_for_and_the_results(clock: VirtualClock) -> None:
    async def script(request: ScriptedRequest) -> ScriptedReply | None:
        if request.agent != DIRECTOR:
            return None
        if not request.results:
            return ScriptedReply(calls=(ToolCall("c1", "run_bash", "{}"),), reasoning="hm")
        return ScriptedReply(text=f"{request.task}: {request.results[0].text}")

    engine = ScriptedEngine(script, Playback(clock))
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("task"))
    first = (await events_of(dialogue))[-1]
    assert isinstance(first, Completed)
    assert (first.finish, first.message.origin, first.usage) == ("tool_calls", engine.identity.fingerprint, None)
    dialogue.append(first.message)
    dialogue.append(result_message(result("c1", "42")))
    second = (await events_of(dialogue))[-1]
    assert isinstance(second, Completed)
    assert second.message.text == "task: 42"
    with pytest.raises(UnknownAgent, match="You are Coding"):
        await last(engine, "d", CODING, "task")


async def test_a_cancelled_call_takes_no_turn(clock: VirtualClock) -> None:
    asked: list[str] = []

    def script(request: ScriptedRequest) -> ScriptedReply:
        asked.append(request.task)
        return ScriptedReply(text="x")

    call = asyncio.ensure_future(last(ScriptedEngine(script, Playback(clock)), "c", DIRECTOR, "t"))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert asked == []


def test_errors_of_played_engines_are_errors_of_the_port() -> None:
    assert issubclass(UnknownAgent, ModelError)
    assert issubclass(ReplayDiverged, ModelError)
