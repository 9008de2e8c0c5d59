"""A whole agent tree on a stage: production loop, delegations, tools and permissions on a real disk; the model alone is played."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tests.tools.scopes import PROMPTS, Person
from yagent.agents.delegation.handover import task_message
from yagent.agents.delegation.slots import Slots
from yagent.agents.delegation.spawn import Commission, Delegations, PreparedRun
from yagent.agents.loop.act import Act
from yagent.agents.loop.carry_out import carry_out
from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.frame import EventPublisher, Frame
from yagent.agents.loop.hooks import LoopHooks, nudging
from yagent.agents.loop.loop import AgentLoop
from yagent.agents.loop.parts import LastWords, LoopParts
from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.result import RunResult
from yagent.agents.loop.resumption import Resumption
from yagent.agents.loop.role import Role
from yagent.agents.loop.task import TaskAccount, TaskLimits
from yagent.agents.loop.turn import Turn, TurnSettings
from yagent.agents.roles.prompt import system_prompt
from yagent.agents.roles.roster import ROSTER
from yagent.llm.engine import Engine, Head
from yagent.protocol.events import Event, Payload
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import Message, user_message
from yagent.rollout.pairing import Paired
from yagent.rollout.reader import Account
from yagent.rollout.records import AgentCheckpoint, EventMessage, Record, ResponseItem
from yagent.rollout.writer import RolloutError
from yagent.runtime.activity import Activity
from yagent.runtime.bus import Bus, Publisher
from yagent.runtime.clock import Clock
from yagent.runtime.gate import Gate
from yagent.tools.builtin.catalogue import shipped_tools
from yagent.tools.invoke import Invoker
from yagent.tools.profiles import PROFILES
from yagent.tools.registry import Registry, select
from yagent.tools.spec import AnySpec, Scope
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.files import FileLedger
from yagent.workspace.grants import Grants
from yagent.workspace.permissions import Mode, Permissions, PermissionSettings
from yagent.workspace.protected import ProtectedSettings
from yagent.workspace.search import Searcher
from yagent.workspace.shell import Shell

P = TypeVar("P", bound=Payload)
LAST_STEP = PROMPTS.text("reminders/last_step.md")
TIME_IS_UP = PROMPTS.text("reminders/time_is_up.md")
COST_LIMIT = PROMPTS.text("reminders/cost_limit.md")
LAST_WORDS = LastWords(LAST_STEP, TIME_IS_UP, COST_LIMIT)


@dataclass
class ProbeRecorder:
    """A record in memory that knows what a crash now would leave. A barrier takes `seconds`; that of number `fails_at` and all later ones
    fail."""

    clock: Clock
    fails_at: int | None = None
    seconds: float = 0.001
    records: list[Record] = field(default_factory=list)
    durable: int = 0
    barriers: int = 0
    closed: bool = False

    def append(self, record: Record) -> None:
        self.records.append(record)

    async def barrier(self) -> None:
        self.barriers += 1
        if self.fails_at is not None and self.barriers >= self.fails_at:
            raise RolloutError("The record of this session cannot be written: no space.")
        count = len(self.records)
        await self.clock.sleep(self.seconds)
        self.durable = max(self.durable, count)

    async def finalize_checkpoint(self, checkpoint: AgentCheckpoint) -> None:
        self.records.append(checkpoint)
        await self.barrier()

    async def close(self) -> None:
        await self.barrier()
        self.closed = True

    @property
    def messages(self) -> list[Message]:
        """The conversation as recorded."""
        return _read_back(self.records)

    @property
    def safe_messages(self) -> list[Message]:
        """The conversation as a crash now would leave it."""
        return _read_back(self.records[: self.durable])

    @property
    def terminals(self) -> list[EventMessage]:
        """The terminal records."""
        return [record for record in self.records if isinstance(record, EventMessage) and record.is_terminal]


def _read_back(records: Sequence[Record]) -> list[Message]:
    """The messages of a record by the reader's rules: results of one reply belong together."""
    paired = Paired(Account())
    for record in records:
        if isinstance(record, ResponseItem) and record.message.role == "tool":
            paired.results(record.message.results)
        elif isinstance(record, ResponseItem):
            paired.append(record.message)
    paired.end()
    return list(paired.messages())


@dataclass
class Rules:
    """What differs from stage to stage. Times in seconds."""

    roles: Mapping[str, Role] = field(default_factory=lambda: dict(ROSTER))
    tools: Sequence[AnySpec] = ()
    idle: float | None = 60.0
    total: float | None = 1200.0
    task_timeout: float | None = None
    parallel_delegations: int = 4
    max_cost: float | None = None
    mode: Mode = Mode.YOLO
    turn: TurnSettings = field(default_factory=TurnSettings)
    recorder: Callable[[AgentIdentity, Clock], ProbeRecorder] = lambda identity, clock: ProbeRecorder(clock)


class Stage:
    """One task. `events` holds what was published as (source, delegation, payload)."""

    def __init__(self, workspace: Path, clock: Clock, engine: Engine, rules: Rules | None = None) -> None:
        self.workspace = workspace
        self.clock = clock
        self.engine = engine
        self.rules = rules or Rules()
        self.account = TaskAccount(TaskLimits(self.rules.max_cost))
        self.gate = Gate()
        self.person = Person()
        self.events: list[tuple[str, str | None, Payload]] = []
        self.recorders: dict[str, ProbeRecorder] = {}
        self.conversations: dict[str, Conversation] = {}  # a second task of an agent goes on in the same
        self.write_lock = asyncio.Lock()
        self.activities: dict[str, Activity] = {"": Activity(clock, total=self.rules.task_timeout)}
        environment = {"PATH": os.environ["PATH"]}
        temporary = workspace.parent / "temporary"
        self.grants = Grants(workspace, None, clock=clock)
        self.shell = Shell(clock=clock, environment=environment, temporary=temporary)
        rights = PermissionSettings(workspace, self.rules.mode, task_temporary=temporary, protected=ProtectedSettings(None))
        self.permissions = Permissions(rights, self.grants)
        shipped = shipped_tools(Searcher(clock, environment), lambda name: PROMPTS.text(f"cognition/{name}.md"), notes=())
        own = {spec.name for spec in self.rules.tools}
        self.registry = Registry(
            (*shipped, *self.rules.tools), describe=lambda name: f"{name}." if name in own else PROMPTS.text(f"tools/{name}.md")
        )

    async def run(self, role: str = "director", task: str = "the task", hooks: LoopHooks | None = None) -> RunResult:
        """Run an agent to its end, as a session does for the Director."""
        loop, frame = self.prepared(role, hooks)
        return await carry_out(loop, (user_message(task),), frame)

    def prepared(self, role: str = "director", hooks: LoopHooks | None = None) -> tuple[AgentLoop, Frame]:
        """A run at the top of the tree, not yet started."""
        found = self.rules.roles[role]
        return self._run(found, AgentIdentity(role), hooks or self._nudging(found), self.permissions)

    async def prepare(self, commission: Commission, parent: Scope, resumption: Resumption | None = None) -> PreparedRun:
        """See `Prepare`."""
        role, identity = commission.role, commission.identity
        above = self.activities[parent.agent.delegation_id]
        self.activities[identity.delegation_id] = above.below(idle=self.rules.idle, total=self.rules.total)
        loop, frame = self._run(role, identity, self._nudging(role), parent.permissions.narrowed())
        return PreparedRun(loop, frame, (user_message(task_message(commission.task, commission.references, "")),), resumption=resumption)

    def published(self, kind: type[P]) -> list[P]:
        """The published payloads of one kind."""
        return [payload for _, _, payload in self.events if isinstance(payload, kind)]

    def recorder(self, identity: AgentIdentity) -> ProbeRecorder:
        """The record of an agent, made when first asked for."""
        return self.recorders.setdefault(identity.delegation_id, self.rules.recorder(identity, self.clock))

    def _nudging(self, role: Role) -> LoopHooks:
        return LoopHooks(on_plain_text=nudging(role.nudges, PROMPTS.text(f"reminders/{role.nudge}.md")))

    def _publisher(self, identity: AgentIdentity) -> EventPublisher:
        def made(payload: Payload, /, *, seq: int, source: str, delegation_id: str | None) -> Event:
            self.events.append((source, delegation_id, payload))
            return Event(
                payload=payload, id="", source=source, priority="normal", timestamp="", trace_id=None, seq=seq, delegation_id=delegation_id
            )

        return Publisher(Bus[Event](), made, identity.label, identity.delegation_id or None)

    def _run(self, role: Role, identity: AgentIdentity, hooks: LoopHooks, permissions: Permissions) -> tuple[AgentLoop, Frame]:
        surface = select(self.registry, PROFILES[role.name])
        system = system_prompt(PROMPTS, role, "English", ())
        recorder: Recorder = self.recorder(identity)
        conversation = self.conversations.get(identity.delegation_id)
        if conversation is None:
            head = Head(f"s-{identity.delegation_id}", system, surface.declarations())
            conversation = Conversation(lambda: self.engine.open(head), recorder)
            self.conversations[identity.delegation_id] = conversation
        activity = self.activities[identity.delegation_id]
        frame = Frame(recorder, activity, self._publisher(identity), self.clock, self.gate, self.account)
        scope = Scope(
            agent=identity,
            workspace=self.workspace,
            permissions=permissions,
            grants=self.grants,
            ledger=FileLedger(),
            shell=self.shell,
            jobs=BackgroundJobs(self.shell),
            ask=self.person,
            delegate=Delegations(self.prepare, self.rules.roles, Slots(self.rules.parallel_delegations), frame),
            consult=_no_second_mind,
            remaining=activity.remaining_total,
            queueing=activity.frozen,
        )
        invoker = Invoker(surface, write_lock=self.write_lock, clock=self.clock, denied=frame.denied)
        parts = LoopParts(
            conversation,
            Turn(lambda: conversation.dialogue, self.engine.identity, frame, self.rules.turn),
            Act(surface, invoker, scope, frame, parallel=4),
        )
        loop = AgentLoop(role, frame, parts, hooks, max_steps=role.max_steps, last_words=LAST_WORDS)
        return loop, frame


async def _no_second_mind(slot: str, system: str, question: str) -> str:
    raise AssertionError(f"{slot} was not expected")


def limited(role: str, *, max_steps: int | None = None, nudges: int | None = None) -> dict[str, Role]:
    """The roster with one role changed."""
    own = ROSTER[role]
    steps = own.max_steps if max_steps is None else max_steps
    return {**ROSTER, role: replace(own, max_steps=steps, nudges=own.nudges if nudges is None else nudges)}


def assert_paired(messages: Sequence[Message]) -> None:
    """Each call has exactly one result, in the message right after it and in call order; nothing is answered that was not asked."""
    asked: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert [result.call_id for result in message.results] == asked
            asked = []
            continue
        assert asked == [], f"calls without a result: {asked}"
        asked = [call.id for call in message.calls]
    assert asked == [], f"calls without a result: {asked}"
