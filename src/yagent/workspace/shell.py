"""Command lines, run by bash in a session of their own, with bounded output and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from yagent.errors import YagentError
from yagent.records import dataclass
from yagent.runtime import atomic, supervise
from yagent.runtime.clock import Clock
from yagent.runtime.log import MASK
from yagent.workspace import orphans
from yagent.workspace.environment import ChildEnvironment, child_environment
from yagent.workspace.git import absolute_only
from yagent.workspace.lifeline import Lifeline
from yagent.workspace.output import CappedLog, HeadAndTail
from yagent.workspace.process_table import NO_GROUP, Origin, origin_of
from yagent.workspace.processes import Child, ProcessError, Program, Sink, end_tree, start

MARK = "YAGENT_RUN"
COMMAND_LIMIT = 100_000
_DRAIN_QUIET = 0.15
_DRAIN_LIMIT = 0.6
_START_LIMIT = 10.0
_CLEANUP_LIMIT = 5.0
_WATCH = 1.0


class ShellError(YagentError):
    """A command line could not be run; the text says why."""


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """`pass_env` names variables that commands get although they look secret, `provider_keys` those they never get otherwise; `secrets` are
    texts that no output shows, wherever a command found them.

    `kept_output` is how many bytes of a command's output go into its result, `log_limit` how many are kept on disk.
    """

    pass_env: tuple[str, ...] = ()
    provider_keys: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    kept_output: int = 32_000
    log_limit: int = 50_000_000


@dataclass(frozen=True, slots=True)
class ShellResult:
    """What a command came to.

    `exit_code` is as bash reports it (128 + n for a shell ended by signal n, which `signal` then names), None when it was ended by the
    time limit. `output` is both streams in order; `omitted` bytes of it are left out, and `log` then has the whole text up to its limit.
    `left_behind` names processes that were still running and were ended with the call. `duration` is in seconds.
    """

    exit_code: int | None
    signal: str | None
    output: str = field(repr=False)
    omitted: int
    log: Path | None
    timed_out: bool
    left_behind: tuple[str, ...]
    directory: Path
    duration: float
    notes: tuple[str, ...]


def require_runnable(command: str) -> None:
    """Raise ShellError for a line that no shell can be given, whatever it says."""
    if "\0" in command:
        raise ShellError("the command holds a NUL character, which no command line can")
    if len(command) > COMMAND_LIMIT or len(command.encode("utf-8", "surrogatepass")) > COMMAND_LIMIT:
        raise ShellError(f"the command is longer than {COMMAND_LIMIT} bytes; write it to a file and run that")


class Running:
    """A started command line: its shell, and the origin by which its descendants are known."""

    def __init__(self, child: Child, origin: Origin, on_ended: Callable[[], None]) -> None:
        self.child = child
        self._origin = origin
        self._on_ended = on_ended
        orphans.begun(origin)

    async def end(self, clock: Clock, *, at_once: bool = False) -> tuple[str, ...]:
        """End the shell and all it started; names of what was still running. Nothing more is heard from it."""
        orphans.ending(self._origin)
        try:
            origin = replace(self._origin, group=NO_GROUP) if self.child.is_renumbered else self._origin
            return await end_tree(origin, clock=clock, at_once=at_once)
        finally:
            await self.child.end(clock)
            self._on_ended()


class Shell:
    """Runs command lines. `environment` is the user's own, `temporary` a private directory that commands get as TMPDIR.

    Inside `async with`, what runs is also ended when this program is killed.
    """

    def __init__(self, *, clock: Clock, environment: Mapping[str, str], temporary: Path, settings: ShellSettings | None = None) -> None:
        self.clock = clock
        self.temporary = temporary
        self.settings = settings or ShellSettings()
        self._environment = environment
        self._token = secrets.token_hex(8)
        self._calls = 0
        self._logs = 0
        self._prepared: ChildEnvironment | None = None
        self._lifeline: Lifeline | None = None
        self._resources = AsyncExitStack()
        self._preparing = asyncio.Lock()
        self._unsaid: list[str] = []
        self._program = ""
        self._work = supervise.Domain("shell")
        self._adopts: bool | None = None
        self._watch: supervise.Handle[None] | None = None

    async def __aenter__(self) -> Self:
        await self._resources.enter_async_context(self._work)
        self._lifeline = await self._resources.enter_async_context(Lifeline(f"{MARK}={self._token}", Path("/"), self.clock))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lifeline = None
        await self._resources.aclose()

    async def run(
        self,
        command: str,
        directory: Path,
        *,
        timeout: float = 180.0,
        at_once: Callable[[], bool] = lambda: False,
    ) -> ShellResult:
        """Run a command line to its end, for at most `timeout` seconds; then it and all its descendants are ended, without being asked
        first when `at_once()` says so.

        Returns soon after the shell itself exits, whoever still holds its output; such processes are ended and named. Nothing lasts from
        call to call: not the directory, not variables. Source: requirement D-36.

        Raises:
            ShellError: it could not be started.
        """
        started = self.clock.now()
        output = HeadAndTail(self.settings.kept_output, self.new_log())
        activity = _Activity(self.clock, output)
        running = await self.launch(command, directory, activity.add)
        try:
            timed_out = await self._until_exit(running.child, timeout)
            if not timed_out:
                await activity.settled(running.child)
        finally:
            # A cancelled call, too, leaves nothing running.
            ending = running.end(self.clock, at_once=at_once())
            left = await supervise.shielded(ending, timeout=_CLEANUP_LIMIT, clock=self.clock, name="end of a command")
            output.log.close()
        code, name = (None, None) if timed_out else as_bash_reports(running.child.returncode)
        return ShellResult(
            exit_code=code,
            signal=name,
            output=self.shown(output.text()),
            omitted=output.omitted,
            log=output.log.path if output.log.size else None,
            timed_out=timed_out,
            left_behind=left,
            directory=directory,
            duration=self.clock.now() - started,
            notes=self._remarks(),
        )

    def shown(self, text: str) -> str:
        """Output as agents and records get it: without the keys of the models that work here."""
        for secret in self.settings.secrets:
            text = text.replace(secret, MASK)
        return text

    async def launch(self, command: str, directory: Path, sink: Sink) -> Running:
        """Start a command line whose output goes to `sink`. Whoever starts it ends it.

        Raises:
            ShellError: it could not be started.
        """
        require_runnable(command)
        prepared = await self._prepare()
        await self._may_adopt()
        if not await supervise.in_thread(directory.is_dir):
            raise ShellError(f"cannot run a command in {directory}: there is no such directory")
        self._calls += 1
        marker = f"{MARK}={self._token}-{self._calls}-"
        variables = {**prepared.variables, "PWD": str(directory), MARK: marker.removeprefix(f"{MARK}=")}
        arguments = (self._program, "--noprofile", "--norc", "-c", command)
        begun: list[Running] = []
        try:
            beginning = self._begin(Program(arguments, directory, variables), sink, marker, begun)
            await supervise.shielded(beginning, timeout=_START_LIMIT, clock=self.clock, name="start of a command")
        except BaseException as error:
            # Cancelled at this moment, the command runs already, and nobody else knows of it.
            for running in begun:
                await supervise.shielded(running.end(self.clock), timeout=_CLEANUP_LIMIT, clock=self.clock, name="end of a command")
            if isinstance(error, ProcessError):
                raise ShellError(str(error)) from error
            raise
        return begun[0]

    async def _begin(self, program: Program, sink: Sink, marker: str, begun: list[Running]) -> None:
        if self._lifeline is not None:
            await self._lifeline.expect()
        child = await start(program, output=sink)
        if self._lifeline is not None:
            self._lifeline.add(child.pid)
        begun.append(Running(child, origin_of(child.pid, marker), partial(self._ended, child.pid)))
        if self._adopts is not False and self._lifeline is not None and (self._watch is None or self._watch.done()):
            self._watch = self._work.go("orphans", self._watch_orphans(self._lifeline))

    async def _watch_orphans(self, lifeline: Lifeline) -> None:
        """While commands run: no dead orphan is kept, and the living ones end with us."""
        told: frozenset[int] = frozenset()
        while orphans.commands_run():
            await self.clock.sleep(_WATCH)
            await self._may_adopt()
            groups = await supervise.in_thread(orphans.orphaned_groups)
            if groups is not None:
                for group in groups - told:
                    lifeline.add(group)
                for group in told - groups:
                    lifeline.remove(group)
                told = groups
        for group in told:
            lifeline.remove(group)

    def new_log(self) -> CappedLog:
        """A file for the next command's output; it exists once something is written to it."""
        self._logs += 1
        # Of one length, so that results that differ in it alone are cut at the same byte.
        return CappedLog(self.temporary / "output" / f"{self._logs:05}.log", self.settings.log_limit)

    def _ended(self, group: int) -> None:
        if self._lifeline is not None:
            self._lifeline.remove(group)

    async def _until_exit(self, child: Child, timeout: float) -> bool:
        """Whether the time limit came before the shell's exit."""
        with supervise.outside(f"command {child.pid}"):
            try:
                async with self.clock.timeout(timeout):
                    await child.exited()
            except TimeoutError:
                return True
        return False

    async def _prepare(self) -> ChildEnvironment:
        async with self._preparing:
            if self._prepared is None:
                self._prepared = await self._first_preparation()
        return self._prepared

    async def _may_adopt(self) -> None:
        """Ask for orphans, as often as it cannot be told whether they may come to us."""
        async with self._preparing:
            if self._adopts is None:
                self._adopts = await supervise.in_thread(orphans.adopt, os.getpid())

    async def _first_preparation(self) -> ChildEnvironment:
        await supervise.in_thread(atomic.make_private_directory, self.temporary)
        prepared = child_environment(
            self._environment, temporary=self.temporary, pass_env=self.settings.pass_env, provider_keys=self.settings.provider_keys
        )
        bash = shutil.which("bash", path=absolute_only(prepared.variables.get("PATH", "/usr/bin:/bin")))
        if bash is None:
            # Lines are judged as bash reads them; another shell may read them as something else.
            raise ShellError("no command can be run: there is no bash on PATH, and lines are judged as bash reads them; install bash")
        self._program = bash
        if prepared.changing:
            names = ", ".join(name.removeprefix("BASH_FUNC_").removesuffix("%%") for name in prepared.changing)
            self._unsaid.append(f"commands do not get these, which would change what a line means to bash: {names}")
        if prepared.removed:
            names = ", ".join(prepared.removed)
            self._unsaid.append(
                f"commands do not get these variables, which look secret: {names} (the user can allow them with --pass-env NAME)"
            )
        return prepared

    def _remarks(self) -> tuple[str, ...]:
        """What has to be said once."""
        remarks, self._unsaid = tuple(self._unsaid), []
        return remarks


class _Activity:
    """Passes output on, and knows when the last of it came."""

    def __init__(self, clock: Clock, output: HeadAndTail) -> None:
        self._clock = clock
        self._output = output
        self._last = clock.now()

    def add(self, data: bytes) -> None:
        """A sink."""
        self._last = self._clock.now()
        self._output.add(data)

    async def settled(self, child: Child) -> None:
        """Wait for the rest of the output after the shell's exit: to its end, or until those who hold it open say nothing for a moment."""
        end = self._clock.deadline(_DRAIN_LIMIT)
        self._last = self._clock.now()
        while not end.passed:
            quiet = self._last + _DRAIN_QUIET - self._clock.now()
            if quiet <= 0:
                return
            try:
                async with self._clock.timeout(quiet):
                    await child.drained()
                return
            except TimeoutError:
                continue


def as_bash_reports(returncode: int | None) -> tuple[int | None, str | None]:
    """An exit code and the name of the signal behind it, from what the system reports (negative for a signal)."""
    if returncode is None or returncode >= 0:
        return returncode, None
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    return 128 - returncode, name
