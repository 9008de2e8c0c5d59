"""`yagent sessions export`: a session in one file."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.cli.recorded import a_whole_session, ended, meta, rollouts, run, write
from tests.apps.cli.recorded import project as project
from yagent.apps.cli.sessions.markdown import code, fenced
from yagent.protocol.messages import Message, Text, ToolCall, ToolResult, result_message, user_message
from yagent.protocol.stop import USAGE
from yagent.rollout.reader import read
from yagent.rollout.records import Record, ResponseItem, SessionMeta, message_to_json

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "protocol/session-export.schema.json").read_text())


def document(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    exit_code, out, err = run(capfd, "export", *arguments, "--format", "json")
    assert (exit_code, err) == (0, "")
    assert out.isascii()
    found: dict[str, Any] = json.loads(out)
    jsonschema.validate(found, SCHEMA)
    return found


def test_the_document_holds_every_message_whole(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    found = document(capfd, "abc")
    recorded = [
        (entry.ordinal, message_to_json(entry.record.message))
        for path in sorted(rollouts(project).iterdir())
        if path.suffix == ".jsonl"
        for entry in read(path)
        if isinstance(entry.record, ResponseItem)
    ]
    told = [(each["ordinal"], {name: each[name] for name in ("role", "parts", "origin") if name in each}) for each in found["messages"]]
    assert told == sorted(recorded, key=lambda each: each[0])
    assert [each["agent"] for each in found["messages"]] == ["director", "director", "coding", "director"]
    assert found["messages"][1]["usage"] == {"total_input": 100, "output": 20, "cached": 0, "cache_written": None, "reasoning": None}
    assert found["messages"][0]["usage"] is None


def test_the_document_tells_session_agents_events_and_what_could_not_be_read(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    found = document(capfd, "abc")
    assert found["session"]["id"] == "abcd1"
    assert found["session"]["project_dir"] == str(project)
    director, coding = found["agents"]
    assert (director["agent"], director["stop_reason"]) == ("director", "agent_exit")
    assert (coding["agent"], coding["delegation_id"], coding["task"], coding["stop_reason"]) == ("coding", "call_1", "fix it", "max_steps")
    assert [each["name"] for each in found["events"]] == ["turn_context", "agent_activity", "turn_aborted", "task_complete"]
    assert found["unreadable"] == {"count": 1, "lines": ["20260101-100000_abcd1.jsonl, line 5: 4 bytes skipped (zero bytes)"]}


def test_one_role_is_exported_alone(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    assert {each["agent"] for each in document(capfd, "abc", "--agent", "coding")["messages"]} == {"coding"}
    assert "Fixed." in run(capfd, "export", "abc", "--agent", "coding")[1]
    assert run(capfd, "export", "abc", "--agent", "nobody")[0] == USAGE


def test_a_session_without_anything_is_a_document_all_the_same(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, "20260101-100000_bare.jsonl", meta("bare", project))
    assert document(capfd, "bare")["messages"] == []
    assert run(capfd, "export", "bare")[1].startswith("# Session `bare`\n")


def test_markdown_has_a_heading_for_each_task_and_links_to_each_delegation(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    exit_code, out, err = run(capfd, "export", "abcd1")
    assert (exit_code, err) == (0, "")
    assert re.findall(r"^#+ .*", out, flags=re.MULTILINE) == [
        "# Session `abcd1`",
        "## Task 1: `Fix the rounding in total(), please`",
        "## `coding`",
        "## What could not be read",
    ]
    assert "called `delegate_coding` (`call_1`), 2026-01-01 10:00:00 UTC → [coding](#agent-1):" in out
    assert '<a id="agent-1"></a>' in out
    assert "asked for by [director](#agent-0):" in out
    assert out.count("line\n") >= 500, "results are whole"
    assert "*Ended: `max_steps, partial, 9 steps`.*" in out


def test_a_second_task_and_one_with_context_have_headings_of_their_own(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wrapped = "<workspace>here</workspace>\n\n<request>\nthe first\n</request>"
    answer = ResponseItem(Message("assistant", (Text("done"),)))
    reminder = ResponseItem(user_message("delegate, please"))
    items: list[Record] = [
        ResponseItem(user_message(wrapped)),
        answer,
        reminder,
        answer,
        ended("plain_text"),
        ResponseItem(user_message("the second")),
    ]
    write(project, "20260101-100000_two.jsonl", meta("two", project), *items)
    out = run(capfd, "export", "two")[1]
    assert re.findall(r"^## .*", out, flags=re.MULTILINE) == ["## Task 1: `the first`", "## Task 2: `the second`"]
    assert "<details><summary>What was sent with it</summary>\n\n```text\n<workspace>here</workspace>\n```\n\n</details>" in out
    assert "was told by the user" in out


HOSTILE = "</details>\n```\n# Owned\n````\n![x](http://evil/)\x1b[31m\u202e<script>`` `"


def test_foreign_text_stays_inside_its_fence(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        project,
        "20260101-100000_evil.jsonl",
        meta("evil", project, HOSTILE),
        ResponseItem(user_message(HOSTILE)),
        ResponseItem(Message("assistant", (Text(HOSTILE), ToolCall("`x`", "a`b", HOSTILE)))),
        ResponseItem(result_message(ToolResult("`x`", "a`b", HOSTILE))),
    )
    out = run(capfd, "export", "evil")[1]
    assert "\x1b" not in out
    assert "\u202e" not in out
    outside = _outside_of_fences(out)
    assert not any(trace in _without_code(outside) for trace in ("Owned", "evil/", "<script>"))
    assert "`` a`b ``" in outside


def _outside_of_fences(text: str) -> str:
    """What a Markdown reader takes for Markdown."""
    kept, fence = [], ""
    for line in text.splitlines():
        ticks = re.match(r"`{3,}", line)
        if fence:
            if line == fence:
                fence = ""
        elif ticks:
            fence = ticks[0]
        else:
            kept.append(line)
    assert not fence
    return "\n".join(kept)


def _without_code(text: str) -> str:
    return re.sub(r"(`+) ?.*? ?\1(?!`)", "", text)


@given(st.text(alphabet="`~ \nab\x1b\u202e\ud800", max_size=60))
def test_nothing_closes_a_fence_but_its_end(text: str) -> None:
    assert not _outside_of_fences(fenced(text)).strip()
    assert _without_code(code(text)).strip() == ""
    assert "\n" not in code(text)


def test_a_file_is_written_whole_private_and_only_once(project: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    target = tmp_path / "out.md"
    printed = run(capfd, "export", "abcd1")[1]
    assert run(capfd, "export", "abcd1", "-o", str(target)) == (0, "", f"yagent: written: {target}\n")
    assert target.read_text() == printed
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.write_text("mine")
    exit_code, _, err = run(capfd, "export", "abcd1", "-o", str(target))
    assert exit_code == USAGE
    assert "replace it with --force" in err
    assert target.read_text() == "mine"
    assert run(capfd, "export", "abcd1", "-o", str(target), "--force")[0] == 0
    assert target.read_text() == printed


@pytest.mark.parametrize("place", ["missing/out.md", "."])
def test_a_place_that_cannot_be_written_is_wrong_usage_and_leaves_nothing(
    project: Path, place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    a_whole_session(project)
    before = sorted(project.iterdir())
    exit_code, _, err = run(capfd, "export", "abcd1", "-o", place)
    assert exit_code != 0
    assert err.startswith("yagent: ")
    assert sorted(project.iterdir()) == before


def test_a_fork_says_where_it_begins(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        project,
        "20260101-100000_fork.jsonl",
        SessionMeta("fork", "director", str(project), "1", forked_from={"session": "old", "ordinal": 7}),
    )
    assert "- Begins within session `old`, after its record `7`" in run(capfd, "export", "fork")[1]
    assert document(capfd, "fork")["session"]["forked_from"] == {"session": "old", "ordinal": 7}
