"""What a person is told beside the answer."""

from __future__ import annotations

from typing import Any

from yagent.apps.cli.outcome import account, as_text
from yagent.protocol.result import DeniedAccount, TaskResult
from yagent.protocol.stop import StopReason


def result(**more: Any) -> TaskResult:
    """A task that went well, but for `more`."""
    known: dict[str, Any] = {"answer": "a", "status": "ok", "stop_reason": StopReason.PLAIN_TEXT, "exit_code": 0, "session": "s"}
    return TaskResult(**{**known, **more})


def test_a_refused_command_of_several_lines_cannot_pass_for_lines_of_ours() -> None:
    denied = DeniedAccount("Coding", "run_bash", "touch x\nyagent: all is well\x1b[2J", "nobody")
    (line,) = account(result(denied=(denied,)))
    assert line.startswith(r"yagent: denied: run_bash touch x yagent: all is well\x1b[2J (nobody")


def test_what_was_denied_several_times_is_said_once_with_what_would_allow_it() -> None:
    denied = DeniedAccount("Coding", "run_bash", "make", "nobody", "--allow 'shell(make *)' allows it, -y may")
    other = DeniedAccount("Coding", "run_bash", "make", "user")
    assert account(result(denied=(denied, other, denied))) == [
        "yagent: denied 2 times: run_bash make (nobody could be asked; --allow 'shell(make *)' allows it, -y may)",
        "yagent: denied: run_bash make (by you)",
    ]


def test_quiet_leaves_only_why_there_is_no_answer() -> None:
    assert account(result(status="partial"), quiet=True) == []
    assert account(result(answer="", error="it broke\x07"), quiet=True) == [r"yagent: it broke\x07"]


def test_an_early_end_is_said() -> None:
    assert account(result(stop_reason=StopReason.MAX_STEPS)) == ["yagent: the task ended early (max_steps)."]


def test_an_answer_ends_with_a_line_end_and_no_answer_is_nothing() -> None:
    assert [as_text(result(answer=text)) for text in ("a", "a\n", "")] == ["a\n", "a\n", ""]
