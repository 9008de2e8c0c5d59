"""Plays a recorded session: where its models come from, and its tasks one after the other behind the client port."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from yagent.llm.divergence import Divergence, Places
from yagent.llm.engine import Engine
from yagent.llm.playback import Playback
from yagent.llm.recorded import RecordedConversation, RecordedEngine, RecordedSession, RecordedTurn, ReplaySettings
from yagent.llm.recorded_consult import RecordedConsultant
from yagent.protocol.client import Client, Question, Snapshot
from yagent.protocol.events import Event
from yagent.protocol.messages import ModelIdentity
from yagent.protocol.ops import Op, StartTask, SteerTask, StopTask
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason, strongest
from yagent.records import dataclass
from yagent.runtime.clock import Clock
from yagent.session.engines import EngineSource
from yagent.session.refused import TaskRefused
from yagent.session.replay import RecordedTask, Recording, is_open, is_reminder

IDENTITY: Final = ModelIdentity("recording", "recorded", "openai")
OWN_ENDS: Final = (StopReason.AGENT_EXIT, StopReason.PLAIN_TEXT, StopReason.MAX_STEPS, StopReason.LOOP_DETECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """How a recording is played. `pace` is the time before each word in seconds, `strict` stops at the first divergence, `places` are
    texts to be taken for one another."""

    pace: float = 0.0
    strict: bool = False
    places: Places = ()


class Replay:
    """An `EngineSource`: the models of a recording, and of `live` what lies beyond it. `divergences` collects where they part."""

    def __init__(self, recording: Recording, clock: Clock, options: ReplayOptions | None = None, live: EngineSource | None = None) -> None:
        options = options or ReplayOptions()
        self.recording = recording
        self.divergences: list[Divergence] = []
        settings = ReplaySettings(options.strict, options.places, is_open)
        self.session = RecordedSession(recording.conversations, self.divergences.append, settings)
        self._playback = Playback(clock, options.pace)
        self._live = live

    def following(self, live: EngineSource) -> EngineSource:
        """This source, with another one for what lies beyond the recording."""
        self._live = live
        return self

    def client(self, session: Client) -> "ReplayClient":
        """The session behind a client that carries out the recorded tasks."""
        return ReplayClient(session, self)

    async def prepare(self) -> None:
        """See `EngineSource`: a recording is read before the session begins."""
        if self._live is not None:
            await self._live.prepare()

    def engine(self, agent: str, tool: str | None = None) -> Engine:
        """See `EngineSource`."""
        live = None if self._live is None else self._live.engine(agent, tool)
        recorded = RecordedEngine(self.session, self._playback, identity=IDENTITY, live=live)
        return recorded if tool is None else RecordedConsultant(tool, self.recording.conversations, recorded)


class ReplayClient:
    """A `Client` whose `StartTask` carries out every recorded task, in the session behind `client`; its result is that of them all."""

    def __init__(self, client: Client, replay: Replay) -> None:
        self._client = client
        self._replay = replay
        self._is_stopped = False

    async def submit(self, op: Op) -> TaskResult | None:
        """See `Client.submit`. The words of `StartTask` are those of the recording, whatever they are."""
        if isinstance(op, StartTask):
            return await self._all_tasks()
        if isinstance(op, StopTask) and not op.delegation_id:
            self._is_stopped = True
        return await self._client.submit(op)

    def events(self) -> AsyncIterator[Event]:
        """See `Client.events`."""
        return self._client.events()

    def snapshot(self) -> Snapshot:
        """See `Client.snapshot`."""
        return self._client.snapshot()

    async def query(self, question: Question) -> Any:
        """See `Client.query`."""
        return await self._client.query(question)

    async def _all_tasks(self) -> TaskResult:
        results: list[TaskResult] = []
        session = self._replay.session
        session.playing = self._say_again
        for number, task in enumerate(self._replay.recording.tasks):
            session.run = number
            result = await self._client.submit(StartTask(task.prompt))
            if result is None:
                raise AssertionError("a task that was started has a result")
            results.append(result)
            if self._is_stopped or (session.settings.strict and self._replay.divergences):
                break
            self._compare_end(task, result)
        if not self._is_stopped and not self._replay.divergences:
            session.report_unplayed()
        return _together(results)

    async def _say_again(self, conversation: RecordedConversation, turn: RecordedTurn) -> None:
        """What the user said to an agent at work is said again during the same step; what it hears from the program comes by itself."""
        for text in turn.told or ():
            if not is_reminder(text):
                with suppress(TaskRefused):  # not heard: the engine reports it
                    await self._client.submit(SteerTask(text, conversation.id))

    def _compare_end(self, task: RecordedTask, result: TaskResult) -> None:
        """Report a task that does not end as it did, where it ended by itself."""
        if task.stop_reason in OWN_ENDS and result.stop_reason != task.stop_reason:
            end = Divergence("Director", "", "", "end", task.stop_reason, result.stop_reason.value)
            self._replay.session.report(end)


def _together(results: Sequence[TaskResult]) -> TaskResult:
    """One result of several tasks: what each answered, all that happened, the end of the last."""
    last = results[-1]
    if len(results) == 1:
        return last
    usages = [result.usage for result in results if result.usage is not None]
    costs = [result.cost for result in results]
    changes = {change.path: change for result in results for change in result.files_changed}
    return replace(
        last,
        answer="\n\n".join(result.answer.strip("\n") for result in results if result.answer),
        exit_code=strongest(result.exit_code for result in results),
        usage=sum(usages[1:], usages[0]) if usages else None,
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        files_changed=tuple(changes.values()),
        delegations=tuple(each for result in results for each in result.delegations),
        denied=tuple(each for result in results for each in result.denied),
        warnings=tuple(dict.fromkeys(each for result in results for each in result.warnings)),
        error=next((result.error for result in reversed(results) if result.error), ""),
    )
