"""The Responses API, as it reads a stateless conversation."""

from collections.abc import Collection, Mapping
from typing import Any

from tests.support.model_server.rules import (
    Pairing,
    Refused,
    check_arguments,
    check_name,
    check_tools,
    check_top,
    check_words,
    require_list,
)
from tests.support.model_server.view import objects

_KNOWN = {
    "model",
    "input",
    "instructions",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "temperature",
    "top_p",
    "reasoning",
    "text",
    "include",
    "store",
    "prompt_cache_key",
    "prompt_cache_retention",
    "user",
    "safety_identifier",
    "metadata",
    "service_tier",
    "truncation",
    "previous_response_id",
}
_LEAST_OUTPUT = 16


def check(body: Mapping[str, Any], issued: Collection[str]) -> None:
    """Raise `Refused` for what the API would answer with 400. `issued` are the encrypted reasoning texts this server gave out."""
    check_top(body, _KNOWN)
    limit = body.get("max_output_tokens")
    if limit is not None and (not isinstance(limit, int) or limit < _LEAST_OUTPUT):
        raise Refused("limits", f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {_LEAST_OUTPUT}.")
    tools = list(objects(body.get("tools")))
    check_tools(body.get("tools"), [(item.get("name", ""), item.get("description"), item.get("parameters")) for item in tools])
    for tool in tools:
        _check_strict(tool)
    if body.get("store") is False and "reasoning" in body and "reasoning.encrypted_content" not in (body.get("include") or ()):
        raise Refused("reasoning", "store=false with reasoning needs include=['reasoning.encrypted_content']")
    if isinstance(body.get("input"), str):
        check_words(body["input"], "input")
    else:
        _check_items(require_list(body.get("input"), "input"), issued)


def _check_strict(tool: Mapping[str, Any]) -> None:
    schema = tool.get("parameters") or {}
    if tool.get("type") != "function":
        raise Refused("tools", f"tools: unknown type {tool.get('type')!r}")
    # An absent `strict` is normalised by the API into a strict schema, so a free-form tool has to say false.
    strict = tool.get("strict", True)
    complete = set(schema.get("required", ())) == set(schema.get("properties", ()))
    if strict and not (complete and schema.get("additionalProperties") is False):
        raise Refused("tool schema", f"Invalid schema for function '{tool.get('name')}': strict needs all required and nothing additional.")


def _check_items(items: list[Mapping[str, Any]], issued: Collection[str]) -> None:
    pairing, reasoning = Pairing(), ""
    for index, item in enumerate(items):
        where, kind = f"input[{index}]", item.get("type", "message")
        own = kind == "function_call" or (kind == "message" and item.get("role") == "assistant")
        if reasoning and not own and kind != "reasoning":
            raise Refused("reasoning", f"Item '{reasoning}' of type 'reasoning' was provided without its required following item.")
        if kind == "reasoning":
            reasoning = _check_reasoning(item, where, issued)
            continue
        reasoning = ""
        if kind == "function_call":
            pairing.call(item.get("call_id"), where)
            check_name(item.get("name"), where)
            check_arguments(item.get("arguments"), where)
        elif kind == "function_call_output":
            pairing.result(item.get("call_id"), where)
            _check_output(item.get("output"), where)
        elif kind == "message":
            _check_message(item, pairing, where)
        else:
            raise Refused("shape", f"{where}.type: unknown item type {kind!r}")
    if reasoning:
        raise Refused("reasoning", f"Item '{reasoning}' of type 'reasoning' was provided without its required following item.")
    pairing.settled("the end of input")


def _check_reasoning(item: Mapping[str, Any], where: str, issued: Collection[str]) -> str:
    if not isinstance(item.get("summary"), list):
        raise Refused("shape", f"{where}.summary: required")
    encrypted = item.get("encrypted_content")
    if encrypted is not None and encrypted not in issued:
        raise Refused("reasoning", f"invalid_encrypted_content: the encrypted content of item {item.get('id')!r} could not be verified")
    return str(item.get("id") or "rs")


def _check_message(item: Mapping[str, Any], pairing: Pairing, where: str) -> None:
    role = item.get("role")
    if role not in {"system", "developer", "user", "assistant"}:
        raise Refused("role", f"{where}.role: invalid value {role!r}")
    if role != "assistant":
        pairing.settled(where)  # a reply's own text may stand between its calls
    content = item.get("content")
    if isinstance(content, str):
        check_words(content, where)
        return
    expected = "output_text" if role == "assistant" else "input_text"
    for part in require_list(content, f"{where}.content"):
        if part.get("type") not in {expected, "input_image", "refusal"}:
            raise Refused("shape", f"{where}.content: invalid value {part.get('type')!r}, supported: {expected!r}")
        if part.get("type") == expected:
            check_words(part.get("text"), f"{where}.content")


def _check_output(output: Any, where: str) -> None:
    if isinstance(output, str):
        check_words(output, f"{where}.output")
        return
    for part in require_list(output, f"{where}.output"):
        check_words(part.get("text"), f"{where}.output")
