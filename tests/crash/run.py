"""One run of the program in this process, from the beginning or from what a kill left, and what was seen of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tests.crash.clocks import MORNING, WitnessClock
from tests.crash.job import PROMPT, plan_of, script
from tests.crash.world import Line, Records, World, lines
from tests.support.model_server import Exchange, ModelServer, RequestView, ScriptError
from tests.support.session import Sessions
from yagent.protocol.ops import ResumeTask, StartTask
from yagent.protocol.result import TaskResult
from yagent.rollout.writer import RolloutError
from yagent.runtime.clock import Clock
from yagent.session.build import open_session
from yagent.session.request import Resume, RunFlags, SessionRequest
from yagent.session.resume import ResumeRefused
from yagent.session.session import Session

LATER = MORNING + timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """The world at one moment of a run: how much of the record was on the disk, the working tree, how many requests had come."""

    stamp: str
    sizes: Mapping[str, int]
    tree: Path
    requests: int


@dataclass(slots=True)
class Run:
    """What was seen of a run. `refused`: why it could not go on as it stood; the user then began anew. `lost`: what is not recorded."""

    session: str
    result: TaskResult | None = None
    refused: str = ""
    lost: str = ""
    exchanges: Sequence[Exchange] = ()
    violations: tuple[str, ...] = ()
    moments: list[Moment] = field(default_factory=list)
    records: Records = field(default_factory=dict)
    tree: Path = Path()

    @property
    def stream(self) -> list[Line]:
        """Every record in the order of the session."""
        return lines(self.records)

    def at(self, moment: Moment) -> Records:
        """What was on the disk at a moment."""
        return {name: self.records[name][:size] for name, size in moment.sizes.items()}

    def newest(self, requests: int | None = None) -> dict[str, Exchange]:
        """The newest of the first so many requests of each agent."""
        return _by_agent(self.exchanges if requests is None else self.exchanges[:requests])

    def first(self) -> dict[str, Exchange]:
        """The first request of each agent."""
        return _by_agent(list(reversed(self.exchanges)))

    @property
    def views(self) -> list[RequestView]:
        """All requests."""
        return [each.view for each in self.exchanges if each.view is not None]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where runs happen. `signatures` are what the provider gave out in earlier runs, and takes back."""

    world: World
    dialect: str
    signatures: dict[str, str] = field(default_factory=dict)

    async def begun(self, clock: Clock | None = None, *, earlier: str = "") -> Run:
        """The task from its beginning, after an `earlier` one; with a clock of the caller's nothing is watched."""
        run = Run("")
        try:
            async with self._served(run) as server, self._opened(server, clock or self._clock(run, server)) as session:
                run.session = session.snapshot().session
                if earlier:
                    await session.submit(StartTask(earlier))
                run.result = await session.submit(StartTask(PROMPT))
        except RolloutError as lost:
            run.lost = str(lost)
        run.tree = self.world.tree()
        return self._over(run)

    async def resumed(self, session_id: str, clock: Clock | None = None, *, watched: bool = False) -> Run:
        """The rest of a task whose process was killed, an hour later. Raises what opening the session raises."""
        run = Run(session_id)
        try:
            async with self._served(run) as server:
                clock = clock or (self._clock(run, server) if watched else _later())
                async with self._opened(server, clock, Resume(session_id)) as session:
                    run.session = session.snapshot().session
                    run.result = await session.submit(ResumeTask())
        except ResumeRefused as refusal:
            run.refused = str(refusal)
        except RolloutError as lost:
            run.lost = str(lost)
        return self._over(run)

    async def anew(self, session_id: str) -> Run:
        """The user's words once more, in a session that could not go on as it stood."""
        run = Run(session_id)
        async with self._served(run) as server, self._opened(server, _later(), Resume(session_id)) as session:
            run.session = session.snapshot().session
            run.result = await session.submit(StartTask(PROMPT))
        return self._over(run)

    def _clock(self, run: Run, server: ModelServer) -> Clock:
        """A clock that keeps every moment of the run."""

        def seen(stamp: str) -> None:
            requests = sum(each.view is not None for each in server.exchanges)
            run.moments.append(Moment(stamp, self.world.sizes(), self.world.tree(), requests))

        return WitnessClock(seen, MORNING if not run.session else LATER)

    @asynccontextmanager
    async def _served(self, run: Run) -> AsyncIterator[ModelServer]:
        server = ModelServer(script)
        server.memory.signatures |= self.signatures
        async with server:
            yield server
        self.signatures.update(server.memory.signatures)
        run.exchanges = [each for each in server.exchanges if each.view is not None]
        run.violations = tuple(f"request {each.exchange}: [{each.rule}] {each.message}" for each in server.violations)

    @asynccontextmanager
    async def _opened(self, server: ModelServer, clock: Clock, resume: Resume | None = None) -> AsyncIterator[Session]:
        environ = Sessions(self.world.home, self.world.workspace, server.url).environment(self.dialect)
        flags = RunFlags(mode="yolo")
        request = SessionRequest(workspace=self.world.workspace, environ=environ, flags=flags, resume=resume)
        async with open_session(request, clock) as session:
            yield session

    def _over(self, run: Run) -> Run:
        run.records = self.world.records()
        return run


def _by_agent(exchanges: Sequence[Exchange]) -> dict[str, Exchange]:
    """The last of each agent. A request of nobody is a broken rule, and told as such."""
    found = {}
    for exchange in exchanges:
        with suppress(ScriptError):
            assert exchange.view is not None
            found[plan_of(exchange.view).name] = exchange
    return found


def _later() -> Clock:
    return WitnessClock(lambda stamp: None, LATER)
