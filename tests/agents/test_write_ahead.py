"""What has to be on the record is there before it takes effect, and each call has exactly one result, whatever ends the run and when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agents.probes import Calls, asks, batches, in_turn, probe, scripted
from tests.agents.stage import ProbeRecorder, Rules, Stage, assert_paired
from tests.support.virtual_time import VirtualClock, VirtualTimeLoop
from yagent.agents.loop.carry_out import carry_out
from yagent.llm.scripted import Script, ScriptedReply, ScriptedRequest
from yagent.protocol.messages import user_message
from yagent.protocol.stop import StopReason
from yagent.rollout.marks import Segment
from yagent.rollout.reader import read
from yagent.rollout.records import EventMessage, Record
from yagent.rollout.replay import replay
from yagent.rollout.writer import Numbers, RolloutError, RolloutWriter, SessionLog
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.clock import Clock
from yagent.runtime.gate import AbandonedError
from yagent.runtime.supervise import Domain
from yagent.tools.spec import AnySpec, CallContext
from yagent.tools.teaching import NOT_BEGUN
from yagent.workspace.permissions import Mode


class Scene:
    """Coding at work with tools that check, whenever they run, what a crash now would leave."""

    def __init__(
        self, workspace: Path, clock: VirtualClock, script: Script, *, fails_at: int | None = None, barrier_seconds: float = 0.001
    ) -> None:
        self.clock = clock
        self.effects: list[str] = []
        self.requests = 0
        self.early: list[str] = []
        tools = (*self._tools(),)
        rules = Rules(tools=tools, mode=Mode.ASK, recorder=lambda identity, clock: ProbeRecorder(clock, fails_at, barrier_seconds))
        self.stage = Stage(workspace, clock, scripted(clock, self._watched(script), pace=0.05), rules)

    @property
    def recorder(self) -> ProbeRecorder:
        return self.stage.recorders[""]

    def _tools(self) -> Iterator[AnySpec]:
        async def look(number: int, call: CallContext) -> str:
            await self.clock.sleep(0.3 * number)
            return f"seen {number}"

        async def change(number: int, call: CallContext) -> str:
            if not any(call.call_id == asked.id for message in self.recorder.safe_messages for asked in message.calls):
                self.early.append(f"{call.call_id} took effect before it was recorded")
            self.effects.append(call.call_id)
            await self.clock.sleep(0.5)
            return f"changed {number}"

        async def fail(number: int, call: CallContext) -> str:
            await self.clock.sleep(0.1)
            raise ZeroDivisionError("a defect in a tool")

        yield probe("look", look)
        yield probe("change", change, changes=True)
        yield probe("fail", fail)

    def _watched(self, script: Script) -> Script:
        def watched(request: ScriptedRequest) -> ScriptedReply | None:
            self.requests += 1
            if list(request.messages) != self.recorder.safe_messages:
                self.early.append(f"request {self.requests} was sent before what it says was recorded")
            reply = script(request)
            assert isinstance(reply, ScriptedReply | None)
            return reply

        return watched


def a_script() -> Script:
    steps = batches(Calls(), ["look", "look", "change"], ["change", "fail", "look"], ["look"])
    return in_turn(*steps, ScriptedReply("Done."), ScriptedReply("Done."), ScriptedReply("Done."))


async def test_calls_are_recorded_before_they_act_and_results_before_they_are_sent(workspace: Path, clock: VirtualClock) -> None:
    scene = Scene(workspace, clock, a_script())
    result = await scene.stage.run("coding")
    assert result.stop_reason is StopReason.PLAIN_TEXT
    assert scene.early == []
    assert len(scene.effects) == 2
    assert scene.requests == 6
    assert_paired(scene.recorder.messages)
    assert scene.recorder.durable == len(scene.recorder.records)


@pytest.mark.parametrize(("fails_at", "requests"), list(enumerate([0, 1, 1, 2, 2, 3, 3, 4, 5], start=1)))
async def test_a_record_that_fails_stops_the_run_before_any_further_effect(
    workspace: Path, clock: VirtualClock, fails_at: int, requests: int
) -> None:
    # the barriers in turn: before a request, before its calls; the last three requests are answered in words
    scene = Scene(workspace, clock, a_script(), fails_at=fails_at)
    result = await scene.stage.run("coding")
    recorded = {call.id for message in scene.recorder.safe_messages for call in message.calls}
    assert isinstance(result.error, RolloutError)
    assert (result.stop_reason, result.exit_code) == (StopReason.PANIC, 1)
    assert scene.early == []
    assert set(scene.effects) <= recorded
    assert scene.requests == requests
    assert_paired(scene.recorder.messages)


async def test_a_call_whose_asking_could_not_be_recorded_is_answered_as_not_begun(workspace: Path, clock: VirtualClock) -> None:
    scene = Scene(workspace, clock, a_script(), fails_at=2)
    await scene.stage.run("coding")
    assert [result.text for result in scene.recorder.messages[-1].results] == [NOT_BEGUN.text] * 3
    assert scene.effects == []


async def test_a_terminal_record_that_cannot_be_written_is_told_with_the_result(workspace: Path, clock: VirtualClock) -> None:
    scene = Scene(
        workspace, clock, in_turn(asks(Calls()("agent_exit", reason="r", handoff={"conclusion": "c", "status": "ok"}))), fails_at=3
    )
    result = await scene.stage.run("coding")
    assert (result.stop_reason, result.deliverable) == (StopReason.AGENT_EXIT, "c")
    assert scene.stage.account.warnings == ["The end of the record is missing: The record of this session cannot be written: no space."]


async def test_a_defect_inside_a_tool_is_an_error_result_and_the_run_goes_on(workspace: Path, clock: VirtualClock) -> None:
    scene = Scene(workspace, clock, in_turn(asks(Calls()("fail")), *[ScriptedReply("Done.")] * 3))
    assert (await scene.stage.run("coding")).deliverable == "Done."
    (result,) = scene.recorder.messages[2].results
    assert result.is_error
    assert "ZeroDivisionError" in result.text


async def test_a_denial_is_a_result_and_the_run_goes_on(workspace: Path, clock: VirtualClock) -> None:
    create = Calls()("create_file", path="new.txt", content="x")
    scene = Scene(workspace, clock, in_turn(asks(create), *[ScriptedReply("Done.")] * 3))
    assert (await scene.stage.run("coding")).deliverable == "Done."
    assert "nobody can give one" in scene.recorder.messages[2].results[0].text
    assert [denied.answered_by for denied in scene.stage.account.denials] == ["nobody"]
    assert not (workspace / "new.txt").exists()


async def test_a_defect_of_the_loop_itself_is_a_panic_with_a_terminal_record(workspace: Path, clock: VirtualClock) -> None:
    def broken(request: ScriptedRequest) -> ScriptedReply:
        raise KeyError("not there")

    scene = Scene(workspace, clock, broken)
    result = await scene.stage.run("coding")
    assert (result.stop_reason, result.status, result.exit_code) == (StopReason.PANIC, "error", 1)
    assert "unexpected KeyError" in str(result.error)
    assert [record.data["stop_reason"] for record in scene.recorder.terminals] == ["panic"]


async def test_a_run_given_up_at_the_gate_is_paused_and_has_not_counted_the_step(workspace: Path, clock: VirtualClock) -> None:
    scene = Scene(workspace, clock, a_script())
    scene.stage.gate.pause()
    async with Domain("test") as domain:
        running = domain.go("run", scene.stage.run("coding"))
        await clock.sleep(3600)
        assert scene.requests == 0
        scene.stage.gate.abandon()
        result = await running
    assert (result.stop_reason, result.steps, scene.requests) == (StopReason.PAUSED, 0, 0)
    assert isinstance(result.error, AbandonedError)


async def test_a_pause_lets_the_step_end_and_repeats_nothing(workspace: Path, clock: VirtualClock) -> None:
    scene = Scene(workspace, clock, a_script())
    async with Domain("test") as domain:
        running = domain.go("run", scene.stage.run("coding"))
        while not scene.effects:
            await clock.sleep(0.01)
        scene.stage.gate.pause()
        await clock.sleep(10_000)
        assert scene.requests == 1
        assert_paired(scene.recorder.messages)
        scene.stage.gate.resume()
        result = await running
    assert (result.stop_reason, scene.requests) == (StopReason.PLAIN_TEXT, 6)


KINDS = st.sampled_from(["look", "change", "fail", "create_file", "unknown_tool"])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(KINDS, min_size=1, max_size=5), min_size=1, max_size=4),
    st.floats(0, 6),
    st.floats(0, 0.3),
    st.none() | st.integers(1, 12),
)
def test_whenever_a_run_is_cancelled_each_call_has_exactly_one_result(
    workspace: Path, steps: list[list[str]], after: float, again: float, fails_at: int | None
) -> None:
    async def play() -> None:
        clock = VirtualClock()
        script = in_turn(*batches(Calls(), *steps), *[ScriptedReply("Done.")] * 3)
        scene = Scene(workspace, clock, script, fails_at=fails_at, barrier_seconds=0.1)
        async with Domain("test") as domain:
            loop, frame = scene.stage.prepared("coding")
            running = domain.go("run", carry_out(loop, (user_message("task"),), frame))
            await clock.sleep(after)
            running.cancel()
            await clock.sleep(again)
            running.cancel()
            outcome = await running.outcome()
        assert loop.result is not None
        if outcome.cancelled and loop.result.stop_reason is not StopReason.PLAIN_TEXT:
            assert loop.result.stop_reason is (StopReason.PANIC if loop.result.error else StopReason.CANCELLED)
        messages = list(scene.stage.conversations[""].messages)
        assert_paired(messages)
        assert scene.recorder.messages == messages
        assert [record for record in scene.recorder.records if isinstance(record, EventMessage) and record.is_terminal] == [
            scene.recorder.records[-1]
        ]
        assert scene.early == []
        assert len(set(scene.effects)) == len(scene.effects)
        assert scene.stage.account.model_calls <= scene.requests

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(play())


class _Both(ProbeRecorder):
    """Keeps the record in memory and in a real file."""

    def __init__(self, clock: Clock, writer: RolloutWriter) -> None:
        super().__init__(clock)
        self.writer = writer

    def append(self, record: Record) -> None:
        super().append(record)
        self.writer.append(record)

    async def barrier(self) -> None:
        await self.writer.barrier()
        await super().barrier()


async def test_the_real_record_of_a_cancelled_run_is_whole(workspace: Path, tmp_path: Path, clock: VirtualClock) -> None:
    scene = Scene(workspace, clock, a_script())
    async with Domain("session") as domain:
        log = SessionLog(tmp_path / "rollout", "s1", "20260101-000000", Numbers(), clock, domain, make_private_directory)
        scene.stage.rules.recorder = lambda identity, clock: _Both(clock, log.open(identity))
        running = domain.go("run", scene.stage.run("coding"))
        while not scene.effects:
            await clock.sleep(0.01)
        running.cancel()
        assert (await running.outcome()).cancelled
    (path,) = (tmp_path / "rollout").iterdir()
    records = [entry.record for entry in read(path)]
    assert_paired(replay([Segment(path)]).messages)
    assert isinstance(records[-1], EventMessage)
    assert records[-1].data["stop_reason"] == "cancelled"
