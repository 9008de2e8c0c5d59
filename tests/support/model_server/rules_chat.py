"""Chat Completions, as its strictest servers read it."""

from collections.abc import Mapping
from typing import Any

from tests.support.model_server.rules import (
    Pairing,
    Refused,
    check_arguments,
    check_marks,
    check_name,
    check_tools,
    check_top,
    check_words,
    require_list,
)
from tests.support.model_server.view import objects

_KNOWN = {
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "enable_thinking",
    "thinking_budget",
    "chat_template_kwargs",
    "prompt_cache_key",
    "prompt_cache_retention",
    "user",
    "safety_identifier",
    "store",
    "metadata",
    "service_tier",
    "response_format",
    "usage",
    "provider",
}
_ROLES = {"system", "developer", "user", "assistant", "tool"}


def check(body: Mapping[str, Any]) -> None:
    """Raise `Refused` for what a provider would answer with 400."""
    check_top(body, _KNOWN)
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise Refused("limits", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    functions = [item.get("function") or {} for item in objects(body.get("tools")) if item.get("type") == "function"]
    check_tools(body.get("tools"), [(item.get("name", ""), item.get("description"), item.get("parameters")) for item in functions])
    if "tool_choice" in body and not body.get("tools"):
        raise Refused("tool choice", "'tool_choice' is only allowed when 'tools' are specified.")
    check_marks(body)
    _check_messages(require_list(body.get("messages"), "messages"))


def _check_messages(messages: list[Mapping[str, Any]]) -> None:
    pairing = Pairing()
    for index, message in enumerate(messages):
        where, role = f"messages[{index}]", message.get("role")
        if role not in _ROLES:
            raise Refused("role", f"{where}.role: unknown role {role!r}")
        if role in {"system", "developer"} and index:
            raise Refused("role", f"{where}: System message must be at the beginning.")
        if role == "tool":
            pairing.result(message.get("tool_call_id"), where)
            _check_content(message.get("content"), where)
            continue
        pairing.settled(where)
        if role == "assistant":
            _check_assistant(message, pairing, where)
        else:
            _check_content(message.get("content"), where)
    pairing.settled("the end of messages")
    if messages[-1].get("role") == "assistant":
        raise Refused("last message", "The last message must be of role user or tool.")


def _check_assistant(message: Mapping[str, Any], pairing: Pairing, where: str) -> None:
    calls = message.get("tool_calls")
    if calls is not None:
        for number, item in enumerate(require_list(calls, f"{where}.tool_calls")):
            place, function = f"{where}.tool_calls[{number}]", item.get("function")
            if item.get("type") != "function" or not isinstance(function, Mapping):
                raise Refused("shape", f"{place}: expected type 'function'")
            pairing.call(item.get("id"), place)
            check_name(function.get("name"), f"{place}.function")
            check_arguments(function.get("arguments"), place)
    content = message.get("content")
    if calls is None or content not in (None, ""):
        _check_content(content, where)


def _check_content(content: Any, where: str) -> None:
    if not isinstance(content, list):
        check_words(content, f"{where}.content")
        return
    for block in require_list(content, f"{where}.content"):
        if block.get("type") == "text":
            check_words(block.get("text"), f"{where}.content")
        elif block.get("type") not in {"image_url", "refusal"}:
            raise Refused("shape", f"{where}.content: unknown part type {block.get('type')!r}")
