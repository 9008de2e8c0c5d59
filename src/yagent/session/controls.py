"""The user's hold on the agents at work: let one stand still, say something to it, end it. One control for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from yagent.agents.loop.frame import EventPublisher
from yagent.agents.loop.hooks import LoopHooks, Reply, no_hint
from yagent.protocol.client import RunningAgent
from yagent.protocol.events import SteeringJoined, SteeringQueued, SteeringReturned, TaskPaused, TaskResumed
from yagent.protocol.ids import DIRECTOR, AgentIdentity, DelegationId
from yagent.records import dataclass
from yagent.runtime.gate import Gate
from yagent.runtime.stopping import Stoppable
from yagent.session.refused import TaskRefused
from yagent.session.voice import CurrentTask
from yagent.workspace.background import BackgroundJobs

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Words:
    """Something the user said to an agent at work."""

    id: str
    text: str


class Control:
    """The hold on one agent, which is told of by `publisher`. `earlier` was said to it too late for the task before.

    `steps` is set to what tells the steps it has begun, once there is such a thing.
    """

    def __init__(
        self, identity: AgentIdentity, publisher: EventPublisher, task: CurrentTask, above: Control | None, earlier: tuple[Words, ...] = ()
    ) -> None:
        self.identity = identity
        self.above = above
        self.publisher = publisher
        self._task = task
        self.gate: Gate = Gate() if above is None else above.gate.below()
        self.steps: Callable[[], int] = lambda: 0
        self._stands_still = False
        self._earlier = list(earlier)
        self._waiting: list[Words] = []
        self._stopped = self._hard = False
        self._cancel: Callable[[], object] | None = None

    def hooks(self, on_plain_text: Callable[[Reply], str | None], hint: Callable[[], Awaitable[str]] = no_hint) -> LoopHooks:
        """What makes a loop heed this control, and its own policy for plain text; `hint` is what its requests say beside that."""
        return LoopHooks(steering=self.joining, on_plain_text=on_plain_text, hint=hint, at_gate=self._at_gate)

    def steer(self, words: Words) -> None:
        """Keep words for the next step."""
        self._waiting.append(words)
        self.publisher.publish(SteeringQueued(steering_id=words.id, agent=self.identity.role, text=words.text))

    def opening(self) -> list[str]:
        """What was said too late for the task before and opens this one."""
        return self._joined(self._earlier, self.steps() + 1)

    def joining(self) -> list[str]:
        """What joins before the step that has just begun."""
        return self._joined(self._earlier, self.steps()) + self._joined(self._waiting, self.steps())

    def returned(self, warn: Warn) -> tuple[Words, ...]:
        """What was said too late, now that the agent has ended. Whoever said it is told."""
        left, agent, is_director = (*self._earlier, *self._waiting), self.identity.role, self.above is None
        fate = "It opens the next task of this session" if is_director else "Nobody was told"
        for words in left:
            self.publisher.publish(SteeringReturned(steering_id=words.id, agent=agent, text=words.text, next_task=is_director))
            warn(f"{self.identity.label} had ended before it could hear: {words.text!r}. {fate}.")
        return left

    def ends_by(self, cancel: Callable[[], object]) -> None:
        """What ends it; done at once where that was asked for already."""
        self._cancel = cancel
        if self._stopped:
            cancel()

    def stop(self, *, hard: bool = False) -> None:
        """End it; `hard`: its processes at once."""
        self._hard = self._hard or hard
        if not self._stopped:
            self._stopped = True
            if self._cancel is not None:
                self._cancel()

    def at_once(self) -> bool:
        """Whether it, or an agent above it, was stopped the hard way."""
        return self._hard or (self.above is not None and self.above.at_once())

    def ended_alone(self) -> bool:
        """Whether the user ended this agent and none above it."""
        return self._stopped and (self.above is None or not self.above.is_ended())

    def is_ended(self) -> bool:
        """Whether the user ended it or an agent above it."""
        return self._stopped or (self.above is not None and self.above.is_ended())

    def snapshot(self) -> RunningAgent:
        """The agent as it is now."""
        return RunningAgent(
            delegation_id=self.identity.delegation_id,
            parent_delegation_id="" if self.above is None else self.above.identity.delegation_id,
            role=self.identity.role,
            step=self.steps(),
            paused=self.gate.paused,
            stands_still=self._stands_still,
            steering=tuple(words.text for words in (*self._earlier, *self._waiting)),
        )

    @contextmanager
    def _at_gate(self, step: int) -> Iterator[None]:
        """Tell that the agent stands still at its gate, and that it goes on. One that is ended there does not go on."""
        if not self.gate.paused:
            yield
            return
        task_id, agent = self._task.id, self.identity.role
        self._stands_still = True
        self.publisher.publish(TaskPaused(task_id=task_id, step=step, agent=agent))
        try:
            yield
        finally:
            self._stands_still = False
        self.publisher.publish(TaskResumed(task_id=task_id, step=step, agent=agent))

    def _joined(self, waiting: list[Words], step: int) -> list[str]:
        taken = waiting[:]
        waiting.clear()
        for words in taken:
            self.publisher.publish(SteeringJoined(steering_id=words.id, agent=self.identity.role, step=step))
        return [words.text for words in taken]


class Controls:
    """The controls of one session: those of the agents at work, and what lasts from one task to the next."""

    def __init__(self, publisher: EventPublisher, task: CurrentTask) -> None:
        self._publisher = publisher
        self._task = task
        self.warn: Warn = lambda text: None  # hears of what was said to agents that had ended; each task sets its own
        self._running: dict[DelegationId, Control] = {}
        self._above: dict[DelegationId, DelegationId] = {}  # of all delegations of the task, also ended ones
        self._said = 0
        self._left: tuple[Words, ...] = ()
        self._ended_held = self._begins_held = False

    # A task and its delegations

    def begin(self) -> None:
        """A task is about to begin: from now on it can be paused, steered and stopped."""
        self._above.clear()
        identity = AgentIdentity(DIRECTOR)
        control = self._running[""] = Control(identity, self._voice_of(identity), self._task, None, self._left)
        self._left = ()
        if self._begins_held:
            control.gate.pause()
        self._begins_held = False

    @property
    def director(self) -> Control:
        """The control of the Director in the task under way."""
        return self._running[""]

    def end(self) -> None:
        """The task is over. What the Director has not heard is kept for the next one. Without effect when done already."""
        director = self._running.pop("", None)
        if director is not None:
            self._ended_held = director.gate.held
            self._left = director.returned(self.warn)

    def stay_paused(self) -> None:
        """The next task begins as paused as the last one ended: a pause holds until it is taken back."""
        self._begins_held = self._ended_held

    def delegation(self, identity: AgentIdentity, above: DelegationId) -> Control:
        """The control of a delegation that an agent at work is about to begin."""
        self._above[identity.delegation_id] = above
        return Control(identity, self._voice_of(identity), self._task, self._running[above])

    @asynccontextmanager
    async def under_way(self, control: Control, jobs: BackgroundJobs) -> AsyncIterator[None]:
        """A delegation at work. When the user stops it the block ends without an exception, and so do the background commands that were
        started in it or below it."""
        stoppable, delegation_id = Stoppable(), control.identity.delegation_id
        self._running[delegation_id] = control
        control.ends_by(stoppable.stop)
        try:
            with stoppable:
                yield
        finally:
            del self._running[delegation_id]
            control.returned(self.warn)
        if stoppable.stopped:
            await jobs.end_all(self._family(delegation_id), at_once=control.at_once())

    # What the user asks for

    def pause(self, delegation_id: DelegationId) -> None:
        """See `PauseTask`."""
        self._find(delegation_id).gate.pause()

    def go_on(self, delegation_id: DelegationId) -> None:
        """See `ContinueTask`."""
        control = self._find(delegation_id)
        if not control.gate.held:
            who = "The task" if not delegation_id else f"Delegation {delegation_id}"
            why = "stands still with what is above it; continue that" if control.gate.paused else "is not paused"
            raise TaskRefused(f"{who} {why}.")
        control.gate.resume()

    def steer(self, text: str, delegation_id: DelegationId) -> None:
        """See `SteerTask`."""
        control = self._find(delegation_id)
        if not text.strip():
            raise TaskRefused("There are no words in it, so nobody is told anything.")
        self._said += 1
        control.steer(Words(f"steering-{self._said}", text))

    def stop(self, delegation_id: DelegationId = "", *, hard: bool = False) -> None:
        """See `StopTask`."""
        self._find(delegation_id).stop(hard=hard)

    def stop_all(self) -> None:
        """Stop whatever runs; without effect when nothing does."""
        if "" in self._running:
            self._running[""].stop()

    def abandon(self) -> bool:
        """Give a task up of which something is paused: whoever stands still ends there. False when nothing is."""
        if not any(control.gate.paused for control in self._running.values()):
            return False
        self._running[""].gate.abandon()
        return True

    @property
    def paused(self) -> bool:
        """Whether the task as a whole is."""
        return "" in self._running and self._running[""].gate.held

    def snapshot(self) -> tuple[RunningAgent, ...]:
        """The agents at work, whoever delegates before whom it delegates to."""
        return tuple(control.snapshot() for control in self._running.values())

    def _find(self, delegation_id: DelegationId) -> Control:
        if "" not in self._running:
            raise TaskRefused("No task is running in this session. Start one first.")
        control = self._running.get(delegation_id)
        if control is None:
            known = ", ".join(name for name in self._running if name) or "none"
            raise TaskRefused(f"There is no delegation {delegation_id!r} at work; it has ended, or its name is another. At work: {known}.")
        return control

    def _voice_of(self, identity: AgentIdentity) -> EventPublisher:
        return self._publisher.bound(source=identity.label, delegation_id=identity.delegation_id or None)

    def _family(self, delegation_id: DelegationId) -> set[DelegationId]:
        """A delegation and all below it."""
        family = {delegation_id}
        for child, above in self._above.items():  # in the order in which they began
            if above in family:
                family.add(child)
        return family
