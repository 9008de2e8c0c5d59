"""What a recorded model says when its conversation was cut short inside calls: the same again, as a good model would.

A recording holds no words for calls that came to nothing or whose outcome nobody knows. The next recorded reply would take them for done,
so they are made up for first. That one of them had its effect after all is harmless: the tool says so, and nothing is compared.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from yagent.protocol.messages import Message, ToolCall, ToolResult

IsOpen: TypeAlias = Callable[[ToolResult], bool]
AGAIN: Final = "-again"


def turns_said(messages: Sequence[Message], is_open: IsOpen) -> int:
    """How many turns of the recording a conversation holds: each reply is one, those aside that said open calls again."""
    turns, open_before = 0, list[tuple[str, str]]()
    for reply, results in _replies(messages):
        if not open_before or _asked(reply.calls) != open_before:
            turns += 1
        open_before = _asked(_open_calls(reply, results, is_open))
    return turns


def said_again(messages: Sequence[Message], is_open: IsOpen) -> Message | None:
    """The newest reply with only its open calls, under new ids; None when none of them is open."""
    newest = list(_replies(messages))[-1:]
    calls = [call for reply, results in newest for call in _open_calls(reply, results, is_open)]
    if not calls:
        return None
    reply = newest[0][0]
    known = {call.id for message in messages for call in message.calls}
    again = {call.id: replace(call, id=_new_id(call.id, known)) for call in calls}
    said = (again.get(part.id) if isinstance(part, ToolCall) else part for part in reply.parts)
    return replace(reply, parts=tuple(part for part in said if part is not None))


def _replies(messages: Sequence[Message]) -> Iterator[tuple[Message, list[ToolResult]]]:
    """Each reply with the results that follow it."""
    reply, results = None, list[ToolResult]()
    for message in messages:
        if message.role == "assistant":
            if reply is not None:
                yield reply, results
            reply, results = message, []
        results.extend(message.results)
    if reply is not None:
        yield reply, results


def _open_calls(reply: Message, results: Sequence[ToolResult], is_open: IsOpen) -> list[ToolCall]:
    opened = {result.call_id for result in results if is_open(result)}
    return [call for call in reply.calls if call.id in opened]


def _asked(calls: Sequence[ToolCall]) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls]


def _new_id(call_id: str, known: set[str]) -> str:
    while call_id in known:
        call_id += AGAIN
    return call_id
