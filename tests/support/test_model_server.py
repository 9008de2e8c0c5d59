"""The strict server itself: what it refuses, what it remembers, how it plays."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.model_server import Agent, Call, Chaos, ModelServer, Reply, status

SYSTEM = "You are the Director.\nMore words."
TOOL = {"name": "read_file", "description": "reads", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}


async def post(server: ModelServer, path: str, body: Any, *, headers: str = "") -> tuple[int, bytes]:
    """One request on a connection of its own, read until the server closes or the body is whole."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"POST /v1{path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n{headers}\r\n"
    writer.write(head.encode() + raw)
    try:
        top = await reader.readuntil(b"\r\n\r\n")
        code = int(top.split()[1])
        if b"chunked" in top:
            text = await reader.readuntil(b"0\r\n\r\n")
        else:
            length = int(top.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            text = await reader.readexactly(length)
    finally:
        writer.close()
    return code, text


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A chat body."""
    tools = [{"type": "function", "function": TOOL}]
    return {"model": "m", "stream": True, "tools": tools, "messages": [{"role": "system", "content": SYSTEM}, *messages], **more}


def messages(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A messages body."""
    tools = [{"name": "read_file", "description": "reads", "input_schema": TOOL["parameters"]}]
    return {"model": "m", "stream": True, "max_tokens": 100, "system": SYSTEM, "tools": tools, "messages": list(items), **more}


def responses(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A responses body."""
    tools = [{"type": "function", "strict": False, **TOOL}]
    return {"model": "m", "stream": True, "store": False, "instructions": SYSTEM, "tools": tools, "input": list(items), **more}


USER = {"role": "user", "content": "hello"}
ANTHROPIC = "anthropic-version: 2023-06-01\r\n"


def asked(call_id: str = "c1", name: str = "read_file", arguments: str = "{}") -> dict[str, Any]:
    """A chat message with one call."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


def answered(call_id: str = "c1", text: str = "ok") -> dict[str, Any]:
    """A chat tool result."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def use(**more: Any) -> dict[str, Any]:
    """A messages turn with one tool use."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read_file", "input": {}, **more}]}


def used(**more: Any) -> dict[str, Any]:
    """A messages turn with one result."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok", **more}]}


CALL_ITEM = {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{}"}
OUTPUT_ITEM = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
FORGED_THINKING = {"type": "thinking", "thinking": "x", "signature": "forged"}
FORGED_REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "forged"}
MARK = {"cache_control": {"type": "ephemeral"}}

REFUSED: list[tuple[str, str, Any]] = [
    ("/chat/completions", "json", b"{"),
    ("/chat/completions", "json", b'{"model":"m","model":"n"}'),
    ("/chat/completions", "encoding", b'{"model":"\\ud83d"}'),
    ("/chat/completions", "stream", chat(USER) | {"stream": False}),
    ("/chat/completions", "unknown field", chat(USER, surprise=1)),
    ("/chat/completions", "pairing", chat(USER, asked())),
    ("/chat/completions", "pairing", chat(USER, answered())),
    ("/chat/completions", "pairing", chat(USER, asked(), answered(), answered())),
    ("/chat/completions", "call id", chat(USER, asked(), answered(), asked(), answered())),
    ("/chat/completions", "arguments", chat(USER, asked(arguments="[1]"), answered())),
    ("/chat/completions", "tool name", chat(USER, asked(name=""), answered())),
    ("/chat/completions", "blank text", chat({"role": "user", "content": " \n"})),
    ("/chat/completions", "blank text", chat(USER, asked(), answered(text=""))),
    ("/chat/completions", "blank text", chat(USER, {"role": "assistant", "content": ""}, USER)),
    ("/chat/completions", "role", chat(USER, {"role": "system", "content": "late"})),
    ("/chat/completions", "role", chat({"role": "robot", "content": "x"})),
    ("/chat/completions", "last message", chat(USER, {"role": "assistant", "content": "x"})),
    ("/messages", "role", messages({"role": "system", "content": "x"})),
    ("/messages", "role", messages({"role": "assistant", "content": "x"})),
    ("/messages", "pairing", messages(USER, use())),
    ("/messages", "pairing", messages(USER, use(), {"role": "user", "content": [{"type": "text", "text": "first"}, *used()["content"]]})),
    ("/messages", "call id", messages(USER, use(id="a b"), used(tool_use_id="a b"))),
    ("/messages", "arguments", messages(USER, use(input="{}"), used())),
    ("/messages", "unknown field", messages(USER, use(extra=1), used())),
    ("/messages", "blank text", messages(USER, use(), used(content=""))),
    ("/messages", "thinking", messages(USER, {"role": "assistant", "content": [FORGED_THINKING]}, USER)),
    ("/messages", "thinking", messages(USER, thinking={"type": "enabled", "budget_tokens": 0})),
    ("/messages", "cache marks", messages({"role": "user", "content": [{"type": "text", "text": "x", **MARK}] * 5})),
    ("/messages", "limits", {key: value for key, value in messages(USER).items() if key != "max_tokens"}),
    ("/responses", "pairing", responses(USER, CALL_ITEM)),
    ("/responses", "pairing", responses(USER, OUTPUT_ITEM)),
    ("/responses", "reasoning", responses(USER, FORGED_REASONING, CALL_ITEM, OUTPUT_ITEM)),
    ("/responses", "reasoning", responses({"type": "reasoning", "id": "rs_1", "summary": []}, USER)),
    ("/responses", "shape", responses({"role": "user", "content": [{"type": "output_text", "text": "x"}]})),
    ("/responses", "limits", responses(USER, max_output_tokens=1)),
]


@pytest.mark.parametrize(("path", "rule", "body"), REFUSED)
async def test_a_request_that_breaks_a_rule_is_refused_and_remembered(path: str, rule: str, body: Any) -> None:
    async with ModelServer(lambda view: Reply(text="unreached")) as server:
        code, text = await post(server, path, body, headers=ANTHROPIC)
    assert (code, [item.rule for item in server.violations]) == (400, [rule]), text
    with pytest.raises(AssertionError, match="broken rules"):
        server.check()


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        ("/chat/completions", chat(USER), chat(USER, asked(), answered())),
        ("/messages", messages(USER), messages(USER, use(), used(**MARK))),
        ("/responses", responses(USER), responses(USER, CALL_ITEM, OUTPUT_ITEM)),
    ],
)
async def test_a_good_conversation_passes_in_each_dialect(path: str, first: Any, second: Any) -> None:
    async with ModelServer() as server:
        server.play({"Director": [Reply(reasoning="hm", calls=[Call("read_file", {"path": "x"})]), "done"]})
        begun = await post(server, path, first, headers=ANTHROPIC)
        ended = await post(server, path, second, headers=ANTHROPIC)
    server.check()
    assert (begun[0], ended[0], server.kept) == (200, 200, 1.0)
    assert b"read_file" in begun[1]
    assert b"done" in ended[1]


async def test_a_changed_past_is_answered_and_fails_the_test() -> None:
    async with ModelServer() as server:
        server.play({"Director": [Reply(calls=[Call("read_file")]), "done"]})
        await post(server, "/chat/completions", chat(USER))
        changed = chat(USER, asked(), answered(), tools=[{"type": "function", "function": {**TOOL, "description": "other"}}])
        code, _ = await post(server, "/chat/completions", changed)
    assert (code, [item.rule for item in server.violations]) == (200, ["prefix"])
    assert server.kept < 1.0


async def test_a_script_follows_results_and_speaks_only_when_its_identity_is_known() -> None:
    async def director(agent: Agent) -> str:
        return f"the file says {await agent.call('read_file', path='x')}"

    async with ModelServer() as server:
        server.play({"Director": director})
        await post(server, "/chat/completions", chat(USER))
        _, text = await post(server, "/chat/completions", chat(USER, asked(), answered(text="forty-two")))
        stranger = chat(USER) | {"messages": [{"role": "system", "content": "You are nobody."}, USER]}
        code, _ = await post(server, "/chat/completions", stranger)
    assert b"forty-two" in text.replace(b'"}, "finish_reason": null}]}', b"")
    assert (code, [item.rule for item in server.violations]) == (400, ["script"])


async def test_a_repeated_request_meets_the_next_trouble_and_then_the_same_reply() -> None:
    async with ModelServer() as server:
        server.play({"Director": [Reply(text="good", chaos=(status(429, retry_after="2"), Chaos("error_in_stream", share=0)))]})
        codes = [await post(server, "/chat/completions", chat(USER)) for _ in range(3)]
    server.check()
    assert [code for code, _ in codes] == [429, 200, 200]
    assert b"upstream busy" in codes[1][1]
    assert b"good" in codes[2][1]


@pytest.mark.parametrize("kind", ["reset_before_headers", "reset_mid_stream", "close_mid_stream", "reset_mid_character"])
async def test_a_broken_connection_breaks(kind: Any) -> None:
    async with ModelServer() as server:
        server.play({"Director": [Reply(text="größe " * 50, chaos=(Chaos(kind),))]})
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await post(server, "/chat/completions", chat(USER))
    server.check()


async def test_a_silent_server_is_silent_until_the_client_leaves() -> None:
    async with ModelServer() as server:
        server.play({"Director": [Reply(text="never", chaos=(Chaos("hang_before_headers"),))]})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await post(server, "/chat/completions", chat(USER))
        await asyncio.sleep(1)
        assert server.in_flight == 0
    assert server.exchanges[0].left_early
