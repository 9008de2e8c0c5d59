"""Runs one task after the other for the Director: set up, carry out, give account."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from yagent.agents.delegation.spawn import Commission
from yagent.agents.director.context import first_message_context, is_first_turn
from yagent.agents.director.hooks import DelegationReminder, ReminderPolicy
from yagent.agents.loop.carry_out import carry_out, seal
from yagent.agents.loop.loop import AgentLoop
from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.result import RunResult
from yagent.agents.loop.results import Results
from yagent.agents.loop.stop import Panic, classify
from yagent.agents.loop.task import TaskAccount, TaskLimits
from yagent.agents.roles.roster import DIRECTOR
from yagent.errors import YagentError
from yagent.protocol.client import UnderWay
from yagent.protocol.events import (
    BackgroundEnded,
    BackgroundStarted,
    CommitContextLoaded,
    ContextLoaded,
    ConversationError,
    ConversationResult,
    TaskStarted,
    WarningIssued,
)
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import user_message
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import DENIED, StopReason, strongest
from yagent.records import dataclass
from yagent.rollout.marks import BEFORE
from yagent.rollout.records import EventMessage
from yagent.rollout.writer import NullRecorder
from yagent.runtime.activity import Activity
from yagent.runtime.log import lines_belong_to
from yagent.runtime.supervise import Handle, Outcome
from yagent.session.compacting import compacted
from yagent.session.controls import Controls
from yagent.session.project import Found, Surroundings
from yagent.session.refused import TaskRefused
from yagent.session.resume import ResumeRefused
from yagent.session.runs import Runs, Seat, seat_for
from yagent.session.task_work import TaskWork
from yagent.session.voice import CurrentTask
from yagent.session.workshop import TaskParts, Workshop
from yagent.workspace.background import BackgroundJobs, Job
from yagent.workspace.changes import WorkspaceState, recorded_state, state_data
from yagent.workspace.git import Place
from yagent.workspace.permissions import Mode, Permissions

if TYPE_CHECKING:
    from yagent.session.past import Past
    from yagent.session.taking_up import TakenUp


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Limits and policies of a task. `timeout` in seconds, `max_cost` in US dollars; None for no limit."""

    timeout: float | None
    max_cost: float | None
    reminder: ReminderPolicy


@dataclass(frozen=True, slots=True)
class TaskOwned:
    """What belongs to the tasks of a session, one after the other: the user's rights, the workspace around them, whose work is whose."""

    permissions: Permissions
    surroundings: Surroundings
    work: TaskWork
    current: CurrentTask
    controls: Controls


class TaskRunner:
    """Owns the Director's seat and the task that is running."""

    def __init__(
        self, shop: Workshop, owned: TaskOwned, settings: TaskSettings, *, start_warnings: Sequence[str] = (), past: Past | None = None
    ) -> None:
        self._shop = shop
        self._past = past  # of a session that is resumed, until its first task has begun
        self._was_resumed = past is not None
        self._owned = owned
        self._start_warnings = start_warnings
        self._settings = settings
        self._seat: Seat | None = None
        self._loop: AgentLoop | None = None
        self._before: Handle[WorkspaceState] | None = None
        self._is_later = False  # there were tasks before this one in the session
        self._earlier: WorkspaceState | None = None  # before a task that was stopped and goes on
        self._count = 0
        self._results = Results()
        self._changed_earlier: dict[str, None] = {}  # files that earlier tasks changed

    @property
    def controls(self) -> Controls:
        """The user's hold on the agents of the running task."""
        return self._owned.controls

    @property
    def current(self) -> str:
        """The id of the newest task, that of the session before the first."""
        return self._owned.current.id or self._shop.session

    @property
    def mode(self) -> Mode:
        """The permission mode in force."""
        return self._owned.permissions.mode

    @property
    def began_with(self) -> str:
        """The user's words that began a session that is resumed, "" in a new one and after its first task has begun."""
        return "" if self._past is None else self._past.prompt

    @property
    def is_resumable(self) -> bool:
        """Whether there is a record that may be gone on with."""
        return self._shop.settings.resume.enable and self._seat is not None and not isinstance(self._seat.recorder, NullRecorder)

    def going_on(self) -> Coroutine[Any, Any, TaskResult]:
        """What carries the task that was stopped to its end. Raises `ResumeRefused` when there is none that may go on as it stood."""
        if self._past is None:
            raise ResumeRefused("Nothing that was stopped is left to go on with. Give a new task.")
        self._past.check_goes_on()
        return self._to_its_end(self._past.prompt, goes_on=self._past.has_begun)

    def compaction(self) -> Coroutine[Any, Any, TaskResult]:
        """What compresses the Director's conversation between two tasks. Raises `TaskRefused` when there is none, or it may not be."""
        if self._seat is None and (self._past is None or not self._past.has_begun):
            raise TaskRefused("There is no conversation to compress yet. Give a task first.")
        if self._past is not None and self._past.goes_on:
            raise TaskRefused("The task of this session was stopped on the way. Go on with it, or give another one; then compress.")
        if not self._shop.fittings.is_on:
            raise TaskRefused("Compression is switched off: [compression] enable_context_compression says so. Change that first.")
        return self._compacted(self._account([]))

    async def _compacted(self, account: TaskAccount) -> TaskResult:
        surroundings = self._owned.surroundings
        if self._seat is None:
            await self._shop.prepare_engines()
            found = await surroundings.look(surroundings.place(), is_later=True)
            seat = self._seated(None, found, await self._taken_up(account, goes_on=False))
            seat.fitting.standing = first_message_context(found.environment, found.documents)
        else:
            seat = self._seat
        step = 0 if self._loop is None else self._loop.steps
        return await compacted(self._shop, seat, self.controls, account, step=step, changed=account.changed_earlier)

    async def under_way(self) -> tuple[UnderWay, ...]:
        """Which agents would go on with `go_on`, and which would not."""
        return () if self._past is None else await self._past.under_way()

    async def run(self, prompt: str) -> TaskResult:
        """Carry out a task to its end, whatever that is."""
        return await self._to_its_end(prompt)

    async def _to_its_end(self, prompt: str, *, goes_on: bool = False) -> TaskResult:
        self._count += 1
        publisher = self._shop.publisher
        account = self._account(self._start_warnings)
        self._owned.current.id = f"{self._shop.session}-{self._count}"
        lines_belong_to(self._owned.current.id)
        self._loop, self.controls.warn = None, account.warn
        publisher.publish(TaskStarted(task_id=self._owned.current.id, text=prompt))
        known = None if self._past is None else recorded_state(self._past.director.before)
        self._is_later = not goes_on and (self._was_resumed or self._count > 1)
        place = self._shop.domain.go("place of the workspace", self._owned.surroundings.place())
        looking = self._shop.domain.go(
            "look at the workspace", self._owned.surroundings.look(place, known if goes_on else None, is_later=self._is_later)
        )
        earlier = known if goes_on else None
        before = self._before = await self._state_before(place, looking)
        self._earlier = earlier
        self._shop.desk.changed = partial(self._changed, before, earlier, account)
        async with BackgroundJobs(self._shop.shell, changed=self._job_changed) as jobs:
            handle = self._shop.domain.go("director", self._carried_out(None if goes_on else prompt, account, jobs, looking))
            self.controls.director.ends_by(handle.cancel)
            outcome = await handle.outcome()
            result = await self._sealed(outcome, account, prompt)
            for name in await jobs.end_all(at_once=self.controls.director.at_once()):
                account.warn(f"A background command was still running and was ended: {name}")
        return self._told(await self._given_account(result, account, earlier or await before))

    def _account(self, warnings: Sequence[str]) -> TaskAccount:
        publisher = self._shop.publisher
        return TaskAccount(
            TaskLimits(self._settings.max_cost),
            results=self._results,
            changed_earlier=tuple(self._changed_earlier),
            warnings=list(warnings),
            told=lambda text: publisher.publish(WarningIssued(code="task", text=text)),
        )

    async def _changed(self, before: Handle[WorkspaceState], earlier: WorkspaceState | None, account: TaskAccount) -> tuple[str, ...]:
        """The files the task has changed so far, as evidence sees them."""
        since = earlier or (await before.outcome()).value
        if since is None or since.root is None:
            return tuple(account.changed)
        changes, note = await self._owned.surroundings.changes(since)
        found = tuple(change.path for change in changes)
        account.changed.update(dict.fromkeys(found))
        return found if note is None else tuple(account.changed)

    async def _state_before(self, place: Handle[Place], looking: Handle[Found]) -> Handle[WorkspaceState]:
        """Take the state of the files, once the look that the first request waits for is done.

        Whoever wants to change a file waits for the write lock, and so until the state is known.
        """
        lock, surroundings = self._shop.write_lock, self._owned.surroundings
        self._owned.work.begin(None)
        await lock.acquire()

        async def take() -> WorkspaceState:
            try:
                await looking.outcome()
                state = await surroundings.state(place)
                self._owned.work.begin(await surroundings.inventory(state))
                return state
            finally:
                lock.release()

        return self._shop.domain.go("state before the task", take())

    async def close(self) -> None:
        """Close the Director's record."""
        if self._seat is not None:
            await self._seat.recorder.close()

    async def _carried_out(self, words: str | None, account: TaskAccount, jobs: BackgroundJobs, looking: Handle[Found]) -> RunResult:
        """The Director's run; without words he goes on where he stood."""
        control, owned = self.controls.director, self._owned
        try:
            await self._shop.prepare_engines()  # while git answers
            found = await looking
            taken = await self._taken_up(account, goes_on=words is None)
            seat = self._seated(words, found, taken)
            if words is not None and self._before is not None:
                self._shop.domain.go("record the state before", self._record_state(seat.recorder, self._before))
            activity = Activity(self._shop.clock, total=self._settings.timeout)
            ways = self._context_now, owned.surroundings.watch
            parts = TaskParts(self.controls, account, owned.permissions, jobs, activity, *ways, _identity(found))
            loop, frame = Runs(self._shop, parts).director(seat, control, self._policy(), taken)
            self._loop, control.steps = loop, lambda: loop.steps
            seat.fitting.standing = first_message_context(found.environment, found.documents)
            if words is None:
                return await carry_out(loop, (), frame, None if taken is None else taken.resumption)
            is_first = is_first_turn(seat.conversation.messages) or (self._was_resumed and self._count == 1)
            context = self._context(found) if is_first else ""
            words = "\n\n".join((*control.opening(), words))
            self._loop.heard(words)
            opening = f"{context}\n\n<request>\n{words}\n</request>" if context else words
            return await carry_out(loop, (user_message(opening),), frame)
        except YagentError as failure:
            return RunResult(classify(failure), "", 0, error=failure)

    async def _taken_up(self, account: TaskAccount, *, goes_on: bool) -> TakenUp | None:
        """Where the Director goes on in a session that is resumed, None once he has; the account learns what was changed before."""
        past, self._past = self._past, None
        if past is None:
            return None
        taken, known = await past.take_up(account, self._shop.desk, goes_on=goes_on), recorded_state(past.director.before)
        changes = () if known is None else (await self._owned.surroundings.changes(known))[0]
        newest = dict.fromkeys((*past.director.changed, *(change.path for change in changes)))
        (account.changed if goes_on else self._changed_earlier).update(newest)
        self._changed_earlier.update(dict.fromkeys(past.director.changed_ever))
        account.changed_earlier = tuple(self._changed_earlier)
        return taken

    async def _record_state(self, recorder: Recorder, before: Handle[WorkspaceState]) -> None:
        """Keep how the files were before a task, for its account should it be stopped and go on. Nothing follows its terminal record."""
        taken = (await before.outcome()).value
        data = None if taken is None else state_data(taken)
        if data is not None and (self._loop is None or self._loop.result is None):
            recorder.append(EventMessage(BEFORE, data))

    def _seated(self, words: str | None, found: Found, taken: TakenUp | None) -> Seat:
        """The Director's seat; where he is told something new, what was under way when he was stopped has its results first."""
        seat = self._seat = self._seat or self._seat_of_director(words, found, taken)
        if taken is not None and not taken.goes_on and (results := taken.answers()):
            seat.conversation.answer(results)
        return seat

    def _seat_of_director(self, words: str | None, found: Found | None, taken: TakenUp | None) -> Seat:
        git = _identity(found)
        commission = Commission(DIRECTOR, AgentIdentity(DIRECTOR.name), "", "", words or "")
        return seat_for(self._shop, commission, taken=taken, git=git)

    def _job_changed(self, job: Job) -> None:
        publisher = self._shop.publisher
        if job.state == "running":
            publisher.publish(BackgroundStarted(background_id=job.id, command=job.command, process_id=job.process_id))
        else:
            publisher.publish(BackgroundEnded(background_id=job.id, exit_code=job.exit_code, reason=job.state))

    def _policy(self) -> DelegationReminder:
        prompts = self._shop.prompts
        first, later = prompts.text("reminders/delegate_first.md"), prompts.text("reminders/delegate_again.md")
        return DelegationReminder(self._settings.reminder, first, later, self._owned.surroundings.names_file)

    def _context(self, found: Found) -> str:
        """The block about the workspace, and the events that say what went into it."""
        publisher = self._shop.publisher
        if found.documents:
            size = sum(len(document.text) for document in found.documents)
            publisher.publish(ContextLoaded(files=tuple(document.name for document in found.documents), tokens=size // 4))
        if found.git.is_repository:
            publisher.publish(CommitContextLoaded(head=found.git.head, commits=found.commits))
        return first_message_context(found.environment, found.documents)

    async def _context_now(self) -> str:
        """The block about the workspace as it is when a delegation begins."""
        since = self._earlier or (None if self._before is None else await self._before)
        surroundings = self._owned.surroundings
        found = await surroundings.look(surroundings.place(), since, is_later=self._is_later)
        return first_message_context(found.environment, found.documents)

    async def _sealed(self, outcome: Outcome[RunResult], account: TaskAccount, prompt: str) -> RunResult:
        """The result of the Director's run. One that ended outside the loop's own care gets its terminal record here."""
        result = outcome.value if outcome.value is not None else self._interrupted(outcome.error)
        if self._seat is None and self._shop.taking_up is None:
            with suppress(YagentError):  # what it failed for is in the result
                self._seat = self._seat_of_director(prompt, None, None)  # it was asked for, even if it never began
        if self._seat is not None and (self._loop is None or self._loop.result is None):
            await seal(self._seat.recorder, result, account.denials)
        if isinstance(result.error, Panic):
            told = self._shop.report_crash(result.error.__cause__ or result.error)  # blocks: nothing can be trusted now
            return replace(result, error=Panic(f"{result.error} {told}"))
        return result

    def _interrupted(self, error: BaseException | None) -> RunResult:
        """The result of a run that was cancelled, or that failed outside the loop's own care: a defect of ours."""
        if isinstance(error, asyncio.CancelledError):
            done = None if self._loop is None else self._loop.result
            return done or RunResult(StopReason.CANCELLED, "", 0)
        panic = Panic(f"The task stopped on an unexpected {type(error).__name__}: {error}.")
        panic.__cause__ = error
        return RunResult(StopReason.PANIC, "", 0, error=panic)

    async def _given_account(self, result: RunResult, account: TaskAccount, before: WorkspaceState) -> TaskResult:
        for remark in result.notes:
            account.warn(remark)
        codes = [result.exit_code]
        if any(denied.answered_by == "nobody" for denied in account.denials):
            codes.append(DENIED)
        proof = await self._shop.desk.verified()
        if proof.reason:
            account.warn(f"The result is {proof.state}: {proof.reason}.")
        changes, note = await self._owned.surroundings.changes(before)
        self._changed_earlier.update(dict.fromkeys((*account.changed, *(change.path for change in changes))))
        if note is not None and before.root is not None:
            account.warn(f"The list of changed files may be incomplete: {note}")
        if note is not None:
            changes = self._owned.surroundings.completed(changes, account.changed, account.made, before)
        if before.root is None and account.has_run:
            account.warn(f"Which files commands changed is not known: {before.note}")
        if (trouble := self._shop.trouble()) is not None:
            account.warn(trouble)
        self.controls.end()
        return TaskResult(
            answer=result.deliverable,
            status="ok" if result.status == "ok" else "partial" if result.status == "partial" else "error",
            stop_reason=result.stop_reason,
            exit_code=strongest(codes),
            session=self._shop.session,
            usage=account.usage,
            verification=proof.state,
            cost=account.told_cost(),
            files_changed=changes,
            delegations=tuple(account.delegations),
            denied=tuple(account.denials),
            warnings=tuple(account.warnings),
            error=str(result.error) if result.error is not None else "",
        )

    def _told(self, result: TaskResult) -> TaskResult:
        """The result, after the bus has heard of it."""
        publisher, reason = self._shop.publisher, result.stop_reason.value
        if result.error:
            publisher.publish(ConversationError(message=result.error, stop_reason=reason))
        else:
            publisher.publish(ConversationResult(text=result.answer, stop_reason=reason, usage=result.usage))
        return result


def _identity(found: Found | None) -> dict[str, Any]:
    """The repository as the records name it (I-03), empty where there is none."""
    facts = None if found is None or not found.git.is_repository else found.git
    return {} if facts is None else {"head": facts.head, "branch": facts.branch, "dirty": facts.dirty}
