"""A reply as each provider streams it: a list of server-sent events, each whole."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.model_server.reply import Call, Reply
from tests.support.model_server.view import Dialect
from yagent.protocol.messages import Usage

CREATED = 1_700_000_000
_CHAT_FINISH = {"refusal": "content_filter", "pause": "stop"}
_MESSAGES_FINISH = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "pause": "pause_turn"}
_ERROR_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    502: "api_error",
    529: "overloaded_error",
}
_RESPONSES_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def signature_of(thinking: str) -> str:
    """The signature under which a thinking text goes out and must come back."""
    return base64.b64encode(hashlib.sha256(thinking.encode("utf-8")).digest()).decode("ascii")


def encode(dialect: Dialect, reply: Reply, usage: Usage | None, number: int) -> list[bytes]:
    """All events of a reply, end mark included. `number` makes ids of this reply differ from all others'."""
    if reply.raw:
        return [reply.raw.encode()]
    encoder = {"chat": _chat, "responses": _responses, "messages": _messages}[dialect]
    return list(encoder(reply, usage, number))


def named_calls(reply: Reply, number: int, prefix: str) -> list[tuple[str, Call, str]]:
    """Each call with its id and the text of its arguments."""
    repeated = any(trouble.kind == "repeated_ids" for trouble in reply.chaos)
    found = []
    for index, item in enumerate(reply.calls):
        text = item.arguments if isinstance(item.arguments, str) else json.dumps(item.arguments, ensure_ascii=False)
        found.append((item.id or f"{prefix}_{number}_{0 if repeated else index}", item, text))
    return found


def error_event(dialect: Dialect, code: int, message: str) -> bytes:
    """An error in the middle of a stream, in the provider's form."""
    kind = _ERROR_KINDS.get(code, "server_error")
    if dialect == "messages":
        return _event({"type": "error", "error": {"type": kind, "message": message}}, "error")
    if dialect == "responses":
        error = {"code": "rate_limit_exceeded" if code == 429 else "server_error", "message": message}
        return _event({"type": "response.failed", "response": {"id": "resp_failed", "status": "failed", "error": error}}, "response.failed")
    return _event({"id": "c", "object": "chat.completion.chunk", "choices": [], "error": {"code": code, "message": message, "type": kind}})


def error_body(dialect: Dialect, code: int, message: str) -> bytes:
    """The body of an error answer, in the provider's form."""
    error = {"type": _ERROR_KINDS.get(code, "api_error"), "message": message}
    if dialect == "messages":
        return json.dumps({"type": "error", "error": error}).encode()
    return json.dumps({"error": {**error, "param": None, "code": None}}).encode()


def _event(data: Mapping[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), max(1, size)):
        yield text[start : start + max(1, size)]


def _chat(reply: Reply, usage: Usage | None, number: int) -> Iterator[bytes]:
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": CREATED, "model": reply.model or "played-model"}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.reasoning, reply.piece):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(reply.text, reply.piece):
        yield chunk({"content": piece})
    for index, (call_id, item, arguments) in enumerate(named_calls(reply, number, "call")):
        function = {"name": item.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        for piece in _pieces(arguments, reply.piece):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _CHAT_FINISH.get(reply.reason, reply.reason))
    if usage is not None:
        yield _event({**head, "choices": [], "usage": _chat_usage(usage)})
    yield b"data: [DONE]\n\n"


def _chat_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.total_input or 0,
        "completion_tokens": usage.output or 0,
        "total_tokens": (usage.total_input or 0) + (usage.output or 0),
        **({} if usage.cached is None else {"prompt_tokens_details": {"cached_tokens": usage.cached}}),
        **({} if usage.reasoning is None else {"completion_tokens_details": {"reasoning_tokens": usage.reasoning}}),
    }


def _messages(reply: Reply, usage: Usage | None, number: int) -> Iterator[bytes]:
    known = usage or Usage()
    cached, written = known.cached or 0, known.cache_written or 0
    start = {
        "input_tokens": max(0, (known.total_input or 0) - cached - written),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": 1,
    }
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": reply.model or "played-model", "content": []}
    stop: dict[str, Any] = {"stop_reason": None, "stop_sequence": None}
    yield _event({"type": "message_start", "message": {**message, **stop, **({} if usage is None else {"usage": start})}}, "message_start")
    yield _event({"type": "ping"}, "ping")
    for index, (block, deltas) in enumerate(_messages_blocks(reply, number)):
        yield _event({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield _event({"type": "content_block_stop", "index": index}, "content_block_stop")
    stop["stop_reason"] = _MESSAGES_FINISH.get(reply.reason, reply.reason)
    end = {} if usage is None else {"usage": {"output_tokens": known.output or 0}}
    yield _event({"type": "message_delta", "delta": stop, **end}, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def _messages_blocks(reply: Reply, number: int) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(reply.reasoning, reply.piece)]
        deltas.append({"type": "signature_delta", "signature": signature_of(reply.reasoning)})
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if reply.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(reply.text, reply.piece)]
    for call_id, item, arguments in named_calls(reply, number, "toolu"):
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *_pieces(arguments, reply.piece))]
        yield {"type": "tool_use", "id": call_id, "name": item.name, "input": {}}, deltas


def _responses(reply: Reply, usage: Usage | None, number: int) -> Iterator[bytes]:
    head = {"id": f"resp_{number}", "object": "response", "created_at": CREATED, "model": reply.model or "played-model"}
    sequence = 0

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal sequence
        sequence += 1
        return _event({"type": kind, "sequence_number": sequence, **fields}, kind)

    yield event("response.created", response={**head, "status": "in_progress", "output": []})
    yield event("response.in_progress", response={**head, "status": "in_progress", "output": []})
    output = []
    for index, (begun, deltas, done) in enumerate(_responses_items(reply, number)):
        yield event("response.output_item.added", output_index=index, item=begun)
        for kind, fields in deltas:
            yield event(kind, output_index=index, item_id=begun["id"], **fields)
        yield event("response.output_item.done", output_index=index, item=done)
        output.append(done)
    reason = _RESPONSES_INCOMPLETE.get(reply.reason)
    status = "incomplete" if reason else "completed"
    final = {**head, "status": status, "output": output, "incomplete_details": {"reason": reason} if reason else None, "error": None}
    if usage is not None:
        final["usage"] = _responses_usage(usage)
    yield event(f"response.{status}", response=final)


def _responses_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.total_input or 0,
        "input_tokens_details": {"cached_tokens": usage.cached or 0},
        "output_tokens": usage.output or 0,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": (usage.total_input or 0) + (usage.output or 0),
    }


_Delta = tuple[str, dict[str, Any]]


def _responses_items(reply: Reply, number: int) -> Iterator[tuple[dict[str, Any], list[_Delta], dict[str, Any]]]:
    if reply.reasoning:
        item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
        summary = {"type": "summary_text", "text": reply.reasoning}
        kind = "response.reasoning_summary_text"
        deltas: list[_Delta] = [("response.reasoning_summary_part.added", {"summary_index": 0, "part": {**summary, "text": ""}})]
        deltas += [(f"{kind}.delta", {"summary_index": 0, "delta": piece}) for piece in _pieces(reply.reasoning, reply.piece)]
        deltas.append((f"{kind}.done", {"summary_index": 0, "text": reply.reasoning}))
        yield item, deltas, {**item, "summary": [summary], "encrypted_content": signature_of(reply.reasoning)}
    if reply.text:
        item = {"type": "message", "id": f"msg_{number}", "status": "in_progress", "role": "assistant", "content": []}
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        deltas = [("response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}})]
        deltas += [("response.output_text.delta", {"content_index": 0, "delta": piece}) for piece in _pieces(reply.text, reply.piece)]
        deltas.append(("response.output_text.done", {"content_index": 0, "text": reply.text}))
        deltas.append(("response.content_part.done", {"content_index": 0, "part": part}))
        yield item, deltas, {**item, "status": "completed", "content": [part]}
    for position, (call_id, called, arguments) in enumerate(named_calls(reply, number, "call")):
        item = {"type": "function_call", "id": f"fc_{number}_{position}", "call_id": call_id, "name": called.name, "arguments": ""}
        deltas = [("response.function_call_arguments.delta", {"delta": piece}) for piece in _pieces(arguments, reply.piece)]
        deltas.append(("response.function_call_arguments.done", {"arguments": arguments}))
        yield {**item, "status": "in_progress"}, deltas, {**item, "status": "completed", "arguments": arguments}
