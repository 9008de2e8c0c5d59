"""What a person is told beside the answer."""

from __future__ import annotations

from typing import Any

import pytest

from yagent.apps.cli.outcome import account, as_text, summary
from yagent.protocol.messages import Usage
from yagent.protocol.result import DelegationAccount, DeniedAccount, FileChange, TaskResult, Verification
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


def test_the_run_is_summed_up_in_one_line() -> None:
    files = tuple(FileChange(f"{name}.py", "modified") for name in "abcd")
    done = DelegationAccount("c1", "coding#1", "coding", "t", "ok", StopReason.AGENT_EXIT, 3)
    whole = result(files_changed=files, delegations=(done, done), usage=Usage(total_input=11_000, output=1400), cost=0.031)
    said = summary(whole, 34.2)
    assert said == "session s · 4 files changed (a.py, b.py, c.py, …) · 2 delegations · 12k tokens, $0.03 · 34 s"


@pytest.mark.parametrize("state", ["verified", "unverified", "stale"])
def test_the_summary_says_whether_what_was_changed_is_proven(state: Verification) -> None:
    files = (FileChange("a.py", "modified"),)
    assert summary(result(files_changed=files, verification=state), 1.0) == f"session s · 1 file changed (a.py) · {state} · 1 s"
    assert summary(result(verification=state), 1.0) == "session s · 1 s"


def test_an_unfinished_task_is_called_what_it_is_whatever_its_answer_says() -> None:
    assert account(result(status="partial")) == ["yagent: the result is partial: the Director did not call the task complete."]


def test_what_is_unknown_or_nothing_is_left_out_of_the_summary() -> None:
    assert summary(result(), 125.0) == "session s · 2 min 5 s"
    assert summary(result(usage=Usage(total_input=1200), cost=0.001), 0.2) == "session s · 1.2k tokens, under $0.01 · 0 s"
