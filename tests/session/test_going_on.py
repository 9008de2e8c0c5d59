"""Where sessions go on: forks, sessions that were opened for nothing, delegations too long for their model; and what their records name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from tests.session.test_limits import PROVIDER
from tests.session.test_resume import stopped, two_steps
from tests.support.fixtures import commit
from tests.support.model_server import Agent, ModelServer, Reply, call, hand_over
from tests.support.model_server.scripts import Roles
from tests.support.session import Sessions
from tests.support.virtual_time import VirtualClock
from yagent.protocol.client import ListUnderWay
from yagent.rollout.index import list_sessions
from yagent.session.forking import fork_session
from yagent.session.request import Resume
from yagent.session.resume import ResumeRefused


async def test_every_record_of_a_session_names_the_commit_and_branch_it_began_at(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    async def repo(agent: Agent) -> Reply:
        await agent.call("delegate_devops", task="deeper")
        return hand_over("seen")

    roles: Roles = {"are the Director": [call("delegate_repo", task="look"), "done"], "are Repo": repo, "are DevOps": [hand_over("deep")]}
    model_server.play(roles)
    async with sessions.open() as opened:
        result = await opened.do("the task")
    directory = next(sessions.home.glob(".yagent/data/rollout/*/*.jsonl")).parent
    made = await fork_session(directory, result.session, 1, clock)
    model_server.play(roles)
    async with sessions.open(resume=Resume(made.session)) as opened:
        await opened.do("again")
    metas = [json.loads(path.read_text().splitlines()[0])["payload"] for path in directory.glob("*.jsonl")]
    assert sorted((meta["agent"], meta.get("forked_from") is not None) for meta in metas) == [
        *[("devops", False)] * 2,
        ("director", False),
        ("director", True),
        *[("repo", False)] * 2,
    ]
    head = commit(sessions.workspace, "rev-parse", "HEAD").strip()
    assert [meta["git"]["head"] for meta in metas] == [head] * len(metas)
    assert len({meta["git"]["branch"] for meta in metas}) == 1


async def test_a_fork_after_the_answer_has_its_answer_and_one_before_it_goes_on(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), "the answer"]})
    async with sessions.open() as opened:
        result = await opened.do("the task")
    directory = next(sessions.home.glob(".yagent/data/rollout/*/*.jsonl")).parent
    answered, under_way = [await fork_session(directory, result.session, step, clock) for step in (2, 1)]
    assert (answered.goes_on, under_way.goes_on) == (False, True)
    listed = {each.session: each for each in list_sessions(directory, 9)}
    assert [listed[each.session].resumable for each in (answered, under_way)] == [False, True]
    assert listed[answered.session].stop_reason == "plain_text"
    model_server.play({"are the Director": ["another answer"] * 2})
    async with sessions.open(resume=Resume(answered.session)) as opened:
        with pytest.raises(ResumeRefused, match="has its answer"):
            await opened.go_on()
        assert (await opened.do("and now?")).answer == "another answer"
    model_server.memory.conversations.clear()
    async with sessions.open(resume=Resume(under_way.session)) as opened:
        assert (await opened.go_on()).answer == "another answer"


async def test_a_session_that_was_opened_and_did_nothing_is_free_again(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["the answer", "more"]})
    async with sessions.open() as opened:
        first = await opened.do("the task")
    async with sessions.open(resume=Resume(first.session)):
        pass
    async with sessions.open(resume=Resume(first.session)) as opened:
        assert (await opened.do("again")).answer == "more"


LARGE = "word " * 25_000  # about 31,000 tokens


async def _writes_much(agent: Agent) -> Reply:
    await agent.call("create_file", path="made.txt", content=LARGE)
    return Reply("lost words")


@pytest.mark.parametrize(
    ("settings", "goes_on"),
    [
        ("", True),  # nobody knows the window
        ("context_window = 200000\n", True),
        ("context_window = 32000\n", False),
        ("context_window = 32000\n[resume]\nreplay_token_budget = 50000\n", True),
        ("context_window = 200000\n[resume]\nreplay_token_budget = 5000\n", False),
    ],
)
async def test_without_a_budget_a_delegation_goes_on_as_far_as_the_models_window_allows(
    sessions: Sessions, model_server: ModelServer, settings: str, goes_on: bool
) -> None:
    first = await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", _writes_much)
    sessions.configure(PROVIDER.format(url=sessions.url, api_format="openai") + settings)
    environ = {name: value for name, value in sessions.environment().items() if not name.startswith("YAGENT_")}
    async with sessions.open(environ=environ, resume=Resume(first.session)) as opened:
        _, coding = await opened.session.query(ListUnderWay())
    assert coding.reasons == (() if goes_on else ("over_budget",))


def _of_another_digest(sessions: Sessions) -> None:
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*_coding.jsonl")
    path.write_text(re.sub(r'"digest":"[0-9a-f]{8}', '"digest":"00000000', path.read_text()))


REFUSED: dict[str, tuple[str, Callable[[Sessions], object]]] = {
    "over_budget": ("[resume]\nmax_replay_messages = 2\n", lambda sessions: None),
    "workspace_moved": (
        '[resume]\ndegrade_on_workspace_change = "block"\n',
        lambda sessions: commit(sessions.workspace, "commit", "-q", "--allow-empty", "-m", "moved"),
    ),
    "digest_mismatch": ("", _of_another_digest),
}


@pytest.mark.parametrize("words", ["", "And now something else."], ids=["going on", "new words"])
@pytest.mark.parametrize("reason", REFUSED)
async def test_a_delegation_that_may_not_go_on_gives_its_parent_a_report_without_a_model(
    sessions: Sessions, model_server: ModelServer, reason: str, words: str
) -> None:
    first = await stopped(sessions, model_server, [call("delegate_coding", task="work")], "are Coding", two_steps)
    count = len(model_server.views)
    more, happens = REFUSED[reason]
    happens(sessions)
    sessions.configure(more)
    model_server.play({"are the Director": ["I see"]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        result = await (opened.do(words) if words else opened.go_on())
    (asked,) = model_server.views[count:]
    (told,) = (result for entry in asked.entries for result in entry.results)
    assert told.text.startswith(f"[coding#1 · degraded · {reason}]\n")
    assert "made.txt" in told.text
    assert not told.is_error
    assert any(reason in warning for warning in result.warnings)
    (note,) = sessions.home.glob(".yagent/notes/**/*.md")
    assert '"status": "degraded"' in note.read_text()
    assert reason in note.read_text()
