"""One task from a script or a shell: run it, show what happens, deliver the answer, end honestly."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from typing import Literal, Protocol, TypeAlias

from yagent.apps.cli import outcome
from yagent.apps.cli.interruption import Interruption
from yagent.apps.cli.progress import PlainProgress, write_to_standard_error
from yagent.apps.cli.standard_output import OutputClosed, OutputFailed, StandardOutput
from yagent.apps.cli.suspension import Suspension
from yagent.apps.cli.terminal_asks import TerminalAsks, TerminalClosed
from yagent.protocol.asks import Ask
from yagent.protocol.client import Client
from yagent.protocol.event_json import to_json_line
from yagent.protocol.events import Event, Payload, TaskStarted, UserHelpNeeded, UserHelpResponse
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.ops import AnswerAsk, ResumeTask, Shutdown, StartTask, StopTask
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import PIPE_CLOSED, StopReason, strongest
from yagent.records import dataclass
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain, Handle
from yagent.session.refused import TaskRefused

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
SHOW_CURSOR = "\x1b[?25h"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneShot:
    """What the command line asked for. `prompt` None: a recorded session goes on where it stood. `terminal` is a descriptor on which
    somebody can answer, None when nobody can. `opening` is said when the task begins. Whoever stops it is told how to go on with it when it
    `may_go_on`: with the options `again`, quoted for a shell."""

    prompt: str | None
    output: OutputFormat = "text"
    quiet: bool = False
    terminal: int | None = None
    opening: str = ""
    may_go_on: bool = False
    again: str = ""


class Progress(Protocol):
    """Draws events."""

    def show(self, event: Event) -> None:
        """Draw one."""
        ...

    def say(self, line: str) -> None:
        """Draw a line that no event says."""
        ...

    def rest(self) -> None:
        """Leave the terminal to others until `go_on`."""
        ...

    def go_on(self) -> None:
        """Draw again."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


async def run_one_shot(client: Client, run: OneShot, clock: Clock) -> int:
    """Carry out the run and return the exit code of the process."""
    out, began = StandardOutput(), clock.now()
    async with AsyncExitStack() as stack:
        domain = await stack.enter_async_context(Domain("one-shot"))
        faces = _Faces(client, run, out, domain)
        stack.callback(faces.close)
        interruption = Interruption(lambda: domain.go("stop", _stop(client)), lambda: _leave_at_once(client, run, faces))
        interruption.install()
        stack.callback(interruption.release)
        suspension = Suspension(faces.rest, faces.go_on)
        suspension.install()
        stack.callback(suspension.release)
        stack.callback(out.watch(interruption.output_closed))
        watching = domain.go("events", faces.watch(client.events(), interruption))
        result = await client.submit(ResumeTask() if run.prompt is None else StartTask(run.prompt))
        await client.submit(Shutdown())
        await watching
        faces.close()
        if result is None:
            raise AssertionError("a task that was started has a result")
        code = await _deliver(run, out, result, interruption)
        if not run.quiet and code != PIPE_CLOSED:
            write_to_standard_error(outcome.summary(result, clock.now() - began))
            if run.may_go_on and client.snapshot().resumable:
                _tell_way_on(outcome.way_on(result.session, result.stop_reason, run.again))
        return code


def _leave_at_once(client: Client, run: OneShot, faces: "_Faces") -> None:
    """What there is time for when the process ends this moment: its record ends in the middle, and can be gone on with all the same."""
    faces.close_at_once()
    at_hand = client.snapshot()
    if run.may_go_on and not run.quiet and at_hand.resumable:
        _tell_way_on(outcome.way_on(at_hand.session, StopReason.CANCELLED, run.again))


def _tell_way_on(line: str) -> None:
    if line:
        write_to_standard_error(f"yagent: Go on with: {line}")


async def _stop(client: Client) -> None:
    with suppress(TaskRefused):  # it has just ended by itself
        await client.submit(StopTask(reason="interrupted"))


async def _deliver(run: OneShot, out: StandardOutput, result: TaskResult, interruption: Interruption) -> int:
    """Write the answer and the account; the exit code."""
    if interruption.exit_code == PIPE_CLOSED:
        return PIPE_CLOSED
    writers = {"json": outcome.as_json, "stream-json": outcome.as_last_line, "text": outcome.as_text}
    try:
        await out.write(writers[run.output](result))
    except OutputClosed:
        return PIPE_CLOSED
    except OutputFailed as failure:
        kept = f" It is kept in the record: yagent sessions show {result.session}" if result.answer else ""
        write_to_standard_error(f"yagent: {failure}{kept}")
        if failure.exit_code == PIPE_CLOSED:
            return PIPE_CLOSED
        return strongest((failure.exit_code, result.exit_code if interruption.exit_code is None else interruption.exit_code))
    for line in outcome.account(result, quiet=run.quiet):
        write_to_standard_error(line)
    return result.exit_code if interruption.exit_code is None else interruption.exit_code


class _Faces:
    """What of the events of a run people and programs see, and the asks they answer."""

    def __init__(self, client: Client, run: OneShot, out: StandardOutput, domain: Domain) -> None:
        self._client = client
        self._run = run
        self._out = out
        self._domain = domain
        self._progress = None if run.quiet else _progress()
        self._asks = None if run.terminal is None else TerminalAsks(run.terminal)
        self._asking: dict[str, Handle[None]] = {}

    async def watch(self, events: AsyncIterator[Event], interruption: Interruption) -> None:
        """Draw and write events until the stream ends."""
        async for event in events:
            self._show(event)
            self._take_ask(event.payload, interruption)
            if self._run.output == "stream-json":
                try:
                    await self._out.write(f"{to_json_line(event)}\n")
                except (OutputClosed, OutputFailed) as failure:
                    interruption.output_closed(failure)
                    return

    def close(self) -> None:
        """Leave the terminal as it was."""
        progress, self._progress = self._progress, None
        if progress is not None:
            _or_gone(progress.close)

    def rest(self) -> None:
        """Leave the terminal to others until `go_on`."""
        if self._progress is not None:
            _or_gone(self._progress.rest)

    def go_on(self) -> None:
        """Draw again, and put the question again that is open."""
        if self._progress is not None:
            _or_gone(self._progress.go_on)
        if self._asks is not None:
            _or_gone(self._asks.put_again)

    def close_at_once(self) -> None:
        """As `close`, without waiting for anything, for a process that ends this moment."""
        if isinstance(self._progress, PlainProgress) or self._progress is None:
            return
        write_to_standard_error(SHOW_CURSOR)

    def _show(self, event: Event) -> None:
        progress = self._progress
        if progress is None:
            return
        if isinstance(event.payload, TaskStarted) and self._run.opening:
            _or_gone(lambda: progress.say(self._run.opening))
        if not _or_gone(lambda: progress.show(event)):
            self._progress = None

    def _take_ask(self, payload: Payload, interruption: Interruption) -> None:
        """Put an ask to the person there; one that was answered or given up elsewhere is no longer put."""
        match payload:
            case UserHelpNeeded() if self._asks is not None:
                self._asking[payload.request_id] = self._domain.go("ask", self._answer(self._asks, payload, interruption))
            case UserHelpResponse():
                asking = self._asking.pop(payload.request_id, None)
                if asking is not None:
                    asking.cancel()

    async def _answer(self, asks: TerminalAsks, needed: UserHelpNeeded, interruption: Interruption) -> None:
        ask = Ask(
            id=needed.request_id,
            kind=needed.kind,
            origin=AgentIdentity(needed.origin.lower()),
            prompt=needed.prompt,
            subject=needed.subject,
            reasons=needed.reasons,
            options=needed.options,
            offers=needed.offers,
            tool=needed.tool,
        )
        try:
            answer = await asks.answer(ask, len(self._asking) - 1)
        except TerminalClosed:
            interruption.terminal_closed()
            return
        await self._client.submit(AnswerAsk(needed.request_id, answer))


def _or_gone(draw: Callable[[], None]) -> bool:
    """Draw; False when the terminal is gone, which must not end the work."""
    try:
        draw()
    except OSError:
        return False
    return True


def _progress() -> Progress:
    """A live tree on a terminal that can draw one, plain lines elsewhere."""
    if os.isatty(2) and os.environ.get("TERM", "") not in ("", "dumb"):
        from yagent.apps.cli.live_progress import LiveProgress

        return LiveProgress()
    return PlainProgress()
