"""Gates, timers and nesting together, against a model that counts seconds by hand."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.virtual_time import VirtualClock, VirtualTimeLoop, settle
from yagent.runtime.activity import Activity, IdleTimeoutError, TotalTimeoutError
from yagent.runtime.gate import Gate
from yagent.runtime.supervise import Domain, Handle

IDLE, TOTAL = 20, 90
ABOVE = {"director": "", "coding": "director", "repo": "director", "nested": "coding"}
AGENTS = tuple(ABOVE)


async def test_a_pause_of_one_delegation_costs_it_nothing_and_its_sibling_goes_on(clock: VirtualClock) -> None:
    director, gate = Activity(clock, total=TOTAL * 4), Gate()
    held, free = gate.below(), gate.below()

    async def work(own: Gate, activity: Activity) -> float:
        await clock.sleep(5)
        await own.wait()
        activity.heartbeat()
        await clock.sleep(IDLE - 1)
        return clock.now()

    async with Domain("test") as domain:
        with ExitStack() as stack:
            stack.enter_context(director.follow(gate))
            handles = []
            for own in (held, free):
                activity = director.below(idle=IDLE, total=TOTAL)
                stack.enter_context(activity.follow(own))
                handles.append(domain.go("run", activity.run(work(own, activity))))
            started = clock.now()
            held.pause()
            assert await handles[1] - started == 5 + IDLE - 1
            await clock.sleep(TOTAL * 3)
            held.resume()
            resumed = clock.now()
            assert await handles[0] - resumed == IDLE - 1, "idle counts anew from the moment it goes on"


class GatesAndTimers(RuleBasedStateMachine):
    """Any order of pauses anywhere in the tree and of waits: the same run ends by the same limit in the same second as counted by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualTimeLoop()
        self.clock = VirtualClock()
        self.stack = ExitStack()
        self.domain = Domain("model")
        self.gates: dict[str, Gate] = {}
        self.activities: dict[str, Activity] = {}
        self.held: set[str] = set()
        self.idle = dict.fromkeys(AGENTS, 0)
        self.total = dict.fromkeys(AGENTS, 0)
        self.expected: dict[str, type[Exception]] = {}
        self.handles: dict[str, Handle[None]] = self.loop.run_until_complete(self._start())

    async def _start(self) -> dict[str, Handle[None]]:
        await self.domain.__aenter__()
        handles = {}
        for agent, above in ABOVE.items():
            if above:
                gate, activity = self.gates[above].below(), Activity(self.clock, idle=IDLE, total=TOTAL, parent=self.activities[above])
            else:
                gate, activity = Gate(), Activity(self.clock, total=TOTAL)
            self.gates[agent], self.activities[agent] = gate, activity
            self.stack.enter_context(activity.follow(gate))
            handles[agent] = self.domain.go(agent, activity.run(self.clock.sleep(1_000_000)))
        await settle()
        return handles

    def _line(self, agent: str) -> list[str]:
        """An agent and those above it."""
        return [agent, *self._line(ABOVE[agent])] if agent else []

    def _paused(self, agent: str) -> bool:
        return any(each in self.held for each in self._line(agent))

    def _still(self, agent: str) -> bool:
        """It is paused, or somebody below it is, for whom it waits."""
        return any(self._paused(each) for each in AGENTS if agent in self._line(each))

    def _change(self, agent: str, *, held: bool) -> None:
        before = {each: self._still(each) for each in AGENTS}
        (self.held.add if held else self.held.discard)(agent)
        gate = self.gates[agent]

        async def act() -> None:
            (gate.pause if held else gate.resume)()
            await settle()

        self.loop.run_until_complete(act())
        for each in AGENTS:
            if before[each] and not self._still(each):
                self.idle[each] = 0

    @precondition(lambda self: not self.expected)
    @rule(seconds=st.integers(1, 12))
    def time_passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.loop.run_until_complete(self._second())
            for agent in AGENTS:
                if not self._still(agent):
                    self.total[agent] += 1
                    self.idle[agent] += 1
                    if self.total[agent] >= TOTAL:
                        self.expected[agent] = TotalTimeoutError
                    elif agent != "director" and self.idle[agent] >= IDLE:
                        self.expected[agent] = IdleTimeoutError
            if self.expected:
                return

    async def _second(self) -> None:
        await self.clock.sleep(1)
        await settle()

    @rule(agent=st.sampled_from(AGENTS))
    def pause(self, agent: str) -> None:
        self._change(agent, held=True)

    @rule(agent=st.sampled_from(AGENTS))
    def resume(self, agent: str) -> None:
        self._change(agent, held=False)

    @precondition(lambda self: not self.expected)
    @rule(agent=st.sampled_from(AGENTS))
    def heartbeat(self, agent: str) -> None:
        async def beat() -> None:
            self.activities[agent].heartbeat()
            await settle()

        self.loop.run_until_complete(beat())
        for each in self._line(agent):
            self.idle[each] = 0

    @invariant()
    def gates_and_clocks_agree_with_the_model(self) -> None:
        self.loop.run_until_complete(self._check())

    async def _check(self) -> None:
        assert {agent: gate.paused for agent, gate in self.gates.items()} == {agent: self._paused(agent) for agent in AGENTS}
        ended = {agent: (await handle.outcome()).error for agent, handle in self.handles.items() if handle.done()}
        assert {agent: type(error) for agent, error in ended.items()} == self.expected
        used = {agent: activity.used() for agent, activity in self.activities.items()}
        assert used == pytest.approx({agent: float(seconds) for agent, seconds in self.total.items()})

    def teardown(self) -> None:
        async def finish() -> None:
            self.stack.close()
            await self.domain.__aexit__(None, None, None)

        self.loop.run_until_complete(finish())
        self.loop.close()


GatesAndTimers.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
test_gates_and_timers_against_model = GatesAndTimers.TestCase
