"""Engines without a model."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.conftest import events_of
from tests.support.virtual_time import VirtualClock
from yagent.llm.engine import Completed, Engine, Head, ModelError, ReasoningDelta, Sent, TextDelta
from yagent.llm.playback import Playback
from yagent.llm.recorded import Divergence, RecordedEngine, RecordedTurn, ReplayDiverged, ReplaySettings, compare_results, normalise
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


def turn(conversation: str, agent: str, task: str, text: str, *results: ToolResult) -> RecordedTurn:
    """A recorded reply that made a call for each result."""
    calls = tuple(ToolCall(result.call_id, result.name, "{}") for result in results)
    message = Message("assistant", (Reasoning("I think"), Text(text), *calls), IDENTITY.fingerprint)
    return RecordedTurn(conversation, agent, task, message, "tool_calls" if calls else "stop", Usage(10, 2), results)


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


def recorded(*turns: RecordedTurn, clock: VirtualClock, settings: ReplaySettings | None = None) -> tuple[RecordedEngine, list[Divergence]]:
    """An engine and what it reports."""
    found: list[Divergence] = []
    return RecordedEngine(turns, Playback(clock), identity=IDENTITY, report=found.append, settings=settings), found


async def test_a_recording_is_told_word_by_word_and_whole(clock: VirtualClock) -> None:
    engine, _ = recorded(turn("", DIRECTOR, "do it", "two words"), clock=clock)
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("Today is Monday.\n\ndo  it"))
    events = await events_of(dialogue)
    assert isinstance(events[0], Sent)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["two", " words"]
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "I think"
    assert events[-1] == Completed(turn("", DIRECTOR, "do it", "two words").message, "stop", Usage(10, 2), "m")
    assert engine.unplayed == 0


async def test_agents_are_matched_by_who_they_are_and_what_they_do_in_any_order(clock: VirtualClock) -> None:
    engine, _ = recorded(
        turn("", DIRECTOR, "task", "director"),
        turn("d1", CODING, "fix a", "first a"),
        turn("d2", CODING, "fix b", "b"),
        turn("d3", CODING, "fix a", "second a"),
        clock=clock,
    )
    assert await last(engine, "3", CODING, "fix b") == "b"
    assert await last(engine, "1", CODING, "please fix a") == "first a"
    assert await last(engine, "2", CODING, "please fix a") == "second a"
    assert await last(engine, "0", DIRECTOR, "task") == "director"
    with pytest.raises(UnknownAgent, match="You are Coding"):
        await last(engine, "4", CODING, "fix a")


async def test_results_are_compared_and_differences_reported(clock: VirtualClock) -> None:
    engine, found = recorded(
        turn("", DIRECTOR, "t", "go", result("c1", "took 1.25 s in /tmp/abc/x"), result("c2", "1 passed")),
        turn("", DIRECTOR, "t", "end"),
        clock=clock,
    )
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    done = (await events_of(dialogue))[-1]
    assert isinstance(done, Completed)
    dialogue.append(done.message)
    dialogue.append(result_message(result("c1", "took 12 ms in /tmp/other/y"), result("c2", "2 failed")))
    assert [(item.call_id, item.what, item.recorded, item.now) for item in found] == [("c2", "text", "1 passed", "2 failed")]
    assert isinstance((await events_of(dialogue))[-1], Completed)
    with pytest.raises(ReplayDiverged, match="is over"):
        await events_of(dialogue)


async def test_a_strict_replay_stops_at_the_first_difference(clock: VirtualClock) -> None:
    turns = [turn("", DIRECTOR, "t", "go", result("c1", "ok")), turn("", DIRECTOR, "t", "end")]
    engine, _ = recorded(*turns, clock=clock, settings=ReplaySettings(strict=True))
    dialogue = engine.open(head(DIRECTOR, "c"))
    dialogue.append(user_message("t"))
    await events_of(dialogue)
    dialogue.append(result_message(result("c1", "no", is_error=True)))
    with pytest.raises(ReplayDiverged, match=r"run_bash \(c1\).*error flag"):
        await events_of(dialogue)


def test_missing_and_unexpected_results_are_differences() -> None:
    found = compare_results("a", [result("c1", "x"), result("c2", "y")], [result("c2", "y"), result("c3", "z")])
    assert [(item.call_id, item.what) for item in found] == [("c1", "missing"), ("c3", "unexpected")]
    assert compare_results("a", [], [result("c9", "z")]) == []


@pytest.mark.parametrize(
    ("recorded_text", "now"),
    [
        ("Ran 3 tests in 0.012s", "Ran 3 tests in 1.5s"),
        ("exit 0 after 180 ms", "exit 0 after 2.5 s"),
        ("wrote /tmp/tmpab12/out.txt", "wrote /var/folders/zz/abc/T/tmpq/out.txt"),
        ("started, pid 4711", "started, pid 12"),
        ("<Foo at 0x7f00deadbeef>", "<Foo at 0x10a2b3c4d>"),
        ("listening on 127.0.0.1:40123", "listening on 127.0.0.1:55555"),
        ("2026-11-30T12:00:00Z done", "2027-01-01 00:00:00.123+01:00 done"),
        ("/home/a/repo/x.py:3", "/srv/b/x.py:3"),
        ("line \nend\n", "line\nend"),
    ],
)
def test_what_differs_from_run_to_run_is_no_difference(recorded_text: str, now: str) -> None:
    places = (("/home/a/repo", "<repo>"), ("/srv/b", "<repo>"))
    assert normalise(recorded_text, places) == normalise(now, places)


@pytest.mark.parametrize(
    ("recorded_text", "now"),
    [("3 passed", "2 passed"), ("x = 10", "x = 11"), ("a.py:3", "a.py:4"), ("exit code 0", "exit code 1"), ("a", "A")],
)
def test_what_means_something_stays_a_difference(recorded_text: str, now: str) -> None:
    assert normalise(recorded_text) != normalise(now)


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
