"""Records as files, and the commands that read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yagent.apps.cli.main import main
from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolResult, Usage, result_message, user_message
from yagent.rollout.records import EventMessage, Record, ResponseItem, SessionMeta, TurnContext, encode
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.paths import DataHome, project_id

TASK = "Fix the rounding in total(),\nplease"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


def rollouts(project: Path) -> Path:
    return DataHome.from_environment(os.environ, Path(os.environ["HOME"])).rollout_dir(project_id(str(project)))


def write(project: Path, name: str, *records: Record, at: str = "2026-01-01T10:00:00+00:00", first: int = 1) -> Path:
    make_private_directory(rollouts(project))
    path = rollouts(project) / name
    path.write_bytes(b"".join(encode(first + index, at, record) for index, record in enumerate(records)))
    return path


def meta(session: str, project: Path, task: str = TASK) -> SessionMeta:
    return SessionMeta(session, "director", str(project), "1.2.3", task=task)


def ended(reason: str) -> EventMessage:
    return EventMessage("task_complete", {"stop_reason": reason, "status": "ok", "steps": 3, "error": ""})


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["sessions", *arguments])
    out, err = capfd.readouterr()
    assert isinstance(end.value.code, int | None)
    return end.value.code or 0, out, err


def a_whole_session(project: Path) -> None:
    call = ToolCall("call_1", "delegate_coding", '{"task": "fix it\\nwell", "context_refs": ["agent:repo"]}')
    odd = ToolCall("call_2", "read_file", "{}", malformed="{path:")
    usage = Usage(total_input=100, output=20, cached=0)
    write(
        project,
        "20260101-100000_abcd1.jsonl",
        meta("abcd1", project),
        TurnContext("acme", "model-9", "openai", "hash", "hash", str(project), "en"),
        ResponseItem(user_message(TASK)),
        ResponseItem(Message("assistant", (Reasoning("Hm."), Text("<thought>goal: x</thought>On it."), call, odd)), usage),
    )
    write(
        project,
        "20260101-100001_abcd1_coding.jsonl",
        SessionMeta("abcd1", "coding", str(project), "1.2.3", "call_1", task="fix it"),
        ResponseItem(Message("assistant", (Text("Fixed."),))),
        EventMessage("agent_activity", {"step": 1}),
        EventMessage("turn_aborted", {"stop_reason": "max_steps", "status": "partial", "steps": 9, "error": "Too many steps."}),
        first=5,
    )
    path = rollouts(project) / "20260101-100000_abcd1.jsonl"
    last: list[Record] = [
        ResponseItem(
            result_message(ToolResult("call_1", "delegate_coding", "line\n" * 500), ToolResult("call_2", "read_file", "bad", is_error=True))
        ),
        ended("agent_exit"),
    ]
    with path.open("ab") as stream:
        stream.write(b"\0\0\0\n" + b"".join(encode(9 + index, "2026-01-01T10:00:09+00:00", record) for index, record in enumerate(last)))
