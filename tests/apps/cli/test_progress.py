"""What people see of a run while it goes on, the same words on a terminal as in a pipe."""

from __future__ import annotations

from itertools import count

import pytest

from yagent.apps.cli.progress import Lines
from yagent.protocol.events import DelegationEnded, DelegationStarted, Event, LlmRetry, Payload, ToolCallResult, ToolCallStart

NUMBERS = count(1)


def event(payload: Payload, delegation: str | None = None) -> Event:
    """An event of the Director, or of a delegation."""
    number = next(NUMBERS)
    return Event(payload=payload, id=str(number), source="x", priority=payload.priority, timestamp="", seq=number, delegation_id=delegation)


def lines(*events: Event) -> list[str]:
    """The lines people read of these events."""
    shown = Lines()
    return [line for each in events if (line := shown.of(each))]


def called(result: str, *, summary: str, ok: bool) -> list[str]:
    """The lines of one command and its result."""
    start = ToolCallStart(call_id="c", name="run_bash", arguments='{"command": "make"}')
    end = ToolCallResult(call_id="c", name="run_bash", ok=ok, text=result, summary=summary, duration_ms=1)
    return lines(event(start), event(end))


def test_a_denied_call_says_why_first_and_what_it_was_once() -> None:
    text = "run_bash (make) needs an approval and nobody can give one in this run. Why it was asked: …"
    assert called(text, summary="denied: nobody could be asked. make may do anything.", ok=False) == [
        "✗ run_bash make: denied: nobody could be asked. make may do anything."
    ]


def test_calls_tell_their_summary_or_their_error() -> None:
    assert called("ok", summary="exit 0", ok=True) == ["✓ run_bash make (exit 0)"]
    assert called("no", summary="exit 2", ok=True) == ["✗ run_bash make (exit 2)"]
    assert called("It broke.", summary="", ok=False) == ["✗ run_bash make: It broke."]


def test_a_tool_is_named_once() -> None:
    assert called('run_bash was not executed: "command" is missing', summary="not executed", ok=False) == [
        '✗ run_bash make: was not executed: "command" is missing'
    ]


def test_names_are_read_as_names_and_once() -> None:
    start = ToolCallStart(call_id="c", name="load_tool", arguments='{"names": ["design", "micro_agent"]}')
    end = ToolCallResult(call_id="c", name="load_tool", ok=True, text="# design …", summary="2 shown", duration_ms=1)
    assert lines(event(start), event(end)) == ["✓ load_tool design, micro_agent (2 shown)"]


def test_a_retry_is_one_sentence() -> None:
    retry = LlmRetry(reason="The server answered 500: unknown.", delay_seconds=2.0, attempt=1)
    assert lines(event(retry)) == ["! The server answered 500: unknown; next try in 2 s"]


def test_the_work_of_a_delegation_is_indented_below_its_name() -> None:
    begun = DelegationStarted(delegation_id="d", agent="coding", name="coding#2", task="fix it")
    over = DelegationEnded(
        delegation_id="d", agent="coding", task="fix it", status="ok", stop_reason="agent_exit", steps=1, duration_ms=1500
    )
    assert lines(event(begun, "d"), event(over, "d")) == ["  coding#2 ▸ fix it", "  coding#2 ✓ ok: 1 step, 1.5 s"]


@pytest.mark.parametrize(("reason", "word"), [("cancelled", "stopped"), ("paused", "paused")])
def test_what_the_user_stopped_is_no_error(reason: str, word: str) -> None:
    begun = DelegationStarted(delegation_id="d", agent="coding", name="coding#2", task="fix it")
    over = DelegationEnded(delegation_id="d", agent="coding", task="fix it", status="error", stop_reason=reason, steps=2, duration_ms=1500)
    assert lines(event(begun, "d"), event(over, "d"))[1:] == [f"  coding#2 ■ {word}: 2 steps, 1.5 s"]
    assert called("run_bash was cancelled before it finished.", summary="cancelled", ok=False) == ["■ run_bash make: stopped"]
