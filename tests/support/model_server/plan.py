"""What the server does with one request: a status, headers, and steps. Here trouble turns into steps."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tests.support.model_server.reply import Chaos, Reply
from tests.support.model_server.view import Dialect
from tests.support.model_server.wire import encode, error_body, error_event
from yagent.protocol.messages import Usage

PAGE = b"<!DOCTYPE html><html><head><title>Gateway</title></head><body><h1>Welcome</h1><p>Please sign in.</p></body></html>"
_STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes of the body, one chunk on the wire."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Time that passes, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of what the server does: properly, by closing inside a chunk, by a reset, or by silence until the client leaves."""

    how: Literal["end", "close", "reset", "hang"] = "end"


Step: TypeAlias = Send | Pause | Stop
_ENDS = {"close_mid_stream": Stop("close"), "hang_mid_stream": Stop("hang")}


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole answer. `status` 0 sends no header at all; `length` sends one body with its length instead of chunks."""

    status: int
    headers: Mapping[str, str]
    steps: tuple[Step, ...]
    delivers: bool = True
    length: int | None = None


def whole(status: int, content_type: str, body: bytes, headers: Mapping[str, str] | None = None, *, delivers: bool = False) -> Plan:
    """An answer that is not a stream."""
    return Plan(status, {"content-type": content_type, **(headers or {})}, (Send(body), Stop()), delivers, len(body))


def plan(dialect: Dialect, reply: Reply, usage: Usage | None, number: int, trouble: Chaos | None) -> Plan:
    """The steps of a reply, with one trouble or none."""
    events = encode(dialect, reply if trouble is None else replace(reply, chaos=(trouble,)), usage, number)
    if trouble is None:
        return _stream(_paced(events, reply.pace))
    if trouble.kind == "status":
        return _status(dialect, trouble)
    if trouble.kind in {"reset_before_headers", "hang_before_headers"}:
        return Plan(0, {}, (Stop("reset" if trouble.kind.startswith("reset") else "hang"),), delivers=False)
    if trouble.kind == "html_page":
        return whole(200, "text/html; charset=utf-8", PAGE)
    return _troubled(dialect, reply, events, trouble)


def _troubled(dialect: Dialect, reply: Reply, events: list[bytes], trouble: Chaos) -> Plan:
    steps = _paced(events, reply.pace)
    match trouble.kind:
        case "wrong_content_type":
            return _stream(steps, content_type="text/plain")
        case "keep_alives":
            beats: list[Step] = [step for _ in range(trouble.count) for step in (Send(b": keep-alive\n\n"), Pause(trouble.seconds))]
            return _stream([*beats, *steps])
        case "open_after_end":
            return _stream(steps, Stop("hang"))
        case "repeated_ids":
            return _stream(steps)
        case "end_without_mark":
            return _stream(_paced(events[: _end_of_words(events)], reply.pace), delivers=False)
        case "truncated_call":
            return _stream(_paced(_without_half_call(events), reply.pace), delivers=False)
        case "error_in_stream":
            kept = events[: int(len(events) * trouble.share)]
            return _stream(_paced([*kept, error_event(dialect, trouble.code, trouble.message)], reply.pace), delivers=False)
    return _stream(_cut(b"".join(events), trouble), _ENDS.get(trouble.kind, Stop("reset")), delivers=False)


def _stream(steps: list[Step], stop: Stop | None = None, *, content_type: str = _STREAM, delivers: bool = True) -> Plan:
    return Plan(200, {"content-type": content_type, "cache-control": "no-cache"}, (*steps, stop or Stop()), delivers)


def _paced(events: list[bytes], pace: float) -> list[Step]:
    if not pace:
        return [Send(event) for event in events]
    steps: list[Step] = [step for event in events for step in (Send(event), Pause(pace))]
    return steps[:-1]


def _status(dialect: Dialect, trouble: Chaos) -> Plan:
    body = trouble.body if trouble.body is not None else error_body(dialect, trouble.status, trouble.message)
    content_type = "text/html" if body.lstrip().startswith(b"<") else "application/json"
    return whole(trouble.status, content_type, body, trouble.headers)


def _cut(stream: bytes, trouble: Chaos) -> list[Step]:
    at = int(len(stream) * trouble.share)
    if trouble.kind == "reset_mid_character":
        inside = [index for index, byte in enumerate(stream) if 0x80 <= byte < 0xC0]
        at = min(inside, key=lambda index: abs(index - at)) if inside else at
    return [Send(stream[:at])] if at else []


def _end_of_words(events: list[bytes]) -> int:
    """Where the reply says why it ends; a server that loses its end loses all from here."""
    signs = (b'"finish_reason": "', b"event: message_delta", b"event: response.completed", b"event: response.incomplete")
    return next(index for index, event in enumerate(events) if any(sign in event for sign in signs))


def _without_half_call(events: list[bytes]) -> list[bytes]:
    """Drop the second half of the last call's argument pieces and every event that repeats the whole."""
    signs = (b'"arguments": ', b"partial_json", b"arguments.delta")
    pieces = [index for index, event in enumerate(events) if any(sign in event for sign in signs)]
    lost = set(pieces[len(pieces) // 2 :])
    return [event for index, event in enumerate(events) if index not in lost]
