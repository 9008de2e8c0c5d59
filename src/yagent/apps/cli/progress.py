"""What a run is doing, as plain lines on standard error: one for each thing worth knowing, none for every token."""

import json
import os
from collections.abc import Callable, Mapping

from yagent.protocol.events import (
    ContextLoaded,
    DelegationEnded,
    DelegationStarted,
    Event,
    LlmRetry,
    ThinklinkEntry,
    ToolCallResult,
    ToolCallStart,
    WarningIssued,
)
from yagent.protocol.stop import StopReason
from yagent.protocol.visible import visible
from yagent.records import dataclass

STOPPED: Mapping[str, str] = {StopReason.CANCELLED: "stopped", StopReason.PAUSED: "paused"}
CUT_SHORT: Mapping[str, str] = {"cancelled": "stopped", "not run": "not run"}  # summaries of calls
WIDTH = 160  # characters of a progress line
Write = Callable[[str], None]


def write_to_standard_error(text: str) -> None:
    """Write a line; a closed standard error is nobody's loss."""
    try:
        os.write(2, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return


def one_line(text: str, width: int = WIDTH) -> str:
    """Foreign text as one harmless line of at most `width` characters."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tree of agents somebody works, and what they are called: `repo#2`, "" for the Director."""

    depth: int = 0
    label: str = ""


class Agents:
    """Everybody who works in this task."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {"": Place()}

    def started(self, begun: DelegationStarted) -> None:
        """Somebody new began to work."""
        above = self.of(begun.parent_delegation_id)
        self._places[begun.delegation_id] = Place(above.depth + 1, begun.name)

    def of(self, delegation: str | None) -> Place:
        """Who works for a delegation."""
        return self._places.get(delegation or "", Place())


class Lines:
    """Turns the events of a task into the lines that people read of it, each indented below whoever asked for the work."""

    def __init__(self) -> None:
        self._agents = Agents()
        self._calls: dict[str, str] = {}

    def of(self, event: Event) -> str:
        """The line of one event, "" for those that need none."""
        if isinstance(event.payload, DelegationStarted):
            self._agents.started(event.payload)
        line = describe(event, self._calls)
        place = self._agents.of(event.delegation_id)
        return f"{'  ' * place.depth}{place.label}{' ' if place.label else ''}{line}" if line else ""


class PlainProgress:
    """Lines for a pipe or a log."""

    def __init__(self, write: Write = write_to_standard_error) -> None:
        self._write = write
        self._lines = Lines()

    def show(self, event: Event) -> None:
        """Draw one event."""
        line = self._lines.of(event)
        if line:
            self._write(line)

    def say(self, line: str) -> None:
        """Draw a line that no event says."""
        self._write(line)

    def rest(self) -> None:
        """Lines leave nothing behind."""

    def go_on(self) -> None:
        """Nothing was drawn that is missing."""

    def close(self) -> None:
        """Nothing is held back."""


def ending(ended: DelegationEnded) -> tuple[str, str]:
    """How a delegation ended: a mark and a word. What was stopped is no error."""
    if ended.stop_reason in STOPPED:
        return "■", STOPPED[ended.stop_reason]
    return "✓" if ended.status == "ok" else "✗", ended.status


def describe(event: Event, calls: dict[str, str]) -> str:
    """One event in one line, "" for those that need none. `calls` remembers what running calls were about."""
    payload = event.payload
    match payload:
        case DelegationStarted():
            return f"▸ {one_line(payload.task)}"
        case DelegationEnded():
            steps = "1 step" if payload.steps == 1 else f"{payload.steps} steps"
            mark, word = ending(payload)
            return f"{mark} {word}: {steps}, {payload.duration_ms / 1000:.1f} s"
        case ToolCallStart():
            calls[payload.call_id] = subject_of(payload)
            return ""
        case ToolCallResult():
            return _result(payload, calls.pop(payload.call_id, payload.name))
        case ThinklinkEntry(kind="thought"):
            return f"… {one_line(payload.step or payload.goal or '')}"
        case LlmRetry():
            return f"! {one_line(payload.reason).rstrip('.')}; next try in {payload.delay_seconds:.0f} s"
        case ContextLoaded():
            return f"· read {', '.join(payload.files)}"
        case WarningIssued():
            return f"! {one_line(payload.text, 400)}"
        case _:
            return ""


def _result(payload: ToolCallResult, subject: str) -> str:
    """Delegations have lines of their own."""
    if payload.name.startswith("delegate_"):
        return ""
    if payload.summary.startswith("denied: "):
        return f"✗ {subject}: {one_line(payload.summary, 200)}"
    if not payload.ok and payload.summary in CUT_SHORT:
        return f"■ {subject}: {CUT_SHORT[payload.summary]}"
    summary = f" ({one_line(payload.summary, 40)})" if payload.summary else ""
    failed = payload.summary.startswith("exit ") and payload.summary.split()[:2] != ["exit", "0"]
    return f"{'✗' if failed else '✓'} {subject}{summary}" if payload.ok else f"✗ {subject}: {_why(payload)}"


def _why(payload: ToolCallResult) -> str:
    """What went wrong with a call whose tool is named already."""
    return one_line(payload.text.removeprefix(f"{payload.name} "), 100)


def subject_of(call: ToolCallStart) -> str:
    """A call in few words: its tool and the argument that says most."""
    return one_line(f"{call.name} {_telling_argument(call.arguments)}")


def _telling_argument(arguments: str) -> str:
    try:
        values = json.loads(arguments)
    except ValueError:
        return arguments
    if not isinstance(values, dict):
        return arguments
    for name in ("command", "path", "source", "pattern", "question", "task", "reason", "names", "prompt"):
        if name in values:
            start = values.get("start_line")
            value = ", ".join(map(str, values[name])) if isinstance(values[name], list) else values[name]
            return f"{value}:{start}" if start else str(value)
    return ""
