"""Builds a session from what was asked for: the only place that knows every concrete class."""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from yagent._version import VERSION
from yagent.agents.roles.roster import ROSTER
from yagent.blackboard.gc import collect, collect_artifacts
from yagent.blackboard.settings import BlackboardSettings
from yagent.config.load import load
from yagent.config.providers import ProviderOptions, Resolution, resolve
from yagent.config.schema import Config
from yagent.errors import YagentError
from yagent.llm.token_calibration import CalibrationStore
from yagent.prompts.text import Prompts
from yagent.protocol.events import Event, LlmCallStart, ModelInfo, Payload, SessionStarted, WarningIssued
from yagent.protocol.stop import USAGE
from yagent.records import dataclass
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.bus import Bus
from yagent.runtime.clock import Clock
from yagent.runtime.left_behind import held, is_private, private_prefix, remove_left_behind
from yagent.runtime.log import DailyFiles, Redactor, configure, crash_report, remove_old
from yagent.runtime.paths import DataHome, project_id
from yagent.runtime.supervise import Domain, in_thread
from yagent.session.ahead import load_ahead
from yagent.session.asks import AskDesk
from yagent.session.controls import Controls
from yagent.session.desk import Desk, Shelves
from yagent.session.engines import Engines, EngineSource
from yagent.session.fitting import Fittings, FittingSettings
from yagent.session.keeping import Keeper
from yagent.session.project import Surroundings
from yagent.session.request import Resume, SessionRequest
from yagent.session.resume import ResumeSettings, Standing
from yagent.session.session import Session
from yagent.session.settings import (
    Places,
    approvals_line,
    blackboard_settings,
    compression_settings,
    mode,
    notes_root,
    permission_settings,
    run_settings,
    secret_texts,
    shell_settings,
    task_settings,
)
from yagent.session.subscribers import attach_logs
from yagent.session.task_work import TaskWork
from yagent.session.tasks import TaskOwned, TaskRunner
from yagent.session.voice import CurrentTask, session_publisher
from yagent.session.workshop import Workshop
from yagent.tools.builtin.catalogue import shipped_tools
from yagent.tools.builtin.notes import notes
from yagent.tools.registry import Registry
from yagent.tools.spec import AnySpec
from yagent.workspace.actions import Decision, ReadPath
from yagent.workspace.git import Git
from yagent.workspace.grants import Grants
from yagent.workspace.guard import too_wide_for_yolo
from yagent.workspace.own_records import OwnRecords
from yagent.workspace.permissions import Mode, Permissions, PermissionSettings
from yagent.workspace.search import Searcher
from yagent.workspace.shell import Shell

if TYPE_CHECKING:
    from yagent.rollout.index import SessionSummary
    from yagent.session.past import Past

logger = logging.getLogger(__name__)


class RequestError(YagentError):
    """What was asked for cannot be done."""

    exit_code: ClassVar[int] = USAGE


@asynccontextmanager
async def open_session(
    request: SessionRequest,
    clock: Clock,
    *,
    source: EngineSource | None = None,
    around: Callable[[EngineSource], EngineSource] = lambda engines: engines,
) -> AsyncIterator[Session]:
    """A session ready for its first task; leaving the block ends everything it started.

    With a `source` the models come from there, and no configuration is read; `around` may put another source before them.
    Raises `ConfigError` when the configuration cannot be used, `RequestError` when the request cannot, `RegistryError` when the tools do
    not fit together.
    """
    user = user_home(request.environ)
    home = DataHome.from_environment(request.environ, user)
    chosen = _choose(request, home) if source is None else None
    config = Config() if chosen is None else chosen.config
    _check(request, config, user)
    async with AsyncExitStack() as stack:
        temporary = _private_temporary(stack, home)
        redactor = Redactor(secret_texts(chosen, request.environ))
        logs = configure(home.logs_dir, clock=clock, redactor=redactor)
        stack.callback(logs.close)
        domain = await stack.enter_async_context(Domain("session"))
        domain.go("log files", logs.gather())
        engines = around(source or await _connected(stack, chosen, request, clock))
        settings = shell_settings(config, request, chosen)
        shell = await stack.enter_async_context(Shell(clock=clock, environment=request.environ, temporary=temporary, settings=settings))
        work = TaskWork()
        permissions = permission_settings(config, request, Places(home, user, temporary), settings, work)
        calibration = CalibrationStore(home.data_dir / "tokens.json", clock)
        domain.go("token calibration", calibration.load())
        stack.push_async_callback(calibration.save)
        reported = partial(_crash_reported, home, clock, redactor)
        parts = _Parts(request, config, home, clock, domain, engines, shell, work, reported, logs, calibration)
        yield await parts.session(permissions, [home.problem, *(chosen.notices if chosen else ())], stack)
        await in_thread(remove_left_behind, temporary.parent)


def _private_temporary(stack: AsyncExitStack, home: DataHome) -> Path:
    """The session's temporary directory. It goes with the session, and so does what stands in for a home that cannot be used."""
    if home.problem is not None and is_private(home.root):
        stack.callback(shutil.rmtree, home.root, ignore_errors=True)
        stack.enter_context(held(home.root))
    temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=private_prefix(), ignore_cleanup_errors=True)))
    stack.enter_context(held(temporary))
    return temporary


def user_home(environ: Mapping[str, str]) -> Path | None:
    """The user's home directory, None when it cannot be told."""
    told = environ.get("HOME", "")
    if told.startswith("/"):
        return Path(told)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


def _choose(request: SessionRequest, home: DataHome) -> Resolution:
    """The configuration, and who answers whom by it."""
    loaded = load(request.config_path, environ=request.environ, home=home)
    resolution = resolve(loaded, request.environ, ProviderOptions(request.flags.provider, request.flags.model))
    return replace(resolution, notices=(*loaded.notices, *resolution.notices))


async def _connected(stack: AsyncExitStack, chosen: Resolution | None, request: SessionRequest, clock: Clock) -> EngineSource:
    """The engines of the chosen providers, with their models (and, for a cost limit, their prices) known."""
    if chosen is None:
        raise AssertionError("without a source of engines there is a resolution")
    engines = await stack.enter_async_context(Engines(chosen, request.environ, clock))
    await engines.settle_models()
    if task_settings(chosen.config, request.flags).max_cost is not None:
        await engines.settle_prices()
    return engines


def _check(request: SessionRequest, config: Config, user: Path | None) -> None:
    """Refuse what cannot be meant."""
    if not request.workspace.is_dir():
        raise RequestError(f"{request.workspace} is no directory (any more). Start in the directory of your project.")
    unknown = request.flags.disabled_agents - (ROSTER.keys() - {"director"})
    if unknown:
        known = ", ".join(name for name in ROSTER if name != "director")
        raise RequestError(f"There is no agent called {', '.join(sorted(unknown))}. Agents that can be left out: {known}.")
    wide = too_wide_for_yolo(request.workspace, user) if mode(config, request.flags) is not Mode.ASK else None
    if wide is not None:
        raise RequestError(wide)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a session is put together from."""

    request: SessionRequest
    config: Config
    home: DataHome
    clock: Clock
    domain: Domain
    engines: EngineSource
    shell: Shell
    work: TaskWork
    report_crash: Callable[[BaseException], str]
    logs: DailyFiles
    calibration: CalibrationStore

    async def session(self, judging: PermissionSettings, notices: Sequence[object], stack: AsyncExitStack) -> Session:
        """The session. Leaving the stack closes its records and clears away old notes; what fails there keeps nothing else from ending."""
        request, clock, config = self.request, self.clock, self.config
        bus: Bus[Event] = Bus()
        task = CurrentTask()
        grants = Grants(request.workspace, self.home.settings_file, clock=clock)
        rollouts = self.home.rollout_dir(request.kept_as or project_id(str(request.workspace)))
        unwritable = None if self.home.problem else await in_thread(_unwritable, rollouts)
        git = self._git()
        standing = partial(_standing, git, request.workspace)
        settings = run_settings(config, request)
        keeper = Keeper(None if unwritable or self.home.problem else rollouts, clock, self.domain)
        stack.push_async_callback(keeper.close)
        past = None if request.resume is None else await self._reopened(request.resume, keeper, settings.resume, standing)
        session_id = self.logs.owner = secrets.token_hex(4) if past is None else past.session
        notes_in, kept, unreadable = await self._notes()
        told = () if past is None else past.notices
        warnings = [str(notice) for notice in (*notices, unwritable, unreadable, await grants.load(), *told) if notice]
        permissions = Permissions(judging, grants)
        prompts = Prompts()
        approvals = approvals_line(judging, can_ask=request.can_ask)
        fittings = Fittings(prompts, FittingSettings(compression_settings(config), request.environ, self.home.data_dir), self.calibration)
        may_read = partial(_may_read, permissions)
        board = session_id if past is None else past.board
        recorded = () if past is None else await in_thread(past.commands)
        shelves = self._shelves(notes_in, may_read, kept, board, stack)
        desk = Desk(shelves, board, clock, kept, dropped=fittings.full_text, commands=recorded)
        shop = Workshop(
            session=session_id,
            board=board,
            workspace=request.workspace,
            clock=clock,
            domain=self.domain,
            shell=self.shell,
            publisher=session_publisher(bus, session_id, clock, task),
            prompts=prompts,
            registry=_registry(config, prompts, self._searcher(), notes(desk.board, desk.full_text)),
            engine=self.engines.engine,
            prepare_engines=self.engines.prepare,
            open_record=keeper.open_record(session_id),
            asks=AskDesk(request.can_ask),
            grants=grants,
            write_lock=asyncio.Lock(),
            roster=ROSTER,
            report_crash=self.report_crash,
            settings=settings,
            standing=standing,
            fittings=fittings,
            desk=desk,
            trouble=self.logs.trouble,
            approvals=approvals,
            taking_up=None if past is None else past.taking_up,
        )
        surroundings = Surroundings(request.workspace, git, clock, approvals=approvals, may_read=may_read)
        owned = TaskOwned(permissions, surroundings, self.work, task, Controls(shop.publisher, task))
        tasks = TaskRunner(shop, owned, task_settings(config, request.flags), start_warnings=warnings, past=past)
        attach_logs(bus, self.domain)
        self.domain.go("load ahead", load_ahead(bus.subscribe({LlmCallStart.type}, name="load ahead"), clock))
        stack.push_async_callback(tasks.close)
        return Session(shop, tasks, bus, partial(_listed, rollouts), opening=self._opening(shop, warnings))

    async def _reopened(
        self, wanted: Resume, keeper: Keeper, settings: ResumeSettings, standing: Callable[[], Awaitable[Standing]]
    ) -> Past:
        """The session that goes on. Raises as `reopen`."""
        from yagent.session.reopening import reopen
        from yagent.session.taking_up import Reopening

        how = Reopening(self.request.workspace, ROSTER, settings, standing, lambda role: self.engines.engine(role, None).identity)
        return await reopen(keeper, wanted, how)

    def _git(self) -> Git:
        """Git, without what yagent writes by itself: that is nobody's change."""
        environ = self.request.environ
        return Git(self.clock, environ, OwnRecords(self.home, notes_root(environ, self.home, user_home(environ))))

    def _searcher(self) -> Searcher:
        return Searcher(self.clock, self.request.environ, binaries=self.home.binaries_dir)

    async def _notes(self) -> tuple[Path, BlackboardSettings, str | None]:
        """Where notes are, how they are kept, and why there are none."""
        place = notes_root(self.request.environ, self.home, user_home(self.request.environ))
        kept = blackboard_settings(self.config, self.request.environ)
        unreadable = await in_thread(_unreadable, place) if kept.enabled else None
        return place, kept if unreadable is None else replace(kept, enabled=False), unreadable

    def _shelves(
        self, notes: Path, may_read: Callable[[str], bool], kept: BlackboardSettings, board: str, stack: AsyncExitStack
    ) -> Shelves:
        """Where things are kept; leaving the stack clears away what is too old."""
        shelves = Shelves(notes, self.home.artifacts_dir, self.request.workspace, may_read)
        stack.push_async_callback(self._collected, shelves, kept, board)
        return shelves

    async def _collected(self, shelves: Shelves, settings: BlackboardSettings, board: str) -> None:
        """Remove the notes, artifacts and logs that nobody will read any more."""
        now = self.clock.wall()
        for name, remove in (
            ("notes", partial(collect, shelves.notes, now, settings, in_use=(board,))),
            ("artifacts", partial(collect_artifacts, shelves.artifacts, now, settings)),
            ("logs", partial(remove_old, self.home.logs_dir, now.date())),
        ):
            try:
                await in_thread(remove)
            except OSError as failure:
                logger.warning("old %s were not removed: %s", name, failure)

    def _opening(self, shop: Workshop, warnings: Sequence[str]) -> list[Payload]:
        """What a front end is told first: the session, its models, and what the start had to warn of."""
        identity = shop.engine("director", None).identity
        models = dict.fromkeys(shop.engine(role, None).identity for role in shop.roster)
        return [
            SessionStarted(
                session_id=shop.session, workspace=str(shop.workspace), version=VERSION, model=identity.model, provider=identity.provider
            ),
            *(ModelInfo(model=each.model, provider=each.provider, context_window=each.context_window, fallback=False) for each in models),
            *(WarningIssued(code="start", text=warning) for warning in warnings),
        ]


def _listed(rollouts: Path, limit: int) -> Sequence[SessionSummary]:
    """The newest sessions of the project. Blocks."""
    from yagent.rollout.index import list_sessions

    return list_sessions(rollouts, limit)


def _unreadable(notes: Path) -> str | None:
    """Why the notes that are there cannot be read, or None. Blocks."""
    try:
        os.scandir(notes).close()
        os.stat(os.path.join(notes, os.curdir))  # a directory may be listed and yet nothing in it be looked at
    except FileNotFoundError:
        return None  # nothing was written yet
    except OSError as failure:
        return (
            f"the notes in {notes} cannot be read ({failure.strerror}); this run works without. Set YAGENT_NOTES_ROOT to another directory."
        )
    return None


def _unwritable(rollouts: Path) -> str | None:
    """Why nothing can be recorded, or None. The system's own word on rights is not to be had before trying. Blocks."""
    try:
        make_private_directory(rollouts)
    except OSError as failure:
        return f"{rollouts} cannot be made ({failure.strerror}); this run works without persistence. Set YAGENT_HOME to another directory."
    return None


async def _standing(git: Git, workspace: Path) -> Standing:
    """Where the workspace stands, as git says."""
    facts = await git.facts(workspace)
    return Standing(facts.head or "", facts.dirty)


def _may_read(permissions: Permissions, path: str) -> bool:
    """Whether a tool would read this path without asking. Blocks."""
    return permissions.judge("read_file", (ReadPath(path),)).decision is Decision.ALLOW


def _crash_reported(home: DataHome, clock: Clock, redactor: Redactor, error: BaseException) -> str:
    """Blocks."""
    report = None if home.problem is not None else crash_report(error, home.logs_dir, clock=clock, redactor=redactor)
    return "No report could be written." if report is None else f"The report is {report}: please send it with what you did."


def _registry(config: Config, prompts: Prompts, searcher: Searcher, reading: Sequence[AnySpec]) -> Registry:
    """The shipped tools; cold ones the user wants declared in full are made hot. Raises RegistryError when they do not fit (D-05)."""
    deferred = config.tools_deferred

    def as_wanted(spec: AnySpec) -> AnySpec:
        return spec if deferred.enabled and spec.name not in deferred.hot else replace(spec, frequency="hot")

    specs = shipped_tools(searcher, lambda name: prompts.text(f"cognition/{name}.md"), reading)
    registry = Registry([as_wanted(spec) for spec in specs], lambda name: prompts.text(f"tools/{name}.md"))
    registry.validate()
    return registry
