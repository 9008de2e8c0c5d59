"""Recorded sessions are carried out again in the test's own process: whatever happened to them, nothing is compared with what cannot be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.fixtures import commit
from tests.support.model_server import Agent, ModelServer, Reply, delegating, hand_over
from tests.support.session import Opened, Sessions
from tests.support.virtual_time import VirtualClock
from yagent.protocol.ops import ResumeTask, StartTask, SteerTask, StopTask
from yagent.protocol.result import TaskResult
from yagent.session.forking import fork_session
from yagent.session.replay import ReplayRefused, find_recording, read_recording
from yagent.session.replay_session import OpenReplay, ReplayRequest, open_replay
from yagent.session.request import Resume


def directors(sessions: Sessions) -> list[Path]:
    """The Directors' files of the user's own work, oldest first."""
    found = (path for path in sessions.home.glob(".yagent/data/rollout/*/*.jsonl") if path.parent.name != "replays")
    return sorted(path for path in found if path.stem.count("_") == 1)


@asynccontextmanager
async def opened_replay(sessions: Sessions, clock: VirtualClock, **more: Any) -> AsyncIterator[OpenReplay]:
    """The replay of the newest session, without a provider."""
    environ = {name: value for name, value in sessions.environment().items() if not name.startswith("YAGENT_")}
    more = {"record": str(directors(sessions)[-1]), **more}
    async with open_replay(ReplayRequest(directory=sessions.workspace, environ=environ, **more), clock) as opened:
        yield opened


async def replayed(sessions: Sessions, clock: VirtualClock, **more: Any) -> tuple[TaskResult, Sequence[str]]:
    """The result of a replay and what diverged."""
    async with opened_replay(sessions, clock, **more) as opened:
        result = await opened.client.submit(StartTask(""))
        assert result is not None
        return result, [str(each) for each in opened.replay.divergences]


async def looks(agent: Agent) -> str:
    """Reads and answers."""
    await agent.call("read_file", path="notes.txt")
    return "It has two lines."


async def test_each_reply_is_a_step_and_each_task_a_run_of_the_directors_conversation(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.play({"are the Director": looks})
    async with sessions.open(mode="yolo") as opened:
        await opened.do("<request>\nfirst\n</request>")
    model_server.play({"are the Director": ["Second."]})
    async with sessions.open(mode="yolo", resume=Resume()) as opened:
        await opened.do("second")
        model_server.play({"are the Director": ["Third."]})
        await opened.do("third")
    recording = read_recording(directors(sessions)[-1])
    assert [(task.prompt, task.stop_reason, task.steps) for task in recording.tasks] == [
        ("<request>\nfirst\n</request>", "plain_text", 2),
        ("second", "plain_text", 1),
        ("third", "plain_text", 1),
    ]
    (director,) = recording.conversations
    assert [(turn.step, turn.run, turn.closing) for turn in director.turns] == [(1, 0, ""), (2, 0, ""), (3, 1, ""), (4, 2, "")]
    assert [len(turn.results) for turn in director.turns] == [1, 0, 0, 0]
    assert recording.git["head"] == commit(sessions.workspace, "rev-parse", "HEAD").strip()


async def test_a_task_that_was_stopped_and_never_went_on_ends_in_words_that_say_so(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    async def stopping(agent: Agent) -> str:
        await agent.call("read_file", path="notes.txt")
        await opened.session.submit(StopTask())
        return "never heard"

    model_server.play({"are the Director": stopping})
    async with sessions.open(mode="yolo") as opened:
        await opened.do("look")
    result, diverged = await replayed(sessions, clock)
    assert (result.answer, diverged) == ("[The record of this run ends here: cancelled.]", [])


async def test_a_delegation_that_was_stopped_and_went_on_is_one_conversation(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    seen: list[Opened] = []

    async def stopping(agent: Agent) -> Reply:
        await agent.call("search_by_regex", pattern="line")
        await seen[0].session.submit(StopTask())
        return hand_over("never heard")

    model_server.play({"are the Director": delegating("delegate_repo", "look"), "are Repo": stopping})
    async with sessions.open(mode="yolo") as opened:
        seen.append(opened)
        await opened.do("go")
    alone, diverged = await replayed(sessions, clock)
    assert ("record of this run ends here" in alone.answer, diverged) == (True, [])

    async def goes_on(agent: Agent) -> str:
        return f"Heard: {agent.view.results[0].text}"

    model_server.play({"are the Director": goes_on, "are Repo": [hand_over("found it")]})
    async with sessions.open(mode="yolo", resume=Resume()) as opened:
        result = await opened.session.submit(ResumeTask())
        assert result is not None
        assert "found it" in result.answer
    again, diverged = await replayed(sessions, clock)
    assert (diverged, again.answer, len(again.delegations)) == ([], result.answer, 1)


async def test_what_the_user_said_to_agents_at_work_is_said_again_before_the_same_step(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    seen: list[Opened] = []

    async def coding(agent: Agent) -> Reply:
        await seen[0].session.submit(SteerTask("use tabs", agent_id(seen[0])))
        await agent.call("read_file", path="notes.txt")
        return hand_over(agent.view.user_text)

    async def director(agent: Agent) -> str:
        await seen[0].session.submit(SteerTask("be quick"))
        await agent.call("delegate_coding", task="do it")
        return f"I was told: {agent.view.user_text}"

    model_server.play({"are the Director": director, "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        seen.append(opened)
        result = await opened.do("go")
    assert "be quick" in result.answer
    again, diverged = await replayed(sessions, clock)
    assert (diverged, again.answer) == ([], result.answer)


def agent_id(opened: Opened) -> str:
    """The delegation that is at work."""
    return next(agent.delegation_id for agent in opened.session.snapshot().agents if agent.delegation_id)


async def test_the_answers_of_a_second_mind_come_from_the_record(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    async def director(agent: Agent) -> str:
        return await agent.call("deepthinking", question="Is it so?", context="It is said.")

    minds = {"first of three": "Perhaps.", "second of three": "Why?", "last of three": "It is so."}
    model_server.play({"are the Director": director, **{name: [words] for name, words in minds.items()}})
    async with sessions.open(mode="yolo") as opened:
        result = await opened.do("go")
    assert result.answer == "It is so."
    again, diverged = await replayed(sessions, clock)
    assert (again.answer, diverged) == ("It is so.", [])


async def test_a_fork_is_replayed_with_what_it_began_with(sessions: Sessions, model_server: ModelServer, clock: VirtualClock) -> None:
    model_server.play({"are the Director": looks})
    async with sessions.open(mode="yolo") as opened:
        result = await opened.do("look")
    made = await fork_session(directors(sessions)[-1].parent, result.session, 1, clock)
    model_server.play({"are the Director": ["Another way."]})
    async with sessions.open(mode="yolo", resume=Resume(made.session)) as opened:
        await opened.do("otherwise")
    path = find_recording(made.session, [directors(sessions)[0].parent])
    again, diverged = await replayed(sessions, clock, record=str(path))
    assert again.answer.startswith("[The record of this run ends here: ")
    assert (again.answer.endswith("]\n\nAnother way."), diverged) == (True, [])


async def test_a_session_in_a_part_of_a_repository_is_replayed_in_that_part(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    part = sessions.workspace / "part"
    part.mkdir()
    (part / "notes.txt").write_text("in a part\n")
    commit(sessions.workspace, "add", "-A")
    commit(sessions.workspace, "commit", "-q", "-m", "part")
    model_server.play({"are the Director": looks})
    inner = Sessions(sessions.home, part, sessions.url)
    async with inner.open(mode="yolo") as opened:
        await opened.do("look")
    async with opened_replay(inner, clock) as replay:
        assert (replay.place.workspace.name, replay.place.workspace.parent.name) == ("part", "project")
        result = await replay.client.submit(StartTask(""))
        assert result is not None
        assert (result.answer, replay.replay.divergences) == ("It has two lines.", [])


async def test_a_changed_system_prompt_is_remarked_and_no_divergence(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    model_server.play({"are the Director": looks})
    async with sessions.open(mode="yolo") as opened:
        await opened.do("look")
    (path,) = directors(sessions)
    text = path.read_text()
    before, mark, rest = text.partition('"prompt":"')
    path.write_text(before + mark + "0" * 16 + rest[16:])
    async with opened_replay(sessions, clock) as replay:
        await replay.client.submit(StartTask(""))
        assert list(replay.replay.session.remarks) == ["Director has another system prompt now than in the record."]
        assert replay.replay.divergences == []


def test_a_delegations_file_names_its_session_and_a_part_of_an_id_that_several_begin_with_none(tmp_path: Path) -> None:
    names = ("20261130-100000_aaaa1111.jsonl", "20261130-100000_aaaa1111_coding.jsonl", "20261130-110000_aaaa2222.jsonl")
    for name in names:
        (tmp_path / name).write_text("")
    assert find_recording(str(tmp_path / names[1]), []).name == names[0]
    assert find_recording("aaaa2", [tmp_path / "absent", tmp_path]).name == names[2]
    with pytest.raises(ReplayRefused, match="2 recorded sessions"):
        find_recording("aaaa", [tmp_path])
    with pytest.raises(ReplayRefused, match="That is no file"):
        find_recording(str(tmp_path), [])
    with pytest.raises(ReplayRefused, match="There is no such record"):
        find_recording(str(tmp_path / "absent.jsonl"), [])
