"""Limits of a task in whole sessions: shared by everybody at work, and ended with an account of what was done."""

from __future__ import annotations

import re

import pytest

from tests.cases.test_wire_retries import OVERFLOWS
from tests.llm.wire import FORMATS
from tests.support.model_server import Agent, Call, Chaos, ModelServer, Reply, call, delegating, hand_over
from tests.support.session import Sessions
from tests.support.virtual_time import VirtualClock
from yagent.protocol.messages import Usage
from yagent.protocol.stop import StopReason

PROVIDER = """[global.llm]
default = "played"
[global.llm.providers.played]
api_base_url = "{url}"
model = "played-model"
api_format = "{api_format}"
price_input = 1.0
price_output = 10.0
"""
DIME = Usage(100_000, 0)  # ten cents, at these prices
POLLS = 20


def priced(sessions: Sessions, api_format: str, more: str = "") -> dict[str, str]:
    """A configuration that knows what the model costs; the environment to go with it."""
    sessions.configure(PROVIDER.format(url=sessions.url, api_format=api_format) + more)
    return {name: value for name, value in sessions.environment().items() if not name.startswith("YAGENT_")}


async def _reading(agent: Agent) -> Reply:
    """Reads on and on until it is told to hand over."""
    number = 0
    while "What this task may cost" not in agent.view.user_text:
        number += 1
        await agent.reply(Reply(calls=(Call("read_file", {"path": "notes.txt", "start_line": number}),), usage=DIME))
    return Reply(calls=hand_over(f"Read {number} times.", status="partial").calls, usage=DIME)


async def _delegating_twice(agent: Agent) -> Reply:
    found = await agent.calls(*(Call("delegate_repo", {"task": f"part {number}"}) for number in (1, 2)))
    return Reply("\n".join(re.findall(r"Read \d+ times", each.text)[0] for each in found), usage=DIME)


@pytest.mark.parametrize("api_format", FORMATS)
async def test_delegations_side_by_side_share_the_cost_limit_and_the_director_says_what_was_done(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    model_server.play({"are the Director": _delegating_twice, "are Repo": _reading})
    async with sessions.open(environ=priced(sessions, api_format), max_cost=1.5) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code, result.status, result.error) == (StopReason.COST_LIMIT, 3, "partial", "")
    assert re.fullmatch(r"Read \d+ times\nRead \d+ times", result.answer), result.answer
    assert [each.stop_reason for each in result.delegations] == [StopReason.COST_LIMIT] * 2
    assert result.cost is not None
    assert 1.2 < result.cost <= 1.5
    assert any("Raise --max-cost" in warning for warning in result.warnings)


async def test_the_cost_limit_is_passed_by_calls_in_flight_only(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": _delegating_twice, "are Repo": _reading})
    async with sessions.open(environ=priced(sessions, "openai"), max_cost=0.05) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.COST_LIMIT, 3)
    begun = len(model_server.views) - 1  # besides the Director's, which cost next to nothing
    assert begun in (1, 2)  # the second began when nobody knew yet what the first costs, or not at all
    assert result.cost == pytest.approx(0.1 * begun, abs=0.01)


async def test_a_whole_tree_ends_within_the_time_of_its_task_and_the_director_reports(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    async def slow(agent: Agent) -> Reply:
        while not agent.view.user_text.startswith("Your time is over"):
            await agent.reply(Reply(calls=call("read_file", path="notes.txt", start_line=int(clock.now())).calls, pace=5.0))
        return hand_over("Read on.", status="partial")

    async def between(agent: Agent) -> Reply:
        return hand_over(await agent.call("delegate_devops", task="deep"))

    async def director(agent: Agent) -> str:
        results = await agent.calls(Call("delegate_repo", {"task": "flat"}), Call("delegate_repo", {"task": "between"}))
        return f"{sum('Read on.' in each.text for each in results)} reports"

    model_server.play({"are the Director": director, ("are Repo", "flat"): slow, ("are Repo", "between"): between, "are DevOps": slow})
    started = clock.now()
    async with sessions.open(mode="yolo", timeout=200.0) as opened:
        result = await opened.do("go")
    assert clock.now() - started < 200
    assert (result.stop_reason, result.exit_code, result.status) == (StopReason.TIME_LIMIT, 3, "partial")
    assert result.answer == "2 reports"
    ends = {each.role: each.stop_reason for each in result.delegations if each.task != "between"}
    assert ends == {"repo": StopReason.TIME_LIMIT, "devops": StopReason.TIME_LIMIT}
    assert any("share of 150 s of the task's time" in warning for warning in result.warnings)


@pytest.mark.parametrize("refusal", OVERFLOWS)
@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_delegation_that_outgrew_the_window_is_handed_over_as_unfinished(
    sessions: Sessions, model_server: ModelServer, api_format: str, refusal: Chaos
) -> None:
    async def repo(agent: Agent) -> Reply:
        await agent.call("read_file", path="notes.txt", text="I look at the notes.")
        return Reply(text="never", chaos=[refusal] * 99)

    async def director(agent: Agent) -> Reply:
        return hand_over(await agent.call("delegate_repo", task="look"), status="partial")

    model_server.play({"are the Director": director, "are Repo": repo})
    async with sessions.open(api_format=api_format) as opened:
        result = await opened.do("go")
    assert "It did not finish: its conversation no longer fits the model's window." in result.answer
    assert "I look at the notes." in result.answer
    assert [each.stop_reason for each in result.delegations] == [StopReason.CONTEXT_OVERFLOW]
    assert len(model_server.exchanges) == 4


async def test_a_director_who_outgrew_the_window_leaves_what_he_said_and_can_be_asked_again(
    sessions: Sessions, model_server: ModelServer
) -> None:
    look = call("read_file", path="notes.txt").calls
    lines: list[Reply | str] = [Reply("The notes have two lines.", calls=look), Reply("never", chaos=[OVERFLOWS[0]]), "Shorter now."]
    model_server.play({"are the Director": lines})
    async with sessions.open() as opened:
        result = await opened.do("go")
        assert (result.stop_reason, result.exit_code, result.answer) == (StopReason.CONTEXT_OVERFLOW, 3, "The notes have two lines.")
        assert "context window" in result.error
        assert len(model_server.exchanges) == 2
        assert (await opened.do("and now?")).answer == "Shorter now."


@pytest.mark.slow
async def test_reading_a_background_command_that_goes_on_is_no_circle(sessions: Sessions, model_server: ModelServer) -> None:
    seen: list[str] = []

    async def coding(agent: Agent) -> Reply:
        await agent.call("load_tool", names=["read_background"])
        begun = await agent.call("run_bash", command="while echo tick >> log; do wc -l < log; sleep 0.5; done", is_background=True)
        found = re.search(r"\[(\w+) started", begun)
        assert found is not None, begun
        poll = {"arguments": f'{{"id": "{found[1]}", "wait": 5}}'}
        seen.extend([await agent.call("read_background", **poll) for _ in range(POLLS)])
        return hand_over("It goes on.")

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="watch it")

    model_server.play({"are the Director": director, "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        result = await opened.do("go")
    assert "It goes on." in result.answer, result
    assert len(seen) == POLLS
    assert not any("[yagent]" in each for each in seen)


async def test_no_delegation_takes_more_steps_than_the_task_may(sessions: Sessions, model_server: ModelServer) -> None:
    async def repo(agent: Agent) -> Reply:
        for number in range(1, 9):
            if "step limit" in await agent.call("read_file", path="notes.txt", start_line=number):
                break
        return hand_over(f"{number} steps", status="partial")

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_repo", task="look")

    model_server.play({"are the Director": director, "are Repo": repo})
    async with sessions.open(max_steps=3) as opened:
        result = await opened.do("go")
    assert [(each.stop_reason, each.steps) for each in result.delegations] == [(StopReason.MAX_STEPS, 3)]
    assert "3 steps" in result.answer


@pytest.mark.parametrize(("lines", "most"), [("", 8), ("[llm]\nmax_in_flight_requests = 0\n", 12)], ids=["usual", "no limit"])
async def test_model_calls_at_once_are_bounded_by_eight_unless_the_user_wants_no_bound(
    sessions: Sessions, model_server: ModelServer, lines: str, most: int
) -> None:
    thoughts = [Call("deepthinking", {"question": f"why {number}?"}) for number in range(6)]
    model_server.play(
        {
            "are the Director": delegating("delegate_repo", "one", "two"),
            "are Repo": [Reply(calls=thoughts), hand_over("Thought.")],
            "of three who think": [Reply("a thought", pace=1.0)] * 36,
        }
    )
    sessions.configure(f"[agent]\nmax_parallel_readonly_tools = 6\n{lines}")
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert [each.status for each in result.delegations] == ["ok", "ok"]
    assert result.warnings == ()
    assert model_server.peak_in_flight == most


@pytest.mark.parametrize(
    ("chaos", "trouble"),
    [
        ([Chaos("status", status=503)] * 9, "answered 503"),
        ([Chaos("reset_before_headers"), Chaos("hang_before_headers")], "connection was lost"),
    ],
)
async def test_time_that_ran_out_before_any_reply_came_is_the_providers_trouble(
    sessions: Sessions, model_server: ModelServer, chaos: list[Chaos], trouble: str
) -> None:
    model_server.play({"are the Director": [Reply("one", chaos=chaos)]})
    async with sessions.open(timeout=20.0) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 75)
    assert re.search(rf"20 s was over before the model gave any reply: .*{trouble}", result.error), result.error
    assert "smaller task" not in result.error


@pytest.mark.parametrize("chaos", [Chaos("hang_before_headers"), Chaos("keep_alives", count=90)], ids=lambda each: each.kind)
async def test_time_that_ran_out_on_a_slow_provider_is_a_limit_and_says_what_it_waited_for(
    sessions: Sessions, model_server: ModelServer, chaos: Chaos
) -> None:
    model_server.play({"are the Director": [Reply("one", chaos=[chaos])]})
    async with sessions.open(timeout=20.0) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 3)
    assert re.search(r"20 s is used up; the newest reply did not come: .* had not answered for 20 s; see whether", result.error), (
        result.error
    )


async def test_time_that_ran_out_while_the_provider_was_in_trouble_says_so(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("list_dir", path="."), Reply("one", chaos=[Chaos("status", status=503)] * 9)]})
    async with sessions.open(timeout=20.0) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 3)
    assert re.search(r"20 s is used up; .*answered 503", result.error), result.error


@pytest.mark.parametrize("earlier", [[], [call("list_dir", path=".")]])
async def test_time_that_ran_out_while_a_reply_was_coming_is_no_trouble_of_the_provider(
    sessions: Sessions, model_server: ModelServer, earlier: list[Reply]
) -> None:
    model_server.play({"are the Director": [*earlier, Reply("word " * 500, pace=1.0)]})
    async with sessions.open(timeout=20.0) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 3)
    assert result.error == "the time limit of 20 s is used up; give a higher one or a smaller task"
