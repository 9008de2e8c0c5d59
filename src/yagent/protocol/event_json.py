"""Events as JSON objects, in the form of `protocol/agent-events.schema.json`, and back."""

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from yagent.errors import YagentError
from yagent.protocol.events import PAYLOADS, Event


class InvalidEvent(YagentError):
    """A JSON object is not an event of this version. The text names the key and what was expected there."""


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON data: the frame's keys, `type` and `content`."""
    frame = {name: _plain(getattr(event, name)) for name in _hints(Event) if name != "payload"}
    return {"type": event.type, **frame, "content": _plain(event.payload)}


def to_json_line(event: Event) -> str:
    """The event on one line, without the line end.

    A line with anything unprintable in it (lone surrogates of file names, the line separators that some readers split at, terminal and
    direction controls) is written in ASCII with JSON escapes, so that every line can be encoded, split and shown.
    """
    data = to_json(event)
    line = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return line if line.isprintable() else json.dumps(data, separators=(",", ":"))


def from_json(data: Mapping[str, Any]) -> Event:
    """The event that `to_json` gave this data for. Keys of later versions are ignored; anything else that differs is InvalidEvent."""
    kind = data.get("type")
    payload_class = PAYLOADS.get(kind) if isinstance(kind, str) else None
    if payload_class is None:
        raise InvalidEvent(f"event: {kind!r} is no event type of this version; update yagent or skip the event")
    payload = _record(payload_class, data.get("content"), "content")
    frame = {name: _value(hint, data, name, "event") for name, hint in _hints(Event).items() if name != "payload"}
    return Event(payload=payload, **frame)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__dataclass_fields__"):
        record: Any = type(value)
        return {name: _plain(getattr(value, name)) for name in _hints(record)}
    return value


@cache
def _hints(record: Any) -> dict[str, Any]:
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


def _record(record: Any, data: Any, place: str) -> Any:
    if not isinstance(data, Mapping):
        raise InvalidEvent(f"event: {place} must be an object, not {type(data).__name__}")
    return record(**{name: _value(hint, data, name, place) for name, hint in _hints(record).items()})


def _value(hint: Any, data: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in data:
        raise InvalidEvent(f"event: {place} lacks the key {name}")
    return _converted(hint, data[name], f"{place}.{name}")


def _converted(hint: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return None if value is None else _converted(inner, value, place)
    if origin is tuple and isinstance(value, list):
        return tuple(_converted(arguments[0], item, f"{place}[{index}]") for index, item in enumerate(value))
    if origin is Literal and value in arguments:
        return value
    if hasattr(hint, "__dataclass_fields__"):
        return _record(hint, value, place)
    if origin is Mapping and isinstance(value, Mapping):
        return {key: _converted(arguments[1], item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(hint, type) and _is_instance(hint, value):
        return value
    raise InvalidEvent(f"event: {place} is {value!r:.80}, which is not {getattr(hint, '__name__', None) or hint}")


def _is_instance(expected: type[Any], value: Any) -> bool:
    """JSON has one kind of number: an integer fits where a number is wanted, a truth value never does."""
    if isinstance(value, bool):
        return expected is bool
    return isinstance(value, int | float if expected is float else expected)
