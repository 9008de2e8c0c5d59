"""Where the records of a session are kept: a new session's files, or those of one that is opened again."""

from collections.abc import Callable, Sequence
from pathlib import Path

from yagent.agents.loop.recorder import Recorder
from yagent.protocol.ids import AgentIdentity, SessionId
from yagent.rollout.marks import Segment
from yagent.rollout.writer import NullRecorder, Numbers, RolloutWriter, SessionLog
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain, in_thread


class Keeper:
    """Opens the records of one session. `directory` is None where nothing can be kept."""

    def __init__(self, directory: Path | None, clock: Clock, domain: Domain) -> None:
        self.directory = directory
        self._clock = clock
        self._domain = domain
        self._numbers = Numbers()
        self._reopened: RolloutWriter | None = None

    async def reopen(self, path: Path, session: SessionId) -> None:
        """Open the Director's record of a session for going on; nobody else can go on with it meanwhile.

        Raises a YagentError where it is open elsewhere or cannot be read.
        """
        if self.directory is None:
            raise AssertionError("without a directory there are no records to open")
        log = self._log(self.directory, session)
        self._reopened = await in_thread(log.reopen, path)

    def go_on_from(self, earlier: Sequence[Segment], position: int) -> None:
        """What is written now follows `earlier` files and all numbers up to `position`."""
        if self._reopened is not None:
            self._reopened.go_on_from(earlier)
        self._numbers.go_on_after(position)

    def open_record(self, session: SessionId) -> Callable[[AgentIdentity, Sequence[Segment]], Recorder]:
        """The way of the runs of a session to their records."""
        if self.directory is None:
            return lambda agent, earlier: NullRecorder()
        log, reopened = self._log(self.directory, session), self._reopened

        def opened(agent: AgentIdentity, earlier: Sequence[Segment]) -> Recorder:
            return log.open(agent, earlier) if reopened is None or agent.delegation_id else reopened

        return opened

    async def close(self) -> None:
        """Close the record of a session that was opened again and did nothing."""
        if self._reopened is not None:
            await self._reopened.close()

    def _log(self, directory: Path, session: SessionId) -> SessionLog:
        started = f"{self._clock.wall():%Y%m%d-%H%M%S}"
        return SessionLog(directory, session, started, self._numbers, self._clock, self._domain, make_private_directory)
