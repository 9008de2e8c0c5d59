"""Parallelism on the production profiles, with a control arm; and one result per call through the whole chain."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.virtual_time import VirtualClock, VirtualTimeLoop
from tests.tools.scopes import NOBODY, YES, Desk, call
from yagent.protocol.messages import ToolCall
from yagent.tools.batch import Batch
from yagent.tools.spec import CallContext, DelegationRequest, Output
from yagent.tools.surface import tool_call_is_parallelizable
from yagent.tools.teaching import cancelled_output
from yagent.workspace.permissions import Mode


def batch_of(desk: Desk, calls: Sequence[ToolCall], limit: int = 4) -> Batch[ToolCall, Output]:
    """A batch as the loop makes it."""

    async def execute(each: ToolCall) -> Output:
        return await desk.invoker.invoke(each, desk.scope)

    return Batch(
        calls,
        parallelizable=lambda each: tool_call_is_parallelizable(desk.surface, each.name),
        execute=execute,
        cancelled_result=cancelled_output,
        limit=limit,
    )


class Peak:
    """A delegate, or a model, that counts how many run at once."""

    def __init__(self) -> None:
        self.running = 0
        self.highest = 0

    async def delegate(self, request: DelegationRequest, call: CallContext) -> Output:
        return Output(await self.consult(request.role, "", request.task))

    async def consult(self, slot: str, system: str, question: str) -> str:
        self.running += 1
        self.highest = max(self.highest, self.running)
        await asyncio.sleep(1)
        self.running -= 1
        return f"{slot}: {question}"


@pytest.mark.parametrize(
    ("role", "calls", "limit", "peak"),
    [
        ("director", [call("delegate_repo", task=str(number)) for number in range(3)], 4, 3),
        ("director", [call("delegate_repo", task=str(number)) for number in range(3)], 1, 1),
        ("director", [call("delegate_coding", task="a"), call("delegate_coding", task="b")], 4, 1),
        ("director", [call("delegate_repo", task="a"), call("delegate_coding", task="b"), call("delegate_chat", task="c")], 4, 1),
        ("repo", [call("delegate_devops", task="a"), call("delegate_devops", task="b")], 4, 1),
        ("coding", [call("thinking", thought=str(number)) for number in range(6)], 4, 4),
        ("coding", [call("thinking", thought=str(number)) for number in range(6)], 1, 1),
    ],
)
async def test_what_runs_at_once_on_production_profiles(
    workspace: Path, clock: VirtualClock, role: str, calls: list[ToolCall], limit: int, peak: int
) -> None:
    desk, counted = Desk(workspace, clock, role=role), Peak()
    desk.scope = replace(desk.scope, delegate=counted.delegate, consult=counted.consult)
    results = await batch_of(desk, calls, limit).run()
    assert counted.highest == peak
    tasks = [each.arguments.split('"')[-2] for each in calls]
    assert [result.text.rpartition(": ")[2] for result in results] == tasks


async def test_two_agents_never_write_at_once(coding: Desk, workspace: Path, clock: VirtualClock) -> None:
    other = Desk(workspace, clock)
    other.write_lock = coding.write_lock
    (workspace / "a.txt").write_text("0\n")
    edit = call("search_replace_in_file", path="a.txt", edits=[{"search": "0", "replace": "1"}])
    again = call("search_replace_in_file", path="a.txt", edits=[{"search": "1", "replace": "2"}])
    first, second = await asyncio.gather(coding.invoker.invoke(edit, coding.scope), other.invoker.invoke(again, other.scope))
    assert (first.is_error, second.is_error) == (False, False)
    assert (workspace / "a.txt").read_text() == "2\n"


CALLS = st.sampled_from(
    [
        call("read_file", path="a.txt"),
        call("read_file", path="missing"),
        call("read_file"),
        call("no_such_tool"),
        call("create_file", path="b.txt", content="x"),
        call("delete_file", path="../outside"),
        call("thinking", thought="hang"),
        call("thinking", thought="crash"),
        call("thinking", thought="cancelled inside"),
        call("design", requirement="cold"),
        call("load_tool", names=["design"]),
        call("agent_exit", reason="r", handoff={"conclusion": "c", "status": "ok"}),
        ToolCall("x", "read_file", "{}", malformed="{"),
    ]
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(calls=st.lists(CALLS, max_size=8), allowed=st.booleans(), cancel_after=st.none() | st.integers(0, 30))
def test_every_call_has_one_result_after_results_denials_crashes_and_cancellations(
    tmp_path_factory: pytest.TempPathFactory, calls: list[ToolCall], allowed: bool, cancel_after: int | None
) -> None:
    workspace = tmp_path_factory.mktemp("work")
    (workspace / "a.txt").write_text("a\n")

    async def consult(slot: str, system: str, question: str) -> str:
        if question == "crash":
            raise RuntimeError(question)
        if question == "cancelled inside":
            raise asyncio.CancelledError
        await asyncio.sleep(1000 if question == "hang" else 0)
        return question

    async def scenario() -> None:
        desk = Desk(workspace, VirtualClock(), mode=Mode.ASK)
        desk.person.usually = YES if allowed else NOBODY
        desk.scope = replace(desk.scope, consult=consult)
        batch = batch_of(desk, calls)
        task = asyncio.ensure_future(batch.run())
        if cancel_after is not None:
            for _ in range(cancel_after):
                await asyncio.sleep(0)
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert len(batch.results) == len(calls)
        assert all(result.text.strip() for result in batch.results)
        assert not desk.write_lock.locked()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())
