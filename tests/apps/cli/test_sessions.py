"""`yagent sessions`: what people read of a record."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apps.cli.recorded import TASK, a_whole_session, ended, meta, rollouts, run, write
from tests.apps.cli.recorded import project as project
from tests.support.virtual_time import VirtualClock
from yagent.apps.cli.sessions.listing import how_it_ended
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import Message, ToolCall, ToolResult, result_message, user_message
from yagent.protocol.stop import USAGE, StopReason
from yagent.rollout.index import SessionSummary
from yagent.rollout.records import EventMessage, ResponseItem, SessionMeta
from yagent.rollout.writer import Numbers, SessionLog
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.supervise import Domain


def test_sessions_are_listed_newest_first_with_reason_and_first_words(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, "20260101-100000_aaaa.jsonl", meta("aaaa", project), ended("agent_exit"))
    write(
        project, "20260102-100000_bbbb.jsonl", meta("bbbb", project, "[bold]x[/bold] \x1b[31m" + "y" * 200), at="2026-01-02T10:00:00+00:00"
    )
    code, out, err = run(capfd, "list")
    newest, oldest = out.splitlines()
    assert (code, err) == (0, "")
    assert re.fullmatch(r"bbbb  2026-01-02 \d\d:\d\d  unfinished  can go on: resume ID  \[bold\]x\[/bold\] \\x1b\[31my+…", newest)
    assert re.fullmatch(r"aaaa  2026-01-01 \d\d:\d\d  answered    can go on: -r ID -p   Fix the rounding in total\(\), please", oldest)


@pytest.mark.parametrize("reason", StopReason)
def test_how_a_session_ended_is_said_in_words(project: Path, reason: StopReason) -> None:
    said = how_it_ended(SessionSummary("s", project, "", "", "", reason.value, "ok"))
    assert said
    assert "_" not in said


def test_a_session_whose_calls_were_denied_or_that_gave_up_says_so(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data: dict[str, object] = {"stop_reason": "agent_exit", "steps": 1, "error": ""}
    ends: list[dict[str, object]] = [{"status": "ok", "denied": 2}, {"status": "partial"}, {"status": "error"}]
    for number, end in enumerate(ends):
        name = f"2026010{number + 1}-100000_s{number}.jsonl"
        write(project, name, meta(f"s{number}", project, "x"), EventMessage("task_complete", {**data, **end}))
    said = [re.split("  +", line)[2] for line in run(capfd, "list")[1].splitlines()]
    assert said == ["failed: gave up", "answered in part", "answered, 2 denied"]


def test_sessions_of_all_directories_are_listed_on_request(project: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(project, "20260101-100000_aaaa.jsonl", meta("aaaa", project, "x"), ended("plain_text"))
    write(elsewhere, "20260102-100000_bbbb.jsonl", meta("bbbb", elsewhere, "x"), ended("cancelled"), at="2026-01-02T10:00:00+00:00")
    assert [line[:4] for line in run(capfd, "list")[1].splitlines()] == ["aaaa"]
    newest, oldest = run(capfd, "list", "--all")[1].splitlines()
    assert re.fullmatch(rf"bbbb  .*  stopped   can go on: resume ID  {elsewhere}  x", newest)
    assert re.fullmatch(rf"aaaa  .*  answered  can go on: -r ID -p   {project} +x", oldest)
    elsewhere.rmdir()
    assert "  directory is gone  " in run(capfd, "list", "--all")[1].splitlines()[0]


def test_a_killed_run_says_which_call_has_no_known_outcome(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    calls = ToolCall("call_1", "read_file", "{}"), ToolCall("call_2", "run_bash", '{"command": "make"}')
    write(
        project,
        "20260101-100000_dead.jsonl",
        meta("dead", project),
        ResponseItem(Message("assistant", calls)),
        ResponseItem(result_message(ToolResult("call_1", "read_file", "x"))),
    )
    *_, torn, call = run(capfd, "show", "dead")[1].splitlines()
    assert torn.startswith("director has no terminal record")
    assert call.startswith("  run_bash (call_2) has no known outcome")


def test_the_list_has_a_limit(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        write(project, f"2026010{number + 1}-100000_s{number}.jsonl", meta(f"s{number}", project), ended("plain_text"))
    _, out, _ = run(capfd, "list", "--limit", "2")
    assert [line[:2] for line in out.splitlines()] == ["s4", "s3"]
    assert run(capfd, "list", "--limit", "0")[0] == USAGE


def test_a_directory_without_sessions_is_told_on_standard_error(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project.parent / "other", "20260101-100000_aaaa.jsonl", meta("aaaa", project))
    code, out, err = run(capfd, "list")
    assert (code, out) == (0, "")
    assert err == f"yagent: no session is recorded for {project}.\n"


def test_a_session_is_shown_whole_and_in_its_order(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    code, out, err = run(capfd, "show", "ab")
    told = re.sub(r"^\d\d:\d\d:\d\d ", "", out, flags=re.MULTILINE)
    clipped = "\n".join(["    line"] * 12)
    assert (code, err) == (0, "")
    assert (
        told
        == f"""director began: session abcd1 in {project}, yagent 1.2.3
    Fix the rounding in total(),
    please
director model: model-9 of acme (openai)
director was told by the user:
    Fix the rounding in total(),
    please
director thought:
    Hm.
director said:
    <thought>goal: x</thought>On it.
director called delegate_coding (call_1):
    task: fix it
    well
    context_refs: ["agent:repo"]
director called read_file (call_2):
    malformed: {{path:
director tokens: 100 in, 0 from cache, 20 out
coding began: delegation call_1 of session abcd1 in {project}, yagent 1.2.3
    fix it
coding said:
    Fixed.
coding ended: max_steps, partial, 9 steps
    Too many steps.
director got the result of delegate_coding (call_1):
{clipped}
    … 2441 more characters; --full shows them
director got an error of read_file (call_2):
    bad
director ended: agent_exit, ok, 3 steps
Not shown, because it could not be read (1):
  20260101-100000_abcd1.jsonl, line 5: 4 bytes skipped (zero bytes)
"""
    )


def test_full_shows_results_whole(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    assert run(capfd, "show", "abcd1", "--full")[1].count("\n    line\n") == 250  # every other one: matches do not overlap
    assert "--full" not in run(capfd, "show", "abcd1", "--full")[1]


def test_one_role_is_shown_alone(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    out = run(capfd, "show", "abcd", "--agent", "Coding")[1]
    assert {line.split()[1] for line in out.splitlines() if not line.startswith(" ")} == {"coding"}
    code, out, err = run(capfd, "show", "abcd", "--agent", "browser")
    assert (code, out) == (USAGE, "")
    assert "Roles: director, coding." in err


def test_an_ambiguous_id_is_said_to_be_one(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a_whole_session(project)
    write(project, "20260101-100000_abce.jsonl", meta("abce", project))
    code, out, err = run(capfd, "show", "abc")
    assert (code, out) == (USAGE, "")
    assert "2 sessions have an id that begins with 'abc'" in err
    assert "abcd1, abce" in err
    assert run(capfd, "show", "abce")[0] == 0


def test_a_session_of_another_directory_is_found_by_its_id(project: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "other", "20260101-100000_zzzz.jsonl", meta("zzzz", tmp_path / "other"))
    assert f"began: session zzzz in {tmp_path / 'other'}" in run(capfd, "show", "zz")[1]


def test_an_unknown_id_says_what_to_do(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "show", "nope")
    assert (code, out) == (USAGE, "")
    assert err == "yagent: No recorded session has an id that begins with 'nope'. See: yagent sessions list\n"


def test_control_characters_of_a_record_never_reach_the_screen(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        project, "20260101-100000_evil.jsonl", meta("evil", project, "\x1b]0;owned\x07"), ResponseItem(user_message("[red]\x1b[2J\u202e"))
    )
    out = run(capfd, "show", "evil")[1]
    assert "\x1b" not in out
    assert "\\x1b]0;owned\\x07" in out
    assert "[red]\\x1b[2J\\u{202e}" in out


def test_records_that_cannot_be_read_are_an_error(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(project, "20260101-100000_aaaa.jsonl", meta("aaaa", project))
    path.unlink()
    path.symlink_to("missing")
    code, _, err = run(capfd, "show", "aaaa")
    assert code == 1
    assert "The records cannot be read:" in err


async def test_what_the_writer_wrote_is_listed_and_shown(project: Path, clock: VirtualClock, capfd: pytest.CaptureFixture[str]) -> None:
    async with Domain("session") as domain:
        log = SessionLog(rollouts(project), "feed", "20260101-000000", Numbers(), clock, domain, make_private_directory)
        for agent in (AgentIdentity("director"), AgentIdentity("repo", "c1", 1)):
            writer = log.open(agent)
            writer.append(SessionMeta("feed", agent.role, str(project), "1", agent.delegation_id, task=TASK))
            writer.append(ended("agent_exit"))
            await writer.close()
    assert "feed" in run(capfd, "list")[1]
    assert "repo began: delegation c1" in run(capfd, "show", "feed")[1]


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_command_quietly(project: Path) -> None:
    write(project, "20260101-100000_long.jsonl", meta("long", project), *[ResponseItem(user_message("x" * 1000))] * 2000)
    source = Path(__file__).parents[3] / "src"
    command = [sys.executable, "-m", "yagent", "sessions", "show", "long"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=project) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        errors = process.stderr.read()
        assert (process.wait(30), errors) == (141, b"")


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_among_the_records_is_left_out_and_told(
    project: Path, put: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    write(project, "20260101-100000_abc.jsonl", meta("abc", project), ended("agent_exit"))
    put(rollouts(project) / "20260101-100001_abc_coding.jsonl")
    put(rollouts(project) / "20260101-100002_odd.jsonl")
    code, listed, told = run(capfd, "list")
    assert (code, listed.count("\n"), told) == (0, 1, "yagent: 20260101-100002_odd.jsonl: left out (not a regular file)\n")
    code, shown, _ = run(capfd, "show", "abc")
    assert code == 0
    assert "20260101-100001_abc_coding.jsonl: left out (not a regular file)" in shown


def test_a_result_that_replaced_an_earlier_one_is_told_as_such(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    call = ToolCall("call_1", "delegate_coding", "{}")
    results = [ResponseItem(result_message(ToolResult("call_1", "delegate_coding", text))) for text in ("stopped", "made it", "made it")]
    again = ResponseItem(Message("assistant", (call,)))
    words = ResponseItem(user_message("x"))
    write(project, "20260101-100000_aaaa.jsonl", meta("aaaa", project), words, again, *results, again, results[0], ended("agent_exit"))
    _, out, _ = run(capfd, "show", "aaaa")
    told = [line.split("got the result of ")[1] for line in out.splitlines() if "got the result" in line]
    once, instead = "delegate_coding (call_1):", "delegate_coding (call_1), in the place of the one before:"
    assert told == [once, instead, once, once]
    code, out, err = run(capfd, "show", "aaaa", "--steps")
    assert (code, out) == (0, "1  delegate_coding\n2  delegate_coding\n")
    assert "1 result was replaced by a later one for the same call" in err
