"""Commands that run beside the conversation: started, read from time to time, and ended with the task at the latest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import field, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.runtime.clock import Clock
from yagent.workspace.output import CappedLog, readable
from yagent.workspace.shell import Running, Shell, ShellError, as_bash_reports

JobState = Literal["running", "exited", "stopped"]

_QUIET = 0.3
_STOP_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """A background command. `exit_code` is as bash reports it, None while it runs or when it was stopped; `started` is in clock seconds.
    `process_id` is also that of its process group.

    `log` has all output from the start, up to the shell's log limit. `owner` is whoever started it, as told.
    """

    id: str
    command: str
    directory: Path
    state: JobState
    exit_code: int | None
    started: float
    log: Path
    process_id: int = 0
    owner: str = ""


@dataclass(frozen=True, slots=True)
class JobOutput:
    """What a job has printed since it was last read: `omitted` bytes of that are left out before `text`."""

    job: Job
    text: str = field(repr=False)
    omitted: int


class BackgroundJobs:
    """The background commands of one task. Leaving the `async with` block ends them all. Sources: requirements D-36, D-37.

    `changed(job)` hears of each start and each end, once.
    """

    def __init__(self, shell: Shell, *, limit: int = 16, changed: Callable[[Job], None] = lambda job: None) -> None:
        self._shell = shell
        self._limit = limit
        self._changed = changed
        self._jobs: dict[str, _Work] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await supervise.shielded(self.end_all(), timeout=_STOP_LIMIT, clock=self._shell.clock, name="end of background commands")

    async def start(self, command: str, directory: Path, owner: str = "") -> Job:
        """Start a command for an owner; its standard input is at its end.

        Raises:
            ShellError: it could not be started, or too many run already.
        """
        running = sum(work.job.state == "running" for work in self._jobs.values())
        if running >= self._limit:
            raise ShellError(f"{running} background commands run already, which is the limit; end one with stop_background first")
        log = self._shell.new_log()
        work = _Work(
            Job(f"bg{len(self._jobs) + 1}", command, directory, "running", None, self._shell.clock.now(), log.path, owner=owner),
            log,
            self._shell,
            self._changed,
        )
        self._jobs[work.job.id] = work
        try:
            await work.start()
        except BaseException:
            del self._jobs[work.job.id]
            raise
        return work.job

    async def read(self, job_id: str, *, wait: float = 0.0) -> JobOutput:
        """New output and the job's state; waits up to `wait` seconds for the job's end, or for output and a moment of silence after it.

        Raises:
            ShellError: there is no such job.
        """
        work = self._find(job_id)
        await work.news(wait)
        return work.read()

    async def stop(self, job_id: str) -> JobOutput:
        """End a job with all its processes; its last output.

        Raises:
            ShellError: there is no such job.
        """
        work = self._find(job_id)
        await work.end()
        return work.read()

    def list(self) -> tuple[Job, ...]:
        """All jobs of the task, also ended ones, oldest first."""
        return tuple(work.job for work in self._jobs.values())

    async def end_all(self, owners: Collection[str] | None = None, *, at_once: bool = False) -> tuple[str, ...]:
        """End everything that still runs, or what these owners started; its names (id and command)."""
        works = [work for work in self._jobs.values() if owners is None or work.job.owner in owners]
        outcomes = await supervise.together([(work.job.id, work.end(at_once=at_once)) for work in works])
        return tuple(
            f"{work.job.id}: {work.job.command}" for work, outcome in zip(works, outcomes, strict=True) if outcome.error or outcome.value
        )

    def _find(self, job_id: str) -> _Work:
        work = self._jobs.get(job_id)
        if work is None:
            known = ", ".join(self._jobs) or "none was started"
            raise ShellError(f"there is no background command {job_id!r} (known: {known})")
        return work


class _Work:
    """One job at work: the newest part of its output, and how far it has been read."""

    def __init__(self, job: Job, log: CappedLog, shell: Shell, told: Callable[[Job], None]) -> None:
        self.job = job
        self._told = told
        self._log = log
        self._shell = shell
        self._clock: Clock = shell.clock
        self._kept = shell.settings.kept_output
        self._recent = bytearray()
        self._unread = 0
        self._changed = asyncio.Event()
        self._running: Running | None = None

    async def start(self) -> None:
        self._running = await self._shell.launch(self.job.command, self.job.directory, self._add)
        self.job = replace(self.job, process_id=self._running.child.pid)
        self._told(self.job)
        self._running.child.when_exited(self._exited)

    async def end(self, *, at_once: bool = False) -> tuple[str, ...]:
        """End the job, or what is left of it after its shell's exit; names of processes that still ran."""
        running, self._running = self._running, None
        if running is None:
            return ()
        if self.job.state == "running":
            self.job = replace(self.job, state="stopped")
            self._told(self.job)
        names = await running.end(self._clock, at_once=at_once)
        self._log.close()
        self._changed.set()
        return names

    async def news(self, wait: float) -> None:
        """Wait for something to tell."""
        deadline = self._clock.deadline(wait)
        quiet = _QUIET if self._unread else wait
        while self.job.state == "running" and not deadline.passed:
            self._changed.clear()
            try:
                async with self._clock.timeout(min(quiet, deadline.remaining() or 0.0)):
                    await self._changed.wait()
            except TimeoutError:
                return
            quiet = _QUIET

    def read(self) -> JobOutput:
        """What has come since the last read."""
        new = bytes(self._recent[len(self._recent) - min(self._unread, len(self._recent)) :])
        omitted, self._unread = self._unread - len(new), 0
        return JobOutput(self.job, self._shell.shown(readable(new)), omitted)

    def _add(self, data: bytes) -> None:
        self._log.add(data)
        self._recent += data
        self._unread += len(data)
        if len(self._recent) > 2 * self._kept:
            del self._recent[: len(self._recent) - self._kept]
        self._changed.set()

    def _exited(self) -> None:
        if self.job.state == "running" and self._running is not None:
            self.job = replace(self.job, state="exited", exit_code=as_bash_reports(self._running.child.returncode)[0])
            self._told(self.job)
        self._changed.set()
