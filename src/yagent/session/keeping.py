"""Where the records of a session are kept: a new session's files, or those of one that is opened again."""

from collections.abc import Callable, Sequence
from pathlib import Path

from yagent.agents.loop.recorder import Recorder
from yagent.protocol.ids import AgentIdentity, SessionId
from yagent.rollout.marks import Segment
from yagent.rollout.reader import Account, session_of
from yagent.rollout.replay import replay
from yagent.rollout.scan import session_records
from yagent.rollout.writer import NullRecorder, Numbers, RolloutWriter, SessionLog
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain, in_thread
from yagent.session.past import Past, find
from yagent.session.request import Resume
from yagent.session.resume import ResumeRefused
from yagent.session.taking_up import Reopening, TakingUp


class Keeper:
    """Opens the records of one session. `directory` is None where nothing can be kept."""

    def __init__(self, directory: Path | None, clock: Clock, domain: Domain) -> None:
        self._directory = directory
        self._clock = clock
        self._domain = domain
        self._numbers = Numbers()
        self._reopened: RolloutWriter | None = None

    async def reopen(self, wanted: Resume, how: Reopening) -> Past:
        """The session that is meant, with its record open for going on; nobody else can go on with it meanwhile.

        Raises `ResumeRefused`, or another YagentError where it is open elsewhere or cannot be read.
        """
        directory = self._directory
        if not how.settings.enable:
            raise ResumeRefused("Sessions are not resumed here: [resume] enable or YAGENT_RESUME says so. Change that, or start anew.")
        if directory is None:
            raise ResumeRefused("There are no records to go on with: the data directory cannot be used. Set YAGENT_HOME.")
        path = await in_thread(find, directory, how.workspace, wanted)
        session, account = session_of(path), Account()
        log = self._log(directory, session)
        self._reopened = await in_thread(log.reopen, path)
        records = await in_thread(session_records, directory, session, account)
        self._reopened.go_on_from(records.director[:-1])
        director = await in_thread(replay, records.director)
        self._numbers.go_on_after(max(records.position, director.position))
        return Past(records, director, TakingUp(records, how), tuple(account.skipped))

    def open_record(self, session: SessionId) -> Callable[[AgentIdentity, Sequence[Segment]], Recorder]:
        """The way of the runs of a session to their records."""
        if self._directory is None:
            return lambda agent, earlier: NullRecorder()
        log, reopened = self._log(self._directory, session), self._reopened

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
