"""Makes runs: a fresh loop for each, with everything a role needs and nothing it must not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from yagent._version import VERSION
from yagent.agents.delegation.handover import task_message
from yagent.agents.delegation.slots import Slots
from yagent.agents.delegation.spawn import Commission, Delegations, PreparedRun, Stopped, one_line, unknown_changes
from yagent.agents.loop.act import Act
from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.fitting import Fitting
from yagent.agents.loop.frame import Frame
from yagent.agents.loop.hooks import LoopHooks, Reply, nudging
from yagent.agents.loop.loop import AgentLoop
from yagent.agents.loop.parts import LastWords, LoopParts
from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.result import RunResult
from yagent.agents.loop.resumption import Resumption
from yagent.agents.loop.role import Role
from yagent.agents.loop.turn import Turn
from yagent.agents.roles.prompt import system_prompt
from yagent.llm.engine import Engine, Head
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import ModelIdentity, user_message
from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.marks import RESUMED
from yagent.rollout.records import AgentCheckpoint, EventMessage, SessionMeta, TurnContext
from yagent.runtime.activity import Activity
from yagent.session.consult import SUMMARY, Consultation, summariser
from yagent.session.controls import Control
from yagent.session.fitting import Fits
from yagent.session.hints import Hints
from yagent.session.resume import Standing
from yagent.session.workshop import TaskParts, Workshop
from yagent.thoughts.log import ThoughtLog
from yagent.tools.invoke import Invoker
from yagent.tools.profiles import PROFILES
from yagent.tools.registry import select
from yagent.tools.spec import Scope
from yagent.tools.surface import Surface
from yagent.workspace.ledger import FileLedger
from yagent.workspace.permissions import Permissions

if TYPE_CHECKING:
    from yagent.session.taking_up import TakenUp

STANDING_SECONDS = 3.0  # to look where the workspace stands when a run ends


@dataclass(frozen=True, slots=True)
class Seat:
    """The lasting part of an agent: its model, its tools and its conversation. A delegation has one for itself; the Director keeps his
    from task to task. `stopped` are the delegations it had under way when it was stopped, by the id of their call."""

    role: Role
    agent: AgentIdentity
    surface: Surface
    model: ModelIdentity
    recorder: Recorder
    conversation: Conversation
    thoughts: ThoughtLog
    fitting: Fitting
    stopped: Mapping[str, Stopped] = field(default_factory=dict)


class Runs:
    """Makes the runs of one task."""

    def __init__(self, shop: Workshop, task: TaskParts) -> None:
        self._shop = shop
        self._task = task
        self._activities: dict[str, Activity] = {"": task.activity}

    async def prepare(self, commission: Commission, parent: Scope, resumption: Resumption | None = None) -> PreparedRun:
        """A run of a role for another agent. Its rights are its parent's or narrower; its timers lie within its parent's."""
        shop, settings = self._shop, self._shop.settings
        role, identity = commission.role, commission.identity
        above = self._activities[parent.agent.delegation_id]
        activity = above.below(idle=settings.idle_timeout, total=settings.total_timeout)
        self._activities[identity.delegation_id] = activity
        taken = None if resumption is None or shop.taking_up is None else shop.taking_up.of(identity.delegation_id)
        seat = seat_for(shop, commission, parent_delegation=parent.agent.delegation_id, taken=taken, git=self._task.git)
        control = self._task.controls.delegation(identity, parent.agent.delegation_id)
        hooks = control.hooks(nudging(role.nudges, shop.prompts.text(f"reminders/{role.nudge}.md")), Hints(shop, seat, taken).hint)
        frame = self._frame(seat, control, activity)
        loop = self._loop(seat, control, frame, hooks, parent.permissions.narrowed())
        control.steps = lambda: loop.steps
        under_way = partial(self._task.controls.under_way, control, self._task.jobs)
        changes = unknown_changes if PROFILES[role.name].is_read_only else await self._task.watch_files()
        context = seat.fitting.standing = await self._task.context() if role.wants_context else ""
        if resumption is not None:
            return PreparedRun(loop, frame, (), changes, resumption, under_way=under_way)
        loop.heard(commission.task)
        if given := [f"agent:{name.partition(':')[2] or name}" for name, _ in commission.references.texts]:
            seat.fitting.standing += f"\n\nEarlier results you were given at the start (read_note gives them again): {', '.join(given)}"
        opening = (user_message(task_message(commission.task, commission.references, context)),)
        return PreparedRun(loop, frame, opening, changes, under_way=under_way)

    def director(
        self, seat: Seat, control: Control, policy: Callable[[Reply], str | None], taken: TakenUp | None
    ) -> tuple[AgentLoop, Frame]:
        """The Director's run of this task, in his lasting conversation."""
        frame = self._frame(seat, control, self._task.activity)
        hint = Hints(self._shop, seat, taken).hint
        return self._loop(seat, control, frame, control.hooks(policy, hint), self._task.permissions), frame

    def _frame(self, seat: Seat, control: Control, activity: Activity) -> Frame:
        return Frame(
            seat.recorder,
            activity,
            control.publisher,
            self._shop.clock,
            control.gate,
            self._task.account,
            checkpoint=partial(self._checkpoint, seat),
            ended_alone=control.ended_alone,
            running=self._running,
        )

    def _running(self) -> tuple[str, ...]:
        return tuple(f"{job.id}: {one_line(job.command)}" for job in self._task.jobs.list() if job.state == "running")

    async def _checkpoint(self, seat: Seat, result: RunResult) -> AgentCheckpoint | None:
        """Where a run ends, for one that goes on from there; the recorder adds what depends on the record."""
        shop = self._shop
        if not shop.settings.resume.enable:
            return None
        standing = Standing()
        if shop.settings.resume.checkpoint_workspace:
            with suppress(TimeoutError):  # a slow repository does not keep the end from the record
                async with shop.clock.timeout(STANDING_SECONDS):
                    standing = await shop.standing()
        return AgentCheckpoint(
            step=result.steps,
            digest="",
            messages=0,
            provider=seat.model.provider,
            model=seat.model.model,
            tier="",
            stop_reason=result.stop_reason.value,
            agent=seat.agent.role,
            delegation_id=seat.agent.delegation_id,
            head=standing.head,
            dirty=standing.dirty,
        )

    def _loop(self, seat: Seat, control: Control, frame: Frame, hooks: LoopHooks, permissions: Permissions) -> AgentLoop:
        shop, settings, role = self._shop, self._shop.settings, seat.role
        slots = Slots(settings.parallel_delegations)
        scope = Scope(
            agent=seat.agent,
            workspace=shop.workspace,
            permissions=permissions,
            grants=shop.grants,
            ledger=FileLedger(),
            shell=shop.shell,
            jobs=self._task.jobs,
            ask=shop.asks.asker(frame.publisher, frame.activity),
            delegate=Delegations(self.prepare, shop.roster, slots, frame, stopped=seat.stopped, desk=shop.desk),
            consult=Consultation(lambda slot: shop.engine(role.name, slot), frame, settings.turn),
            remaining=frame.activity.remaining_total,
            queueing=frame.activity.frozen,
            ran=partial(shop.desk.ran, seat.recorder),
            warn=frame.account.warn,
            at_once=control.at_once,
        )
        invoker = Invoker(seat.surface, write_lock=shop.write_lock, clock=shop.clock, denied=frame.denied)
        parts = LoopParts(
            seat.conversation,
            Turn(lambda: seat.conversation.dialogue, seat.model, frame, settings.turn),
            Act(seat.surface, invoker, scope, frame, parallel=settings.parallel_tools, delegations=settings.parallel_delegations),
            seat.thoughts,
            seat.fitting,
            partial(scope.consult, SUMMARY, shop.prompts.text("compression/summariser.md").strip()),
        )
        last_words = LastWords(*(shop.prompts.text(f"reminders/{name}.md") for name in ("last_step", "time_is_up", "cost_limit")))
        return AgentLoop(role, frame, parts, hooks, max_steps=settings.max_steps[role.name], last_words=last_words)


def seat_for(
    shop: Workshop,
    commission: Commission,
    *,
    parent_delegation: str = "",
    taken: TakenUp | None = None,
    git: Mapping[str, Any] | None = None,
) -> Seat:
    """A model, tools and a conversation for an agent: a new one, or the one that was stopped; the record's first entries are written."""
    role, identity, settings = commission.role, commission.identity, shop.settings
    surface = select(shop.registry, PROFILES[role.name], disabled_roles=settings.disabled_agents, can_ask=settings.offers_asks)
    system = system_prompt(shop.prompts, role, settings.language, settings.disabled_agents)
    engine = shop.engine(role.name, None)
    context = _turn_context(shop, engine, surface, system)
    recorder = shop.open_record(identity, () if taken is None else taken.segments)
    if taken is None or identity.delegation_id or not taken.has_meta:
        recorder.append(
            SessionMeta(
                session=shop.session,
                agent=identity.role,
                project_dir=str(shop.workspace),
                program_version=VERSION,
                delegation_id=identity.delegation_id,
                parent_session_id=shop.session if identity.delegation_id else "",
                parent_delegation_id=parent_delegation,
                board_id=shop.board,
                task=commission.task,
                git=git or {},
                call_id=commission.call_id,
                name=commission.name,
                continues=taken is not None and identity.delegation_id != "",
                start_step=taken.resumption.step if taken is not None and identity.delegation_id else 0,
            )
        )
    if taken is not None and not identity.delegation_id:
        recorder.append(_taken_up(taken))
    if taken is None or identity.delegation_id or taken.context != context:
        recorder.append(context)
    conversation_id = f"{shop.session}{'-' + identity.delegation_id if identity.delegation_id else ''}"
    head = Head(conversation_id, system, surface.declarations(), long_lived=not role.is_delegated)
    conversation = Conversation(lambda: engine.open(head), recorder)
    thoughts = ThoughtLog()
    asked = summariser(partial(shop.engine, role.name)).identity
    fits = Fits(engine.identity, asked, system, surface, f"{commission.name}-" if commission.name else "")
    begun, earlier = (0, ()) if taken is None else (taken.compactions, taken.segments)
    fitting = shop.fittings.make(conversation, thoughts, fits, begun=begun, earlier=earlier)
    if taken is not None:
        conversation.restore(taken.resumption.messages, taken.resumption.settled)
        surface.restore(taken.resumption.messages)
        thoughts.recall(taken.said)
    stopped = {} if taken is None else taken.stopped
    return Seat(role, identity, surface, engine.identity, recorder, conversation, thoughts, fitting, stopped)


def _taken_up(taken: TakenUp) -> EventMessage:
    """What the Director's record says before he goes on in it: that he does, or that what was under way is over."""
    step = taken.resumption.step
    if taken.goes_on or not taken.was_killed:
        return EventMessage(RESUMED if taken.goes_on else "session_continued", {"program_version": VERSION, "step": step})
    why = "the process ended without a last word"
    return EventMessage("turn_aborted", {"stop_reason": StopReason.UNACCOUNTED.value, "status": "error", "steps": step, "error": why})


def _turn_context(shop: Workshop, engine: Engine, surface: Surface, system: str) -> TurnContext:
    identity = engine.identity
    return TurnContext(
        provider=identity.provider,
        model=identity.model,
        api_format=identity.api_format,
        surface=surface.hash,
        prompt=sha256(system.encode()).hexdigest()[:16],
        workspace=str(shop.workspace),
        language=shop.settings.language,
    )
