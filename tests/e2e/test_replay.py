"""`yagent replay`: a session that the program recorded is carried out again without its model, and says where it parts from the record."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, Ended
from tests.support.fixtures import commit
from tests.support.model_server import Agent, Call, ModelServer, Part, Reply, delegating, hand_over

pytestmark = [pytest.mark.real_time, pytest.mark.slow]

OFFLINE = {"YAGENT_BASE_URL": None, "YAGENT_API_KEY": None, "YAGENT_MODEL": None, "YAGENT_API_FORMAT": None}


async def director(agent: Agent) -> str:
    """Reads, has something made, has two look at it side by side, answers."""
    await agent.call("read_file", path="notes.txt")
    await agent.call("delegate_coding", task="Make it")
    await agent.calls(Call("delegate_repo", {"task": "look at first"}), Call("delegate_repo", {"task": "look at second"}))
    return "All is well."


async def coding(agent: Agent) -> Reply:
    """Makes a file and commits it; what the commands say names moments, places and processes."""
    await agent.call("create_file", path="made.txt", content="made\n")
    return hand_over(await agent.call("run_bash", command="git add . && git commit -m 'Made it' && git log && ls -l && echo pid $$ && pwd"))


async def repo(agent: Agent) -> Reply:
    """Looks for the last word of its task."""
    return hand_over(await agent.call("search_by_regex", pattern=agent.task.split()[-2]))


CAST: dict[str | tuple[str, str], Part] = {"are the Director": director, "are Repo": repo, "are Coding": coding}


async def record(yagent: CommandLine, server: ModelServer, *more: str) -> Path:
    """Record a session of the product; its Director's file."""
    commit(yagent.workspace, "config", "user.name", "t")
    commit(yagent.workspace, "config", "user.email", "t@example.invalid")
    server.play(CAST)
    ran = await yagent.run("-y", "--quiet", *more, "-p", "Look at it")
    assert ran.code == 0, ran.told
    commit(yagent.workspace, "reset", "-q", "--hard", "HEAD~1")
    return directors(yagent)[-1]


def directors(yagent: CommandLine, project: str = "*project*") -> list[Path]:
    """The Directors' records, oldest first."""
    return sorted(path for path in yagent.data.glob(f"data/rollout/{project}/*.jsonl") if path.stem.count("_") == 1)


async def replay(yagent: CommandLine, *arguments: object, online: bool = False) -> Ended:
    """Replay; without any provider unless a model is to go on."""
    return await yagent.run("replay", *map(str, arguments), environment={} if online else OFFLINE)


def everything(place: Path) -> dict[str, str]:
    """Every file of a directory, git's own as well, by what it holds."""
    files = sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


async def test_a_session_is_carried_out_again_without_its_model_and_without_a_trace_in_the_repository(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    path = await record(yagent, model_server)
    before, asked = everything(yagent.workspace), len(model_server.exchanges)
    played = await replay(yagent, path)
    assert (played.code, played.answer) == (0, "All is well.\n"), played.told
    assert "No divergence from the record." in played.told
    assert played.told.count("repo#") >= 2
    assert everything(yagent.workspace) == before
    assert len(model_server.exchanges) == asked
    place, name = os.path.split(played.told.partition("It works in ")[2].partition(".\n")[0])
    assert name == "project"
    assert os.path.basename(place) not in os.listdir(os.path.dirname(place))
    assert len(directors(yagent)) == 1, "the record of a replay is not among those of the user's work"
    assert len(directors(yagent, "replays")) == 1


async def test_a_session_is_named_by_the_beginning_of_its_id_and_checked_by_the_exit_code(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    path = await record(yagent, model_server)
    checked = await replay(yagent, path.stem.partition("_")[2][:5], "--check")
    assert checked.code == 0, checked.told
    assert "✓" not in checked.told


async def test_in_another_state_of_the_files_the_first_divergence_is_that_of_the_tool_that_meets_it(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    path = await record(yagent, model_server)
    (yagent.workspace / "notes.txt").write_text("first line\nsecond word\n")
    checked = await replay(yagent, path, "--check", "--here")
    (line,) = [line for line in checked.told.splitlines() if line.startswith("First divergence: ")]
    assert checked.code == 1
    assert line.startswith("First divergence: Director, step 1: the result of read_file (")
    assert "line" in line
    assert "word" in line
    assert not (yagent.workspace / "made.txt").exists(), "a check stops there"
    on = await replay(yagent, path, "--here")
    assert (on.code, on.answer) == (0, "All is well.\n")
    assert "First divergence: Director, step 1: the result of read_file" in on.told
    assert (yagent.workspace / "made.txt").exists()


async def test_until_a_step_delegations_inside_it_are_whole_and_the_rest_is_not_begun(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    path = await record(yagent, model_server)
    played = await replay(yagent, path, "--until", 2)
    assert played.code == 0, played.told
    assert "[The replay ends here, after step 2, as asked.]" in played.answer
    assert "run_bash" in played.told
    assert "delegate_repo" not in played.told
    assert "No divergence" in played.told


async def test_a_live_model_goes_on_from_a_step_and_is_held_against_the_record(yagent: CommandLine, model_server: ModelServer) -> None:
    path = await record(yagent, model_server)
    asked = len(model_server.exchanges)

    async def goes_on(agent: Agent) -> str:
        assert [call.name for entry in agent.view.entries for call in entry.calls] == ["read_file", "delegate_coding"]
        return f"I say: {await agent.call('delegate_repo', task='look at third')}"

    model_server.play({"are the Director": goes_on, "are Repo": repo})
    played = await replay(yagent, path, "--until", 2, "--model", "other-model", online=True)
    assert played.code == 0, played.told
    assert played.answer.startswith("I say: [repo#1")
    assert "First divergence: Director, step 3: the model does something else" in played.told
    assert len(model_server.exchanges) == asked + 4
    assert {exchange.view.body["model"] for exchange in model_server.exchanges[asked:] if exchange.view} == {"other-model"}


async def test_a_live_model_from_the_start_that_does_the_same_does_not_diverge(yagent: CommandLine, model_server: ModelServer) -> None:
    path = await record(yagent, model_server)
    model_server.play(CAST)
    played = await replay(yagent, path, "--check", "--model", "played-model", online=True)
    assert played.code == 0, played.told


async def test_what_would_be_asked_for_is_refused_and_told_as_a_divergence(yagent: CommandLine, model_server: ModelServer) -> None:
    async def pushes(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="git -c alias.x=status status --short"))

    model_server.play({"are the Director": delegating("delegate_devops", "do it"), "are DevOps": pushes})
    ran = await yagent.run("-Y", "--quiet", "-p", "go")
    assert ran.code == 0, ran.told
    checked = await replay(yagent, directors(yagent)[-1], "--check")
    assert checked.code == 1
    assert "First divergence: DevOps, step 1: the result of run_bash" in checked.told
    assert "was 'success', is 'error:" in checked.told


async def test_a_record_made_with_uncommitted_work_says_so(yagent: CommandLine, model_server: ModelServer) -> None:
    (yagent.workspace / "notes.txt").write_text("changed\n")
    model_server.play({"are the Director": ["Done."]})
    await yagent.run("-y", "-p", "go")
    played = await replay(yagent, directors(yagent)[-1])
    assert played.code == 0
    assert "Note: The session was recorded with uncommitted work; the copy is the commit" in played.told


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        ("gone", "is not in the working tree of a git repository any more"),
        ("rewritten", "is not in"),
        ("no commit", "The record names no commit"),
        ("empty", "does not begin with whose it is"),
        ("no reply", "it holds no reply of the Director"),
    ],
)
async def test_a_record_that_cannot_be_replayed_is_refused_in_three_plain_lines(
    yagent: CommandLine, model_server: ModelServer, spoilt: str, told: str
) -> None:
    model_server.play({"are the Director": ["Done."]})
    await yagent.run("-y", "-p", "go")
    path = directors(yagent)[-1]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    meta = lines[0]["payload"]
    if spoilt == "gone":
        meta["project_dir"] = "/nowhere"
    elif spoilt == "rewritten":
        meta["git"]["head"] = "1" * 40
    elif spoilt == "no commit":
        del meta["git"]
    elif spoilt == "empty":
        lines = []
    else:
        lines = lines[:2]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    refused = await replay(yagent, path, "--check")
    assert refused.code == 2
    assert told in refused.told
    assert [line.partition(": ")[0] for line in refused.told.splitlines()] == ["yagent"] * 3


@pytest.mark.parametrize("wanted", ["ffffffff", "nothing.jsonl", "./nothing"])
async def test_what_names_no_record_is_wrong_usage(yagent: CommandLine, wanted: str) -> None:
    refused = await replay(yagent, wanted)
    assert (refused.code, len(refused.told.splitlines())) == (2, 3)


async def test_torn_and_damaged_lines_are_told_and_the_rest_is_replayed(yagent: CommandLine, model_server: ModelServer) -> None:
    path = await record(yagent, model_server)
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    last_reply = max(number for number, line in enumerate(lines) if b'"role":"assistant"' in line)
    path.write_bytes(b"".join(lines[:3]) + b'{"ordinal": 3, "torn\n' + b"".join(lines[3:last_reply]) + lines[last_reply][:40])
    played = await replay(yagent, path)
    assert played.code == 0, played.told
    assert "Note: " in played.told
    assert "[The record of this run ends here: its process ended.]" in played.answer
    assert "No divergence" in played.told


async def test_several_tasks_of_one_session_are_replayed_one_after_the_other(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["One."]})
    await yagent.run("-y", "--quiet", "-p", "first")
    path = directors(yagent)[-1]
    model_server.play({"are the Director": ["Two."]})
    again = await yagent.run("-y", "--quiet", "-r", path.stem.partition("_")[2], "-p", "second")
    assert again.code == 0, again.told
    played = await replay(yagent, path)
    assert (played.code, played.answer) == (0, "One.\n\nTwo.\n"), played.told
    cut = await replay(yagent, path, "--until", 1)
    assert (cut.code, cut.answer) == (0, "One.\n")


async def test_the_help_says_what_it_does(yagent: CommandLine) -> None:
    told = await yagent.run("replay", "--help")
    assert told.code == 0
    assert all(word in told.answer for word in ("--until", "--model", "--check", "--here", "FILE|ID"))
