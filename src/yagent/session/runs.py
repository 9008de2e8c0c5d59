"""Makes runs: a fresh loop for each, with everything a role needs and nothing it must not have."""

from collections.abc import Callable
from functools import partial
from hashlib import sha256

from yagent._version import VERSION
from yagent.agents.delegation.handover import References, task_message
from yagent.agents.delegation.slots import Slots
from yagent.agents.delegation.spawn import Delegations, PreparedRun, unknown_changes
from yagent.agents.loop.act import Act
from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.frame import Frame
from yagent.agents.loop.hooks import LoopHooks, Reply, nudging
from yagent.agents.loop.loop import AgentLoop, LastWords, LoopParts
from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.role import Role
from yagent.agents.loop.turn import Turn
from yagent.llm.engine import Engine, Head
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import ModelIdentity, user_message
from yagent.records import dataclass
from yagent.rollout.records import SessionMeta, TurnContext
from yagent.runtime.activity import Activity
from yagent.session.consult import Consultation
from yagent.session.controls import Control
from yagent.session.workshop import TaskParts, Workshop
from yagent.tools.invoke import Invoker
from yagent.tools.profiles import PROFILES
from yagent.tools.registry import select
from yagent.tools.spec import Scope
from yagent.tools.surface import Surface
from yagent.workspace.ledger import FileLedger
from yagent.workspace.permissions import Permissions


@dataclass(frozen=True, slots=True)
class Seat:
    """The lasting part of an agent: its model, its tools and its conversation. A delegation has one for itself; the Director keeps his
    from task to task."""

    surface: Surface
    identity: ModelIdentity
    recorder: Recorder
    conversation: Conversation


class Runs:
    """Makes the runs of one task."""

    def __init__(self, shop: Workshop, task: TaskParts) -> None:
        self._shop = shop
        self._task = task
        self._activities: dict[str, Activity] = {"": task.activity}

    async def prepare(self, role: Role, identity: AgentIdentity, task: str, references: References, parent: Scope) -> PreparedRun:
        """A run of a role for another agent. Its rights are its parent's or narrower; its timers lie within its parent's."""
        shop, settings = self._shop, self._shop.settings
        above = self._activities[parent.agent.delegation_id]
        activity = above.below(idle=settings.idle_timeout, total=settings.total_timeout)
        self._activities[identity.delegation_id] = activity
        seat = seat_for(shop, role, identity, task, parent_delegation=parent.agent.delegation_id)
        control = self._task.controls.delegation(identity, parent.agent.delegation_id)
        hooks = control.hooks(nudging(role.nudges, shop.prompts.text(f"reminders/{role.nudge}.md")))
        frame = self._frame(control, seat, activity)
        loop = self._loop(role, control, seat, frame, hooks, parent.permissions.narrowed())
        control.steps = lambda: loop.steps
        context = await self._task.context() if role.wants_context else ""
        changes = unknown_changes if PROFILES[role.name].is_read_only else await self._task.watch_files()
        under_way = partial(self._task.controls.under_way, control, self._task.jobs)
        return PreparedRun(loop, frame, (user_message(task_message(task, references, context)),), changes, under_way)

    def director(self, role: Role, seat: Seat, control: Control, policy: Callable[[Reply], str | None]) -> tuple[AgentLoop, Frame]:
        """The Director's run of this task, in his lasting conversation."""
        frame = self._frame(control, seat, self._task.activity)
        return self._loop(role, control, seat, frame, control.hooks(policy), self._task.permissions), frame

    def _frame(self, control: Control, seat: Seat, activity: Activity) -> Frame:
        return Frame(seat.recorder, activity, control.publisher, self._shop.clock, control.gate, self._task.account)

    def _loop(self, role: Role, control: Control, seat: Seat, frame: Frame, hooks: LoopHooks, permissions: Permissions) -> AgentLoop:
        shop, settings = self._shop, self._shop.settings
        scope = Scope(
            agent=control.identity,
            workspace=shop.workspace,
            permissions=permissions,
            grants=shop.grants,
            ledger=FileLedger(),
            shell=shop.shell,
            jobs=self._task.jobs,
            ask=shop.asks.asker(frame.publisher, frame.activity),
            delegate=Delegations(self.prepare, shop.roster, Slots(settings.parallel_delegations), frame),
            consult=Consultation(lambda slot: shop.engine(role.name, slot), frame),
            remaining=frame.activity.remaining_total,
            queueing=frame.activity.frozen,
            at_once=control.at_once,
        )
        invoker = Invoker(seat.surface, write_lock=shop.write_lock, clock=shop.clock, denied=frame.denied)
        parts = LoopParts(
            seat.conversation,
            Turn(seat.conversation.dialogue, seat.identity, frame, settings.turn),
            Act(seat.surface, invoker, scope, frame, parallel=settings.parallel_tools, delegations=settings.parallel_delegations),
        )
        last_words = LastWords(*(shop.prompts.text(f"reminders/{name}.md") for name in ("last_step", "time_is_up", "cost_limit")))
        return AgentLoop(role, frame, parts, hooks, max_steps=settings.max_steps[role.name], last_words=last_words)


def seat_for(shop: Workshop, role: Role, identity: AgentIdentity, task: str, *, parent_delegation: str = "") -> Seat:
    """A model, tools and an empty conversation for an agent, with the record's first entries written."""
    settings = shop.settings
    surface = select(shop.registry, PROFILES[role.name], disabled_roles=settings.disabled_agents, can_ask=settings.offers_asks)
    variables = {"language": settings.language} if shop.prompts.variables(f"{role.name}.prompt.md") else {}
    system = shop.prompts.text(f"{role.name}.prompt.md", **variables)
    engine = shop.engine(role.name, None)
    recorder = shop.open_record(identity)
    recorder.append(
        SessionMeta(
            session=shop.session,
            agent=identity.role,
            project_dir=str(shop.workspace),
            program_version=VERSION,
            delegation_id=identity.delegation_id,
            parent_session_id=shop.session if identity.delegation_id else "",
            parent_delegation_id=parent_delegation,
            board_id=shop.session,
            task=task,
        )
    )
    recorder.append(_turn_context(shop, engine, surface, system))
    conversation_id = f"{shop.session}{'-' + identity.delegation_id if identity.delegation_id else ''}"
    head = Head(conversation_id, system, surface.declarations(), long_lived=not role.is_delegated)
    return Seat(surface, engine.identity, recorder, Conversation(engine.open(head), recorder))


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
