"""The Messages API, as it reads a conversation."""

from collections.abc import Mapping
from typing import Any

from tests.support.model_server.rules import (
    Pairing,
    Refused,
    check_block_keys,
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
    "system",
    "max_tokens",
    "stream",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking",
    "metadata",
    "service_tier",
    "output_config",
    "context_management",
    "container",
}
_BLOCK_KEYS = {
    "text": {"type", "text", "cache_control", "citations"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "server_tool_use": {"type", "id", "name", "input", "cache_control"},
}
_ID_LETTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LEAST_BUDGET = 1024


def check(body: Mapping[str, Any], headers: Mapping[str, str], issued: Mapping[str, str], paused: bool) -> None:
    """Raise `Refused` for what the API would answer with 400.

    `issued` maps the signatures this server gave out to the thinking they sign; `paused` allows a last assistant message.
    """
    if not headers.get("anthropic-version"):
        raise Refused("headers", "anthropic-version: header is required")
    check_top(body, _KNOWN)
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise Refused("limits", "max_tokens: Field required, an integer of at least 1")
    _check_thinking(body, limit)
    tools = list(objects(body.get("tools")))
    check_tools(body.get("tools"), [(item.get("name", ""), item.get("description"), item.get("input_schema")) for item in tools])
    if isinstance(body.get("system"), str):
        check_words(body["system"], "system")
    elif body.get("system") is not None:
        for block in require_list(body["system"], "system"):
            check_words(block.get("text"), "system")
    check_marks(body)
    _check_messages(require_list(body.get("messages"), "messages"), issued, paused)


def _check_thinking(body: Mapping[str, Any], limit: int) -> None:
    thinking = body.get("thinking")
    if not isinstance(thinking, Mapping) or thinking.get("type") == "disabled":
        return
    budget = thinking.get("budget_tokens")
    if thinking.get("type") == "enabled" and (not isinstance(budget, int) or not _LEAST_BUDGET <= budget < limit):
        raise Refused("thinking", f"thinking.budget_tokens: must be at least {_LEAST_BUDGET} and below max_tokens")
    if body.get("temperature", 1) != 1:
        raise Refused("thinking", "`temperature` may only be set to 1 when thinking is enabled.")
    if (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        raise Refused("thinking", "Thinking may not be enabled when tool_choice forces tool use.")


def _check_messages(messages: list[Mapping[str, Any]], issued: Mapping[str, str], paused: bool) -> None:
    pairing, before = Pairing(), ""
    if messages[0].get("role") != "user":
        raise Refused("role", 'messages: first message must use the "user" role')
    for index, message in enumerate(messages):
        where, role = f"messages.{index}", str(message.get("role"))
        if role not in {"user", "assistant"}:
            raise Refused("role", f"{where}: Unexpected role {role!r}. Allowed: user, assistant; the system prompt is a top-level field.")
        if role == before == "user":
            pairing.settled(where)
        if role == "assistant":
            pairing.settled(where)
        content = message.get("content")
        if isinstance(content, str):
            pairing.settled(where)
            check_words(content, where)
        elif role == "assistant":
            _check_assistant(require_list(content, f"{where}.content"), pairing, issued, where)
        else:
            _check_user(require_list(content, f"{where}.content"), pairing, where)
        before = role
    pairing.settled("the end of messages")
    if before == "assistant" and not paused:
        raise Refused("last message", "This model does not support assistant message prefill: end with a user message.")


def _check_assistant(blocks: list[Mapping[str, Any]], pairing: Pairing, issued: Mapping[str, str], where: str) -> None:
    spoken = False
    for number, block in enumerate(blocks):
        place = f"{where}.content.{number}"
        kind = _known_block(block, place)
        if kind == "text":
            check_words(block.get("text"), place)
        elif kind == "tool_use":
            _check_use(block, pairing, place)
        elif kind == "thinking":
            if issued.get(str(block.get("signature"))) != block.get("thinking"):
                raise Refused("thinking", f"{place}: Invalid `signature` in `thinking` block")
        elif kind == "tool_result":
            raise Refused("shape", f"{place}: `tool_result` blocks can only be in `user` messages")
        spoken = spoken or kind in {"text", "tool_use"}
    if blocks[-1].get("type") == "thinking" or not spoken:
        raise Refused("block order", f"{where}: The final block in an assistant message cannot be `thinking`.")


def _check_use(block: Mapping[str, Any], pairing: Pairing, place: str) -> None:
    if set(str(block.get("id"))) - _ID_LETTERS:
        raise Refused("call id", f"{place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    pairing.call(block.get("id"), place)
    check_name(block.get("name"), place)
    if not isinstance(block.get("input"), Mapping):
        raise Refused("arguments", f"{place}.input: Input should be a valid dictionary")


def _check_user(blocks: list[Mapping[str, Any]], pairing: Pairing, where: str) -> None:
    for number, block in enumerate(blocks):
        place = f"{where}.content.{number}"
        kind = _known_block(block, place)
        if kind == "tool_result":
            pairing.result(block.get("tool_use_id"), place)
            content = block.get("content")
            for part in [{"text": content}] if isinstance(content, str) else require_list(content, f"{place}.content"):
                check_words(part.get("text"), f"{place}.content")
        elif kind == "text":
            pairing.settled(f"{place} (tool_result blocks come first)")
            check_words(block.get("text"), place)
        else:
            raise Refused("shape", f"{place}: `{kind}` blocks can only be in `assistant` messages")


def _known_block(block: Mapping[str, Any], place: str) -> str:
    kind = str(block.get("type"))
    if kind not in _BLOCK_KEYS:
        raise Refused("shape", f"{place}.type: Input tag {kind!r} is not one of the expected tags")
    check_block_keys(block, _BLOCK_KEYS[kind], place)
    return kind
