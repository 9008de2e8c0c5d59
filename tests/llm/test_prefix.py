"""What is sent grows at its end only, is encoded once, and passes the strict server whatever the conversation holds."""

from __future__ import annotations

import gc
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.wire import FORMATS, READ_FILE, Wire
from yagent.llm import json_text
from yagent.llm.engine import CallOptions, Head
from yagent.llm.quirks import Quirks
from yagent.llm.quirks_table import quirks_for
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, user_message

TEXT = st.text(max_size=12) | st.sampled_from(["", " \n", "naïve — step \n", '"\\\ud800', "\u2028</think>"])
WORDS = st.text(min_size=1, max_size=12).map(lambda text: f"w{text}")


def _reasoning(api_format: str, text: str) -> Reasoning:
    if api_format == "anthropic":
        return Reasoning(text, {"type": "thinking", "thinking": json_text.whole_characters(text), "signature": f"s{json.dumps(text)}"})
    if api_format == "responses":
        return Reasoning(text, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"})
    return Reasoning(text)


@st.composite
def conversations(draw: st.DrawFn, api_format: str) -> list[list[Message]]:
    """Turns; each is what is appended between two requests and ends with the user or with results."""
    turns: list[list[Message]] = []
    number = 0
    for _ in range(draw(st.integers(1, 5))):
        turn = [user_message(draw(WORDS))] * draw(st.integers(0 if turns else 1, 2))
        parts: list[Part] = [
            _reasoning(api_format, draw(TEXT)) if draw(st.booleans()) else Text(draw(TEXT)) for _ in range(draw(st.integers(0, 3)))
        ]
        origin = draw(st.sampled_from([f"{api_format}:here:m", "openai:elsewhere:other"]))
        ids = ["call_{}", "", "same"] if origin.startswith("anthropic") else ["functions.read_file:{}", "call_{}", "a b {}", "", "same"]
        calls: list[ToolCall] = []
        for _ in range(draw(st.integers(0, 3))):
            call_id = draw(st.sampled_from(ids)).format(number)
            number += 1
            if call_id not in [call.id for call in calls]:
                calls.append(ToolCall(call_id, draw(st.sampled_from(["read_file", "", "a.b/c", "x" * 90])), '{"path":"é \\n"}'))
        turn.append(Message("assistant", (*parts, *calls), origin))
        results = tuple(ToolResult(call.id, call.name, draw(TEXT), draw(st.booleans())) for call in calls)
        turn.append(Message("tool", results) if results else user_message(draw(WORDS)))
        turns.append(turn)
    return turns


def _prefix(raw: bytes, wire: Wire) -> bytes:
    """Tools, system and messages: the body without its parameters and closing brackets."""
    return raw[: raw.rindex(b',"stream":')].rstrip(b'"}]')


def _unmarked(quirks: Quirks) -> dict[str, Any]:
    return {name: getattr(quirks, name) for name in Quirks.__slots__} | {"cache_marks": False}


@pytest.mark.parametrize("api_format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_each_request_begins_with_the_one_before_and_passes_the_strict_server(api_format: str, data: st.DataObject) -> None:
    wire = Wire(api_format)
    plain = Wire(api_format, quirks=Quirks(**_unmarked(quirks_for(api_format, "127.0.0.1", "m"))))
    before = b""
    for turn in data.draw(conversations(api_format)):
        wire.say(*turn)
        plain.say(*turn)
        wire.check()
        now = _prefix(plain.raw(CallOptions(forbid_tools=data.draw(st.booleans()))), plain)
        assert now.startswith(before)
        before = now


def _calls_made(work: Callable[[], object]) -> int:
    """Python functions entered while `work` runs: a measure of effort without a clock."""
    entered = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    gc.disable()  # test tools count its passes with functions of their own
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return entered


def _ask(wire: Wire, messages: tuple[Message | str, ...]) -> None:
    wire.say(*messages).encoder.body(CallOptions())


@pytest.mark.parametrize("api_format", FORMATS)
def test_cost_of_a_request_does_not_grow_with_the_conversation(api_format: str) -> None:
    wire, costs = Wire(api_format), []
    for number in range(200):
        call = ToolCall(f"call_{number}", "read_file", "{}")
        answer = Message("tool", (ToolResult(call.id, "read_file", "text"),))
        messages = (f"step {number}", Message("assistant", (call,)), answer)
        costs.append(_calls_made(partial(_ask, wire, messages)))
    assert costs[199] == costs[60]


@pytest.mark.parametrize("api_format", FORMATS)
def test_two_sessions_send_the_same_beginning(api_format: str) -> None:
    def first(conversation: str) -> bytes:
        wire = Wire(api_format, head=Head(conversation, "system", (READ_FILE,))).say("hello")
        return _prefix(wire.raw(), wire)

    assert first("one") == first("two")


@pytest.mark.parametrize("api_format", FORMATS)
def test_results_without_their_calls_are_refused_before_they_are_sent(api_format: str) -> None:
    wire = Wire(api_format).say("go")
    with pytest.raises(ValueError, match="answers no open call"):
        wire.say(Message("tool", (ToolResult("call_9", "read_file", "x"),)))
    wire.say(Message("assistant", (ToolCall("call_1", "read_file", "{}"),)))
    with pytest.raises(ValueError, match="Calls without a result: call_1"):
        wire.raw()
    with pytest.raises(ValueError, match="Calls without a result: call_1"):
        wire.say("and now?")


def _marked_texts(body: dict[str, Any]) -> list[str]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [block.get("text") or block.get("content") or block["id"] for block in blocks if "cache_control" in block]


def test_marks_stand_on_the_system_prompt_the_newest_block_and_the_newest_of_the_request_before() -> None:
    wire = Wire("anthropic").say("one")
    assert _marked_texts(wire.body()) == ["one"]
    assert _marked_texts(wire.body()) == ["one"], "a repeated request keeps its marks"
    wire.say(Message("assistant", (Text("two"),)), "three")
    body = wire.body()
    assert _marked_texts(body) == ["one", "three"]
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    wire.say(Message("assistant", (Text("four"),)), "five")
    assert _marked_texts(wire.body()) == _marked_texts(wire.body()) == ["three", "five"]


def test_a_long_conversation_gets_a_spare_mark_and_never_more_than_four() -> None:
    wire = Wire("anthropic")
    for number in range(1, 40):
        body = wire.say(f"u{number}", Message("assistant", (Text(f"a{number}"),)), f"v{number}").body()
        assert json.dumps(body).count("cache_control") <= 4
    assert len(_marked_texts(body)) == 3


def test_the_directors_marks_live_for_an_hour() -> None:
    wire = Wire("anthropic", head=Head("c", "system", (READ_FILE,), long_lived=True)).say("one")
    assert wire.body()["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_without_a_system_prompt_the_tools_carry_the_mark() -> None:
    wire = Wire("anthropic", head=Head("c", "", (READ_FILE,))).say("one")
    body = wire.body()
    assert "system" not in body
    assert body["tools"][0]["cache_control"] == {"type": "ephemeral"}


def test_claude_behind_openrouter_gets_marks_in_blocks() -> None:
    wire = Wire("openai", host="openrouter.ai", model="anthropic/claude-sonnet-4.5").say("one", "two")
    system, user = wire.items()
    assert system["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert [part["text"] for part in user["content"]] == ["one", "two"]
    assert "cache_control" in user["content"][1]
    wire.check()


def test_user_messages_in_a_row_become_one() -> None:
    assert [item["content"] for item in Wire("openai").say("one", "two").items()[1:]] == ["one\n\ntwo"]
    assert len(Wire("anthropic").say("one", "two").items()) == 1


MARK = re.compile(rb',"cache_control":\{[^}]*\}')
HINT = "<board>\nrepo#1 ok\n</board>"


@pytest.mark.parametrize("api_format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_hint_is_in_its_request_alone_at_the_end_of_the_newest_message(api_format: str, data: st.DataObject) -> None:
    unmarked = Quirks(**_unmarked(quirks_for(api_format, "127.0.0.1", "m")))
    plain, hinted = Wire(api_format, quirks=unmarked), Wire(api_format, quirks=unmarked)
    for turn in data.draw(conversations(api_format)):
        plain.say(*turn)
        hinted.say(*turn)
        with_hint = hinted.raw(CallOptions(hint=HINT))
        without = plain.raw()
        assert with_hint.count(json_text.inner(HINT)) == 1
        end = with_hint.index(json_text.inner(f"\n\n{HINT}"))
        assert without.startswith(with_hint[:end].rstrip(b'"}]'))
        assert with_hint.replace(json_text.inner(f"\n\n{HINT}"), b"", 1) == without
        if data.draw(st.booleans()):
            assert hinted.raw() == without


@pytest.mark.parametrize("api_format", FORMATS)
def test_a_message_with_a_hint_gets_no_cache_mark(api_format: str) -> None:
    wire = Wire(api_format).say("one", Message("assistant", (ToolCall("c", "read_file", "{}"),)))
    wire.say(Message("tool", (ToolResult("c", "read_file", "text"),)))
    before = wire.raw()
    marks = before.count(b'"cache_control"')
    hinted = wire.raw(CallOptions(hint=HINT))
    assert hinted.count(b'"cache_control"') <= marks
    assert b'"cache_control"' not in hinted[hinted.index(json_text.inner(HINT)) :]
    assert MARK.sub(b"", wire.raw()) == MARK.sub(b"", before)
