"""What every strict provider checks, whatever its dialect. Breaking a rule raises `Refused`, which becomes a 400 and fails the test."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.support.model_server.view import objects

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MOST_MARKS = 4
MOST_TOOLS = 128


class Refused(Exception):
    """The request breaks a rule. `rule` is a short name for it, the text is what the provider would say."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


def parse_body(raw: bytes) -> Mapping[str, Any]:
    """The request body as an object; lone surrogates and invalid UTF-8 are refused as real parsers refuse them."""
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_unique_keys)
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeError as error:
        raise Refused("encoding", f"The request body is not valid JSON: {error}") from error
    except ValueError as error:
        raise Refused("json", f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(body, dict):
        raise Refused("json", "The request body must be a JSON object.")
    return body


def check_top(body: Mapping[str, Any], known: Collection[str]) -> None:
    """Known fields only, a model, a stream."""
    for key in body:
        if key not in known:
            raise Refused("unknown field", f"Unrecognized request argument supplied: {key}")
    if not isinstance(body.get("model"), str) or not str(body["model"]).strip():
        raise Refused("model", "you must provide a model parameter")
    if body.get("stream") is not True:
        raise Refused("stream", "stream must be true: this client streams")


def check_tools(tools: Any, schemas: Sequence[tuple[str, Any, Any]]) -> None:
    """Names legal and unique, descriptions present, schemas objects. `schemas` are (name, description, parameters)."""
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        raise Refused("tools", "Invalid 'tools': empty array. Expected an array with minimum length 1.")
    if len(tools) > MOST_TOOLS or len(schemas) != len(tools):
        raise Refused("tools", f"Invalid 'tools': expected at most {MOST_TOOLS} function tools.")
    seen: set[str] = set()
    for name, description, parameters in schemas:
        check_name(name, "tools")
        if name in seen:
            raise Refused("tool name", f"tools: Tool names must be unique: {name!r}")
        seen.add(name)
        if not isinstance(description, str) or not description.strip():
            raise Refused("tool description", f"tools: {name!r} has no description")
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
            raise Refused("tool schema", f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'.")


def check_name(name: Any, where: str) -> None:
    """A tool name every provider accepts."""
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise Refused("tool name", f"Invalid '{where}.name': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$': {name!r}")


def check_arguments(arguments: Any, where: str) -> None:
    """Arguments of a replayed call: the text of a JSON object."""
    try:
        parsed = json.loads(arguments) if isinstance(arguments, str) else None
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Refused("arguments", f"{where}: function arguments must be the JSON text of an object, got {str(arguments)[:80]!r}")


def check_words(text: Any, where: str) -> None:
    """Text that is not blank."""
    if not isinstance(text, str) or not text.strip():
        raise Refused("blank text", f"{where}: text content blocks must contain non-whitespace text")


def check_marks(body: Mapping[str, Any]) -> None:
    """At most four cache marks, well formed, none on reasoning, the long-lived ones before the short-lived ones."""
    marks = list(_marks([body.get("tools"), body.get("system"), body.get("messages"), body.get("input")]))
    if len(marks) > MOST_MARKS:
        raise Refused("cache marks", f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(marks)}.")
    short = False
    for owner, mark in marks:
        if not isinstance(mark, Mapping) or mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in {"5m", "1h"}:
            raise Refused("cache marks", f"cache_control: invalid mark {mark!r}")
        if owner.get("type") in {"thinking", "redacted_thinking"}:
            raise Refused("cache marks", "thinking blocks cannot carry cache_control")
        if mark.get("ttl") == "1h" and short:
            raise Refused("cache marks", "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
        short = short or mark.get("ttl", "5m") == "5m"


def _marks(value: Any) -> list[tuple[Mapping[str, Any], Any]]:
    if isinstance(value, list):
        return [found for item in value for found in _marks(item)]
    if not isinstance(value, Mapping):
        return []
    # A tool's own schema may have a property of that name; marks stand only on blocks, tools and their function objects.
    inner = [found for key in ("content", "function", "output") for found in _marks(value.get(key))]
    return [*inner, *([(value, value["cache_control"])] if "cache_control" in value else [])]


class Pairing:
    """Each call has exactly one result, right after it and in call order; ids are unique for the whole conversation."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._open: list[str] = []

    def call(self, call_id: Any, where: str) -> None:
        """A call was made."""
        if not isinstance(call_id, str) or not call_id.strip():
            raise Refused("call id", f"{where}: tool call without an id")
        if call_id in self._ids:
            raise Refused("call id", f"{where}: `tool_use` ids must be unique: {call_id!r}")
        self._ids.add(call_id)
        self._open.append(call_id)

    def result(self, call_id: Any, where: str) -> None:
        """A result arrived."""
        if call_id not in self._open:
            raise Refused("pairing", f"{where}: unexpected result: no open tool call with id {call_id!r} in the message before")
        if self._open[0] != call_id:
            raise Refused("result order", f"{where}: results must come in call order, expected {self._open[0]!r}, got {call_id!r}")
        self._open.remove(call_id)

    def settled(self, where: str) -> None:
        """Nothing may come here while calls are open."""
        if self._open:
            raise Refused("pairing", f"{where}: tool calls must be followed by results; ids without one: {', '.join(self._open)}")


def check_block_keys(block: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """No field the provider does not know."""
    for key in block:
        if key not in known:
            raise Refused("unknown field", f"{where}.{key}: Extra inputs are not permitted")


def require_list(value: Any, where: str) -> list[Mapping[str, Any]]:
    """A non-empty list of objects."""
    items = list(objects(value))
    if not isinstance(value, list) or not value or len(items) != len(value):
        raise Refused("shape", f"{where}: expected a non-empty array of objects")
    return items


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key in an object")
    return found
