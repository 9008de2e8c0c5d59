"""Agent cases J-01 and J-05: a parent gets exactly one honest result from each child, whatever becomes of the child."""

from __future__ import annotations

import re

import pytest

from tests.session.test_limits import DIME, priced
from tests.support.command_line import alive
from tests.support.model_server import Agent, Chaos, ModelServer, Part, Reply, call, delegating, hand_over
from tests.support.session import Sessions
from tests.support.virtual_time import VirtualClock
from yagent.protocol.events import DelegationEnded
from yagent.protocol.stop import StopReason
from yagent.runtime.clock import SystemClock

LAST_STEP = 125  # seconds in which an agent whose time is over may hand over


def assert_one_result_each(server: ModelServer, children: int) -> None:
    """The last request of the parent has one result for each of its calls, none of which is left out."""
    last = [view for view in server.views if "are the Director" in view.identity][-1]
    asked = [seen.id for entry in last.entries for seen in entry.calls]
    assert len(asked) == children
    assert sorted(asked) == sorted(result.call_id for entry in last.entries for result in entry.results)


@pytest.mark.parametrize("count", [1, 3])
async def test_J01_a_child_whose_model_never_answers_ends_and_its_siblings_results_survive(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock, count: int
) -> None:
    async def silent(agent: Agent) -> Reply:
        return Reply(text="never", chaos=[Chaos("hang_before_headers")] * 50)

    async def good(agent: Agent) -> Reply:
        return hand_over(f"done: {await agent.call('read_file', path='notes.txt')}")

    tasks = [f"silent {number}" for number in range(count)] + ["good"]
    model_server.play(
        {
            "are the Director": delegating("delegate_repo", *tasks),
            ("are Repo", "silent"): silent,
            ("are Repo", "good"): good,
        }
    )
    sessions.configure('[agent]\ndelegate_total_timeout = "600s"\nmax_parallel_delegations = 4\n')
    started = clock.now()
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert clock.now() - started < 600 + LAST_STEP + 5
    assert_one_result_each(model_server, count + 1)
    texts = result.answer.split("\n====\n")
    assert len(texts) == count + 1
    assert "first line" in texts[-1]
    for text in texts[:-1]:
        assert re.match(r"\[repo#\d · error · (total_timeout|llm_error) · ", text), text
        assert "did not finish" in text
    assert len(opened.told(DelegationEnded)) == count + 1
    assert result.exit_code == 0


@pytest.mark.real_time
@pytest.mark.parametrize("count", [1, 3])
async def test_J01_a_background_process_that_holds_its_pipes_does_not_hold_its_agent(
    sessions: Sessions, model_server: ModelServer, count: int
) -> None:
    seconds = f"300.{id(sessions)}"

    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command=f"sleep {seconds} & echo started"))

    tasks = [f"start {number}" for number in range(count)]
    model_server.play({"are the Director": delegating("delegate_coding", *tasks), "are Coding": coding})
    clock = SystemClock()
    started = clock.now()
    async with sessions.open(clock=clock, mode="full-yolo") as opened:
        result = await opened.do("go")
        assert clock.now() - started < 30
    texts = result.answer.split("\n====\n")
    assert [bool(re.match(r"\[coding#\d · ok · agent_exit · ", text)) and "started" in text for text in texts] == [True] * count
    assert [each.status for each in result.delegations] == ["ok"] * count
    assert_one_result_each(model_server, count)
    assert not alive(seconds)


async def limited(agent: Agent) -> Reply:
    """Goes on reading until it is told that this is the last step, then calls a tool all the same."""
    for line in range(1, 100):
        said = await agent.call("read_file", text=f"I know {line} lines", path="notes.txt", start_line=1 + line % 2, end_line=2)
        if "last step" in said.lower():
            break
    await agent.reply(call("read_file", path="notes.txt"))
    return Reply(text="I know four lines.")


async def silent_end(agent: Agent) -> Reply:
    """Ends without a word, again and again."""
    for _ in range(8):
        await agent.say("<thought>\nstep: nothing\n</thought>")
    return Reply(text="<thought>\nstep: nothing\n</thought>")


async def broken(agent: Agent) -> Reply:
    """Says something useful, then its provider refuses for good."""
    await agent.call("read_file", text="The bug is in line two.", path="notes.txt")
    return Reply(text="x", chaos=[Chaos("status", status=403)] * 50)


async def only_before(agent: Agent) -> Reply:
    """Says its result beside an earlier call and hands over little."""
    await agent.call("read_file", text="An earlier long message which is not the result.", path="notes.txt")
    return hand_over("Short result.")


@pytest.mark.parametrize(
    ("part", "header", "said"),
    [
        (limited, r"\[repo#1 · partial · max_steps · ", "I know"),
        (silent_end, r"\[repo#1 · error · ", "left no result"),
        (broken, r"\[repo#1 · error · llm_error · ", "line two"),
        (only_before, r"\[repo#1 · ok · agent_exit · ", "Short result."),
    ],
)
async def test_J05_cut_work_is_never_reported_as_completed_and_its_last_words_arrive(
    sessions: Sessions, model_server: ModelServer, part: Part, header: str, said: str
) -> None:
    model_server.play({"are the Director": delegating("delegate_repo", "look"), "are Repo": part})
    sessions.configure("[agent]\nrepo_max_steps = 4\n")
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert re.match(header, result.answer), result.answer
    assert said in result.answer
    assert ("did not finish" in result.answer) is (part is not only_before)
    (account,) = result.delegations
    assert f" · {account.status} · {account.stop_reason} · " in result.answer.partition("]")[0]


@pytest.mark.parametrize("last", ["agent_exit", "words", "nothing"])
async def test_J05_a_child_that_has_used_up_the_money_is_cut_whatever_it_says(
    sessions: Sessions, model_server: ModelServer, last: str
) -> None:
    async def repo(agent: Agent) -> Reply:
        number = 0
        while "What this task may cost" not in agent.view.user_text:
            number += 1
            calls = call("read_file", path="notes.txt", start_line=number).calls
            await agent.reply(Reply("The bug is in line two.", calls=calls, usage=DIME))
        for _ in range(9 if last == "nothing" else 0):
            await agent.reply(Reply(usage=DIME))
        calls = hand_over("All done, everything works!").calls if last == "agent_exit" else ()
        return Reply("All done, everything works!" if last == "words" else "", calls=calls, usage=DIME)

    model_server.play({"are the Director": delegating("delegate_repo", "look"), "are Repo": repo})
    async with sessions.open(environ=priced(sessions, "openai"), max_cost=1.0) as opened:
        result = await opened.do("go")
    status = "error" if last == "nothing" else "partial"
    assert re.match(rf"\[repo#1 · {status} · cost_limit · ", result.answer), result.answer
    assert "did not finish" in result.answer
    assert ("The bug is in line two." if last == "nothing" else "All done") in result.answer
    assert [(each.status, each.stop_reason) for each in result.delegations] == [(status, StopReason.COST_LIMIT)]
    assert result.exit_code == 3


async def test_J05_files_a_cut_child_changed_are_named_and_its_record_can_be_found(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.call("create_file", path="half.txt", content="half\n")
        return Reply(text="x", chaos=[Chaos("status", status=403)] * 50)

    model_server.play({"are the Director": delegating("delegate_coding", "write"), "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        result = await opened.do("go")
    assert "half.txt" in result.answer
    assert [change.path for change in result.files_changed] == ["half.txt"]
    records = [path.read_text() for path in sessions.home.glob(".yagent/data/rollout/**/*.jsonl")]
    assert [f'"delegation_id":"{result.delegations[0].id}"' in text.splitlines()[0] for text in sorted(records)].count(True) == 1
