"""Cases J-01, J-04, J-05, J-10, D11 and D13: how delegations end, alone and in crowds, and who hears of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.agents.probes import Calls, probe
from tests.agents.stage import Rules, assert_paired
from tests.agents.troupe import EXIT, Parts, Troupe, results
from tests.cases.interruptions import stopped, until
from tests.llm.wire import FORMATS, sse
from tests.support.command_line import alive
from tests.support.model_server import Agent, Call, Chaos, ModelServer, Reply, RequestView, call, hand_over, status
from tests.support.session import Sessions
from tests.support.virtual_time import VirtualClock
from yagent.protocol.events import DelegationEnded, DelegationStarted, ToolCallStart
from yagent.protocol.stop import StopReason
from yagent.runtime.clock import SystemClock
from yagent.tools.spec import CallContext


async def _raises(number: int, call_context: CallContext) -> str:
    raise RuntimeError("the tool broke")


async def _vanishes(number: int, call_context: CallContext) -> str:
    raise asyncio.CancelledError


async def _never_ends(number: int, call_context: CallContext) -> str:
    await asyncio.Event().wait()
    return "unreachable"


@pytest.mark.parametrize("children", [1, 3])
@pytest.mark.parametrize("act", [_raises, _vanishes, _never_ends], ids=["raises", "is cancelled", "never ends"])
async def test_J01_whatever_a_childs_tool_does_the_parent_gets_one_result_for_each_child(
    tmp_path: Path, clock: VirtualClock, act: Callable[[int, CallContext], Any], children: int
) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    calls = Calls()
    bad = [calls("delegate_repo", task=f"bad {number}") for number in range(children)]
    parts: Parts = {
        "the Director": [[*bad, calls("delegate_repo", task="good")], "Done."],
        "bad": [[calls("act")], [calls("agent_exit", **EXIT)]],
        "good": [[calls("work", number=1)], [calls("agent_exit", **EXIT)]],
    }
    stage = Troupe(clock, parts).stage(workspace, Rules(tools=(probe("act", act),), total=600.0))
    started = clock.now()
    assert (await stage.run()).deliverable == "Done."
    assert clock.now() - started < 2 * (600 + 125), "two at once, within their limit and one last step"
    assert_paired(stage.recorders[""].messages)
    assert len(results(stage)) == children + 1
    assert "Found it." in results(stage)[-1]
    assert len(stage.published(DelegationEnded)) == len(stage.published(DelegationStarted)) == children + 1


def _delegating(tool: str = "delegate_repo") -> Callable[[Agent], Any]:
    async def director(agent: Agent) -> str:
        (result,) = await agent.calls(Call(tool, {"task": "look"}))
        return f"{'ERROR ' if result.is_error else ''}{result.text}"

    return director


SSE_ERROR = sse({"error": {"message": "the machine broke", "code": 400, "type": "invalid_request_error"}}, "[DONE]")
FAILURES: dict[str, tuple[Reply, str, str]] = {
    "404": (Reply(text="never", chaos=[status(404)] * 99), "llm_error", "404"),
    "401": (Reply(text="never", chaos=[status(401)] * 99), "llm_error", "401"),
    "error in the stream": (Reply(text="half", chaos=[Chaos("error_in_stream", message="we broke")] * 99), "llm_error", "we broke"),
    "fatal error in the stream": (Reply(raw=SSE_ERROR), "llm_error", "the machine broke"),
    "always busy": (Reply(text="never", chaos=[status(429)] * 99), "llm_error", "429"),
    "always lost": (Reply(text="never", chaos=[Chaos("reset_mid_stream")] * 99), "llm_error", "connection"),
    "nothing": (Reply(), "llm_error", "returned nothing"),
    "a refusal": (Reply(text="I will not.", finish="refusal"), "llm_error", "declined"),
    "a page": (Reply(text="never", chaos=[Chaos("html_page")] * 99), "llm_error", "web page"),
}


@pytest.mark.parametrize(("reply", "reason", "words"), FAILURES.values(), ids=FAILURES)
async def test_D11_a_child_whose_provider_fails_is_an_error_with_its_cause(
    sessions: Sessions, model_server: ModelServer, reply: Reply, reason: str, words: str
) -> None:
    found = Reply("The bug is in line two.", calls=call("read_file", path="notes.txt").calls)
    model_server.play({"are the Director": _delegating(), "are Repo": [found, *[reply] * 99]})
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert re.match(rf"\[repo#1 · error · {reason} · ", result.answer), result.answer
    assert words in result.answer
    assert ("I will not." if words == "declined" else "The bug is in line two.") in result.answer  # its newest words
    assert "It did not finish: " in result.answer
    assert [(each.status, each.stop_reason.value) for each in result.delegations] == [("error", reason)]
    assert result.exit_code == 0, "the Director itself came to an end"


@pytest.mark.parametrize("failure", [each for each in FAILURES if each != "fatal error in the stream"])  # which is of another dialect
async def test_D11_the_result_of_a_failed_child_is_marked_as_an_error_on_the_wire(
    sessions: Sessions, model_server: ModelServer, failure: str
) -> None:
    model_server.play({"are the Director": _delegating(), "are Repo": [FAILURES[failure][0]] * 99})
    async with sessions.open(api_format="anthropic") as opened:
        assert (await opened.do("go")).answer.startswith("ERROR [repo#1 · error")


@pytest.mark.parametrize("steps", [1, 3])
async def test_D11_a_child_at_its_step_limit_is_unfinished_whatever_it_says(
    sessions: Sessions, model_server: ModelServer, steps: int
) -> None:
    async def repo(agent: Agent) -> str:
        for line in range(steps):
            await agent.call("read_file", text=f"Found {line}.", path="notes.txt", start_line=1 + line % 2)
        return "All done, everything works!"

    sessions.configure(f"[agent]\nrepo_max_steps = {steps}\n")
    model_server.play({"are the Director": _delegating(), "are Repo": repo})
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert result.answer.startswith(f"[repo#1 · partial · max_steps · {steps} step")
    assert "did not finish: it reached its step limit" in result.answer


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("trouble", [status(429, retry_after="2"), Chaos("error_in_stream"), Chaos("close_mid_stream"), status(500)])
async def test_D11_a_failure_that_was_overcome_is_not_reported(
    sessions: Sessions, model_server: ModelServer, api_format: str, trouble: Chaos
) -> None:
    last = Reply(calls=hand_over("All well.").calls, chaos=[trouble])
    model_server.play({"are the Director": _delegating(), "are Repo": [Reply(calls=call("list_dir").calls, chaos=[trouble]), last]})
    async with sessions.open(api_format=api_format) as opened:
        result = await opened.do("go")
    assert result.answer == "[repo#1 · ok · agent_exit · 2 steps]\n\nAll well."


GROWING = "for i in $(seq 300); do echo $i >> {name}; sleep 0.05; done"


@pytest.mark.real_time
@pytest.mark.slow
async def test_J04_a_stop_reaches_every_agent_and_every_process_below(sessions: Sessions, model_server: ModelServer) -> None:
    mark = f"mark-{id(sessions)}"

    async def devops(agent: Agent) -> Reply:
        name = agent.task.split("<task>\n")[1].split("\n")[0]
        return hand_over(await agent.call("run_bash", command=f": {mark}; " + GROWING.format(name=name), timeout=60))

    async def coding(agent: Agent) -> Reply:
        await agent.call("run_bash", command=f": {mark}; " + GROWING.format(name="background"), is_background=True)
        return hand_over("started")

    async def repo(agent: Agent) -> Reply:
        return hand_over(await agent.call("delegate_devops", task=agent.task.split("<task>\n")[1].split("\n")[0]))

    async def director(agent: Agent) -> str:
        await agent.call("delegate_coding", task="start")
        await agent.calls(*(Call("delegate_repo", {"task": f"file{number}"}) for number in range(3)))
        return "never"

    model_server.play({"are the Director": director, "are Coding": coding, "are Repo": repo, "are DevOps": devops})
    sessions.configure("[agent]\nmax_parallel_delegations = 3\n")
    async with sessions.open(clock=SystemClock(), mode="full-yolo") as opened:
        there = sessions.workspace.glob  # one command has the write lock, whichever came first
        result = await stopped(opened, "go", lambda: any(there("background")) and any(there("file?")))
        assert result.stop_reason is StopReason.CANCELLED
        assert not alive(mark), "who is gone writes nothing any more"
        await until(lambda: model_server.in_flight == 0)
        assert {each.stop_reason for each in result.delegations} == {StopReason.CANCELLED, StopReason.AGENT_EXIT}
        model_server.play({"are the Director": ["and on"]})
        assert (await opened.do("again")).answer == "and on"


@pytest.mark.parametrize("moment", ["queued", "thinking", "waiting to retry"])
async def test_J04_a_stop_reaches_children_wherever_they_wait(sessions: Sessions, model_server: ModelServer, moment: str) -> None:
    trouble = [status(429, retry_after="100")] * 9 if moment == "waiting to retry" else [Chaos("hang_before_headers")]

    async def director(agent: Agent) -> str:
        await agent.calls(*(Call("delegate_repo", {"task": f"look {number}"}) for number in range(9)))
        return "never"

    model_server.play({"are the Director": director, "are Repo": [Reply(text="never", chaos=trouble)]})
    sessions.configure(f"[agent]\nmax_parallel_delegations = {1 if moment == 'queued' else 4}\n")
    wanted = 2 if moment == "queued" else 5  # a batch runs four at once
    async with sessions.open() as opened:
        result = await stopped(opened, "go", lambda: len(model_server.exchanges) >= wanted)
        assert result.stop_reason is StopReason.CANCELLED
        requests = len(model_server.exchanges)
        await asyncio.sleep(1000)
        assert (len(model_server.exchanges), model_server.in_flight) == (requests, 0)


@pytest.mark.slow
async def test_J10_a_hundred_delegations_in_one_reply_each_have_one_result_and_no_crowd_forms(
    sessions: Sessions, model_server: ModelServer
) -> None:
    def chat(view: RequestView) -> Reply:
        crowded = model_server.in_flight > 4
        return Reply(calls=hand_over("Seen.").calls, chaos=[status(429, retry_after="1")] if crowded else [])

    def script(view: RequestView) -> Reply:
        if "are Chat" in view.identity:
            return chat(view)
        if view.results:
            return Reply(text=f"{len(view.results)} results, {sum('Seen.' in result.text for result in view.results)} good")
        return Reply(calls=[Call("delegate_chat", {"task": f"say {number}"}) for number in range(100)])

    model_server.script = script
    sessions.configure("[agent]\nmax_parallel_delegations = 8\n")
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert result.answer == "100 results, 100 good"
    assert model_server.peak_in_flight <= 8
    assert len(result.delegations) == 100


@pytest.mark.parametrize("limit", [1, 2, 4])
async def test_J10_a_server_that_bears_few_at_once_is_waited_for_by_all(sessions: Sessions, model_server: ModelServer, limit: int) -> None:
    def script(view: RequestView) -> Reply:
        if "are Repo" in view.identity:
            trouble = [status(429, retry_after="3")] * 2 if model_server.in_flight > limit else []
            return Reply(calls=hand_over("Seen.").calls, chaos=trouble)
        if view.results:
            return Reply(text=str(sum("Seen." in result.text for result in view.results)))
        return Reply(calls=[Call("delegate_repo", {"task": f"look {number}"}) for number in range(12)])

    model_server.script = script
    sessions.configure("[agent]\nmax_parallel_delegations = 8\n")
    async with sessions.open() as opened:
        assert (await opened.do("go")).answer == "12"


async def test_J10_no_role_can_delegate_to_itself_or_back_up(sessions: Sessions, model_server: ModelServer) -> None:
    told: list[str] = []

    async def repo(agent: Agent) -> Reply:
        told.extend([await agent.call(f"delegate_{role}", task="go on") for role in ("repo", "coding", "director", "chat")])
        return hand_over("tried")

    model_server.play({"are the Director": _delegating(), "are Repo": repo})
    async with sessions.open(mode="full-yolo") as opened:
        result = await opened.do("go")
    assert all("There is no tool called" in text for text in told)
    assert len(result.delegations) == 1


def _for_ever(agent_calls: Callable[[int], Call]) -> Callable[[Agent], Any]:
    async def part(agent: Agent) -> Reply:
        for number in range(60):
            await agent.calls(agent_calls(number))
        return hand_over("never ended")

    return part


READ = Call("read_file", {"path": "notes.txt"})
SPELLINGS = ('{"path":"notes.txt","start_line":1}', '{"start_line": 1, "path": "notes.txt"}')
GONE = {"search": "gone", "replace": "x"}
CIRCLES: dict[str, tuple[str, Callable[[int], Call], int]] = {
    "one call": ("repo", lambda number: READ, 12),
    "two in turn": ("repo", lambda number: (READ, Call("list_dir"))[number % 2], 24),
    "three in turn": ("repo", lambda number: (READ, Call("list_dir"), Call("print_dir_tree"))[number % 3], 36),
    "a call that fails": ("repo", lambda number: Call("read_file", {"path": "gone.txt"}), 12),
    "bad arguments": ("repo", lambda number: Call("read_file", "{"), 12),
    "keys in another order": ("repo", lambda number: Call("read_file", SPELLINGS[number % 2]), 12),
    "the same text written": ("coding", lambda number: Call("create_file", {"path": "a.txt", "content": "x\n", "overwrite": True}), 13),
    "an edit that finds nothing": ("coding", lambda number: Call("search_replace_in_file", {"path": "notes.txt", "edits": [GONE]}), 12),
    "a command": ("coding", lambda number: Call("run_bash", {"command": "false"}), 12),
    "a command that tells its time": ("coding", lambda number: Call("run_bash", {"command": "echo 1 failed in 0.${RANDOM}s"}), 12),
    "a denied command": ("coding", lambda number: Call("run_bash", {"command": "git push"}), 12),
}  # fmt: skip


@pytest.mark.parametrize(("role", "made", "most"), CIRCLES.values(), ids=CIRCLES)
async def test_D13_an_agent_that_goes_in_circles_is_told_and_then_ended(
    sessions: Sessions, model_server: ModelServer, role: str, made: Callable[[int], Call], most: int
) -> None:
    name = {"repo": "are Repo", "coding": "are Coding"}[role]
    model_server.play({"are the Director": _delegating(f"delegate_{role}"), name: _for_ever(made)})
    async with sessions.open(mode="yolo") as opened:
        result = await opened.do("go")
    assert f"[{role}#1 · " in result.answer
    assert "loop_detected" in result.answer
    assert [each.stop_reason for each in result.delegations] == [StopReason.LOOP_DETECTED]
    requests = [view for view in model_server.views if name in view.identity]
    assert len(requests) <= most + 1
    last = "\n".join(entry.results[-1].text for entry in requests[-1].entries if entry.results)
    assert "third time" in last
    assert "Strong warning" in last


async def test_D13_a_director_who_delegates_the_same_over_and_over_is_ended_too(sessions: Sessions, model_server: ModelServer) -> None:
    def script(view: RequestView) -> Reply:
        return hand_over("Nothing new.") if "are Chat" in view.identity else call("delegate_chat", task="again")

    model_server.script = script
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.LOOP_DETECTED, 3)
    assert len(result.delegations) == 12


POLLS = {
    "a file that grows": "echo x >> log; wc -l < log",
    "a percentage": "echo x >> log; echo $(($(wc -l < log) * 3)) %",
    "seconds left": "echo x >> log; echo $((100 - $(wc -l < log))) s to go",
}


@pytest.mark.parametrize("command", POLLS.values(), ids=POLLS)
async def test_D13_a_poll_whose_result_changes_may_go_on(sessions: Sessions, model_server: ModelServer, command: str) -> None:
    async def coding(agent: Agent) -> Reply:
        for _ in range(20):
            assert "[yagent]" not in await agent.call("run_bash", command=command)
        return hand_over("ready")

    model_server.play({"are the Director": _delegating("delegate_coding"), "are Coding": coding})
    async with sessions.open(mode="full-yolo") as opened:
        result = await opened.do("go")
    assert [each.stop_reason for each in result.delegations] == [StopReason.AGENT_EXIT]


async def test_D13_there_is_a_limit_of_steps_in_any_case(sessions: Sessions, model_server: ModelServer) -> None:
    numbers = count()
    model_server.script = lambda view: call("search_by_regex", pattern=f"nothing{next(numbers)}")
    async with sessions.open(max_steps=7) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.MAX_STEPS, 3)
    assert len(opened.told(ToolCallStart)) == 7


async def test_J05_an_interrupted_child_leaves_what_it_changed(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.call("create_file", path="half.txt", content="half\n")
        return Reply(text="never", chaos=[Chaos("hang_before_headers")])

    model_server.play({"are the Director": _delegating("delegate_coding"), "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        result = await stopped(opened, "go", lambda: (sessions.workspace / "half.txt").exists() and model_server.in_flight)
    assert [change.path for change in result.files_changed] == ["half.txt"]
    assert [(each.status, each.stop_reason) for each in result.delegations] == [("error", StopReason.CANCELLED)]
    await until(lambda: model_server.in_flight == 0)
