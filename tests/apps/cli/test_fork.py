"""`yagent sessions fork`: a new session that points into an old record."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apps.cli.recorded import ended, meta, rollouts, run, write
from tests.apps.cli.recorded import project as project
from yagent.protocol.messages import Message, Text, ToolCall, ToolResult, result_message, user_message
from yagent.protocol.stop import USAGE
from yagent.rollout.reader import Account, read
from yagent.rollout.records import Record, ResponseItem, SessionMeta
from yagent.rollout.replay import replay
from yagent.rollout.scan import session_records


def step(name: str, number: int) -> list[Record]:
    call = ToolCall(f"call_{number}", name, "{}")
    return [ResponseItem(Message("assistant", (call,))), ResponseItem(result_message(ToolResult(call.id, name, f"result {number}")))]


@pytest.fixture
def old(project: Path) -> Path:
    """Three steps and an answer: records 1 to 10."""
    steps = [record for number, name in enumerate(("read_file", "run_bash", "read_file")) for record in step(name, number)]
    answer = ResponseItem(Message("assistant", (Text("the answer"),)))
    task = meta("aaaa", project, "the task")
    return write(project, "20260101-100000_aaaa.jsonl", task, ResponseItem(user_message("the task")), *steps, answer, ended("plain_text"))


def forked(capfd: pytest.CaptureFixture[str], session: str, at: int) -> tuple[str, str]:
    code, out, err = run(capfd, "fork", session, "--at", str(at))
    assert code == 0, err
    return out.strip(), err


def words(project: Path, session: str) -> list[str]:
    messages = replay(session_records(rollouts(project), session, Account()).director).messages
    return [part.text for message in messages for part in message.parts if isinstance(part, Text | ToolResult)]


def test_a_fork_has_the_conversation_up_to_its_step_and_leaves_the_old_record_alone(
    project: Path, old: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = old.read_bytes()
    new, told = forked(capfd, "aa", 2)
    assert old.read_bytes() == before
    assert words(project, new) == ["the task", "result 0", "result 1"]
    (path,) = rollouts(project).glob(f"*_{new}.jsonl")
    (entry,) = read(path)
    assert isinstance(entry.record, SessionMeta)
    assert dict(entry.record.forked_from) == {"session": "aaaa", "ordinal": 6}
    assert (entry.record.task, entry.record.project_dir, entry.ordinal) == ("the task", str(project), 7)
    assert "the files of the workspace are as they are now" in told
    assert f"yagent resume {new}" in told
    assert f'yagent -r {new} -p "…"' in told


def test_after_the_answer_only_new_words_go_on(project: Path, old: Path, capfd: pytest.CaptureFixture[str]) -> None:
    new, told = forked(capfd, "aaaa", 4)
    assert words(project, new)[-1] == "the answer"
    assert "yagent resume" not in told
    assert f'yagent -r {new} -p "…"' in told
    (line,) = [line for line in run(capfd, "list")[1].splitlines() if line.startswith(new)]
    assert "answered" in line
    assert "can go on: -r ID -p" in line
    again, told = forked(capfd, new, 4)
    assert "yagent resume" not in told
    assert words(project, again) == words(project, new)
    before, told = forked(capfd, new, 3)
    assert f"yagent resume {before}" in told


def test_a_fork_of_a_fork_may_begin_before_it_or_in_it(project: Path, old: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first, _ = forked(capfd, "aaaa", 2)
    second, _ = forked(capfd, first, 1)
    assert words(project, second) == ["the task", "result 0"]
    (path,) = rollouts(project).glob(f"*_{first}.jsonl")
    more = write(project, "20260101-100009_more.jsonl", *step("run_bash", 9), first=8)
    path.write_bytes(path.read_bytes() + more.read_bytes())
    more.unlink()
    third, _ = forked(capfd, first, 3)
    assert words(project, third) == ["the task", "result 0", "result 1", "result 9"]


@pytest.mark.parametrize("at", [5, 99999])
def test_a_step_that_is_not_there_says_how_many_there_are(project: Path, old: Path, at: int, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "fork", "aaaa", "--at", str(at))
    assert (code, out) == (USAGE, "")
    assert "it has steps 1 to 4. See: yagent sessions show aaaa --steps" in err
    assert len(list(rollouts(project).glob("*.jsonl"))) == 1


def test_steps_are_counted_from_one(project: Path, old: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "fork", "aaaa", "--at", "0")[0] == USAGE
    assert run(capfd, "show", "aaaa", "--steps") == (0, "1  read_file\n2  run_bash\n3  read_file\n4  answered\n", "")


def test_a_fork_of_what_is_gone_is_a_clear_error(project: Path, old: Path, capfd: pytest.CaptureFixture[str]) -> None:
    new, _ = forked(capfd, "aaaa", 2)
    old.unlink()
    code, _, err = run(capfd, "fork", new, "--at", "1")
    assert code == USAGE
    assert "aaaa" in err


def test_a_fork_is_listed_with_the_words_that_began_it(project: Path, old: Path, capfd: pytest.CaptureFixture[str]) -> None:
    new, _ = forked(capfd, "aaaa", 2)
    (line,) = [line for line in run(capfd, "list")[1].splitlines() if line.startswith(new)]
    assert line.endswith("the task")
    assert "can go on: resume ID" in line
