"""Runs a role for another agent: queue, start or take up, carry out, hand over."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import field
from typing import Protocol

from yagent.agents.delegation.handover import NOT_KEPT, Circumstances, Handed, References, render, resolve
from yagent.agents.delegation.slots import Slots
from yagent.agents.loop.carry_out import carry_out
from yagent.agents.loop.frame import Frame
from yagent.agents.loop.loop import AgentLoop
from yagent.agents.loop.result import RunResult
from yagent.agents.loop.resumption import Resumption
from yagent.agents.loop.role import Role
from yagent.blackboard.evidence import COMMAND_ID
from yagent.errors import YagentError
from yagent.protocol.events import DelegationEnded, DelegationStarted
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import Message
from yagent.protocol.result import DelegationAccount
from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.marks import BEGUN
from yagent.rollout.records import EventMessage
from yagent.tools.spec import CallContext, DelegationRequest, Output, Scope
from yagent.workspace.background import Job

MAX_DEPTH = 4
_FAILED = {StopReason.PANIC, StopReason.LLM_ERROR, StopReason.CIRCUIT_BREAKER_OPEN}  # ends that are nobody's wish: the user hears why


@dataclass(frozen=True, slots=True)
class Differences:
    """What is different since a run began: the files, None if unknown, and how HEAD moved, "" where it did not or is not known."""

    files: tuple[str, ...] | None = None
    head: str = ""


async def unknown_changes() -> Differences:
    """Nobody watched the files of this run."""
    return Differences()


@dataclass(frozen=True, slots=True)
class Commission:
    """One delegation: who works, how its result is called (`repo#2`), which call of the parent asked for it, and what is to be done."""

    role: Role
    identity: AgentIdentity
    name: str
    call_id: str
    task: str
    references: References = field(default_factory=lambda: References((), ()))


@dataclass(frozen=True, slots=True)
class Stopped:
    """What became of a delegation that was under way when its parent was stopped.

    Without `resumption` it does not go on: `reasons` say why not, as codes, and `report` is what the record tells of it. Without reasons it
    had not begun, and does now.
    """

    commission: Commission
    resumption: Resumption | None = None
    reasons: tuple[str, ...] = ()
    report: str = ""

    @property
    def told(self) -> str:
        """The result of one that does not go on for its reasons: by no means an error."""
        return f"[{self.commission.name} · degraded · {', '.join(self.reasons)}]\n{self.report}"

    @property
    def warning(self) -> str:
        """What the user is told of it."""
        why = ", ".join(self.reasons)
        return f"{self.commission.name} does not go on where it was stopped ({why}); its parent got a report of what it had done."


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """Everything of one run, made fresh for it and not yet started. `changes()` gives what is different since then.

    `under_way()` is held while the run is carried out, and ends it, without an exception, when the user stops this run alone.
    """

    loop: AgentLoop
    frame: Frame
    opening: tuple[Message, ...]
    changes: Callable[[], Awaitable[Differences]] = unknown_changes
    resumption: Resumption | None = None
    under_way: Callable[[], AbstractAsyncContextManager[bool | None]] = nullcontext


class Desk(Protocol):
    """Keeps results for later, bound by `session`."""

    async def resolve(self, references: Sequence[str]) -> References | None:
        """The earlier results that are meant; None where none are kept."""
        ...

    async def keep(self, commission: Commission, result: RunResult, changed: Sequence[str]) -> Handed:
        """Keep the result of a delegation that changed these files."""
        ...

    async def degraded(self, commission: Commission, reasons: Sequence[str], report: str) -> None:
        """Keep the report on one that did not go on."""
        ...


class NoDesk:
    """Keeps nothing."""

    async def resolve(self, references: Sequence[str]) -> References | None:
        """See `Desk`."""
        return None

    async def keep(self, commission: Commission, result: RunResult, changed: Sequence[str]) -> Handed:
        """See `Desk`."""
        return NOT_KEPT

    async def degraded(self, commission: Commission, reasons: Sequence[str], report: str) -> None:
        """See `Desk`."""


class Prepare(Protocol):
    """Makes a run of a role below `parent`, fresh or taken up; rights and limits are the parent's or narrower. Supplied by `session`."""

    async def __call__(self, commission: Commission, parent: Scope, resumption: Resumption | None = None) -> PreparedRun:
        """May raise `YagentError` when the run cannot be set up."""
        ...


class _Watch:
    """What happens around a run that its own words may leave out."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._jobs_before = {job.id for job in scope.jobs.list()}

    async def seen(self, references: References, run: PreparedRun) -> Circumstances:
        """The circumstances at the end of the run."""
        denied = dict.fromkeys(f"{each.tool} {one_line(each.subject)}" for each in run.frame.denials)
        running = tuple(f"{job.id}: {one_line(job.command)}" for job in self._jobs() if job.state == "running")
        before = None if run.resumption is None else run.resumption.changed
        since = await run.changes()
        return Circumstances(references.unresolved, references.known, tuple(denied), running, since.files, before, since.head)

    def begun(self) -> tuple[str, ...]:
        """The ids of the background commands that were started meanwhile."""
        return tuple(job.id for job in self._jobs())

    def _jobs(self) -> list[Job]:
        return [job for job in self._scope.jobs.list() if job.id not in self._jobs_before]


def one_line(text: str, limit: int = 120) -> str:
    """The beginning of a text, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


class Delegations:
    """The `Delegate` of one run. `stopped` are the delegations it had under way when it was stopped, by the id of their call."""

    def __init__(
        self,
        prepare: Prepare,
        roster: Mapping[str, Role],
        slots: Slots,
        frame: Frame,
        *,
        stopped: Mapping[str, Stopped] | None = None,
        desk: Desk | None = None,
    ) -> None:
        self._prepare = prepare
        self._roster = roster
        self._slots = slots
        self._frame = frame
        self._stopped = dict(stopped or {})
        self._desk = desk or NoDesk()

    async def __call__(self, request: DelegationRequest, call: CallContext) -> Output:
        """Run the role to its end. What fails comes back as an error result; only cancellation is raised."""
        stopped = self._stopped.pop(call.call_id, None)
        if stopped is not None and (stopped.resumption is not None or stopped.reasons):
            return await self._taken_up(stopped, call)
        role = self._roster.get(request.role)
        parent = call.scope.agent
        if role is None:
            return Output(f"There is no agent {request.role!r}. Agents: {', '.join(self._roster)}.", is_error=True)
        if parent.depth >= MAX_DEPTH:
            return Output(f"Delegations are nested {MAX_DEPTH} deep already. Do this part yourself.", is_error=True)
        results = self._frame.account.results
        identity = AgentIdentity(role.name, results.new_delegation(call.call_id), parent.depth + 1)
        references = await self._desk.resolve(request.context_refs) or resolve(request.context_refs, results.texts)
        return await self._carried(Commission(role, identity, results.name(role.name), call.call_id, request.task, references), call)

    async def _carried(self, commission: Commission, call: CallContext, resumption: Resumption | None = None) -> Output:
        """Queue, run, and hand over."""
        identity = commission.identity
        async with self._slots.one():  # queueing comes before the timers of the new run
            watch = _Watch(call.scope)
            try:
                run = await self._prepare(commission, call.scope, resumption)
            except YagentError as failure:
                return Output(f"{identity.label} could not start: {failure}", is_error=True)
            self._frame.recorder.append(EventMessage(BEGUN, {"call_id": commission.call_id, "delegation_id": identity.delegation_id}))
            result = await self._run(commission, call.scope.agent, run)
        found = await watch.seen(commission.references, run)
        name, account = commission.name, self._frame.account
        changed = [each.partition(" (")[0] for each in found.changes or result.changed]
        handed = await self._desk.keep(commission, result, changed)
        failed = (f"{name}: {result.error}",) if result.error and result.stop_reason in _FAILED else ()
        for problem in (*failed, *handed.problems):
            account.warn(problem)
        text = render(name, result, found, handed)
        account.results.keep(name, text)
        own = (name, *([handed.artifact] if handed.artifact else []), *COMMAND_ID.findall(text), *watch.begun())
        summary = f"{result.status} · {'1 step' if result.steps == 1 else f'{result.steps} steps'}"
        return Output(text, is_error=result.status == "error", summary=summary, changed=tuple(changed), names=own)

    async def _taken_up(self, stopped: Stopped, call: CallContext) -> Output:
        if stopped.resumption is None:
            await self._desk.degraded(stopped.commission, stopped.reasons, stopped.report)
            return self._reported(stopped)
        return await self._carried(stopped.commission, call, stopped.resumption)

    def _reported(self, stopped: Stopped) -> Output:
        """What the record tells of a delegation that does not go on."""
        self._frame.account.warn(stopped.warning)
        self._frame.account.results.keep(stopped.commission.name, stopped.told)
        return Output(stopped.told, summary=f"degraded · {', '.join(stopped.reasons)}", names=(stopped.commission.name,))

    async def _run(self, commission: Commission, parent: AgentIdentity, run: PreparedRun) -> RunResult:
        publisher, clock = run.frame.publisher, run.frame.clock
        identity, name, task = commission.identity, commission.name, commission.task
        started = clock.now()
        above = parent.delegation_id or None
        publisher.publish(
            DelegationStarted(delegation_id=identity.delegation_id, parent_delegation_id=above, agent=identity.role, name=name, task=task)
        )
        try:
            async with run.under_way():
                await carry_out(run.loop, run.opening, run.frame, run.resumption)
        finally:
            result = run.loop.result or RunResult(StopReason.UNACCOUNTED, "", run.loop.steps)
            account = DelegationAccount(identity.delegation_id, name, identity.role, task, result.status, result.stop_reason, result.steps)
            run.frame.account.delegations.append(account)
            publisher.publish(
                DelegationEnded(
                    delegation_id=identity.delegation_id,
                    agent=identity.role,
                    task=task,
                    status=result.status,
                    stop_reason=result.stop_reason.value,
                    steps=result.steps,
                    duration_ms=round((clock.now() - started) * 1000),
                )
            )
            with suppress(YagentError):  # told when its end could not be recorded; the work is done all the same
                await run.frame.recorder.close()
        return result
