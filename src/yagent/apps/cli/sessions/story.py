"""`yagent sessions show`: one record as people read it, in the order in which it happened."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.sessions.finding import Files, find, label, moment, of_role, print_lines, records
from yagent.apps.cli.sessions.words import BOOKKEEPING, ended, readable, shortened, stood, tokens
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult
from yagent.protocol.visible import visible
from yagent.records import dataclass
from yagent.rollout.reader import Account, merged, session_of
from yagent.rollout.records import AgentCheckpoint, Compacted, Entry, EventMessage, Record, ResponseItem, SessionMeta, TurnContext
from yagent.rollout.replay import replay
from yagent.rollout.scan import session_records

CLIP_CHARACTERS = 1000
CLIP_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    """Options of `sessions show`."""

    session: Annotated[str, typer.Argument(metavar="ID", help="The session's id, or its first characters.")]
    agent: Annotated[str | None, typer.Option("--agent", metavar="ROLE", help="Only what agents of this role did.")] = None
    full: Annotated[bool, typer.Option("--full", help="Show arguments and results whole.")] = False
    steps: Annotated[bool, typer.Option("--steps", help="Only the Director's steps by number, for sessions fork.")] = False


def show_command(context: typer.Context, options: ShowOptions) -> None:
    """Show what one session recorded.

    In the order in which it happened.
    """
    with records() as home:
        found = find(home, options.session)
        if options.steps:
            print_lines(map(visible, _steps(found)))
            return
        files = of_role(found, options.agent)
        print_lines(visible(line) for line in _Story(full=options.full).lines(files))


def _steps(files: Files) -> Iterator[str]:
    """Every step of the Director, those of the sessions this one begins in too."""
    director = files[0]
    past = replay(session_records(director.parent, session_of(director), Account()).director)
    steps = past.steps
    if past.superseded:
        what = "result was" if past.superseded == 1 else "results were"
        write_to_standard_error(f"yagent: {past.superseded} {what} replaced by a later one for the same call; the later one counts.")
    for each in steps:
        yield f"{each.step:>{len(str(len(steps)))}}  {', '.join(each.tools) or 'answered'}"


class _Story:
    """Turns entries into lines: who, when, what. Text of several lines is indented below its head."""

    def __init__(self, *, full: bool) -> None:
        self._clip: Callable[[str], str] = str if full else _clipped
        self._open: dict[Path, dict[str, str]] = {}  # calls without a result: id to name
        self._unsealed: dict[Path, None] = {}
        self._results: dict[Path, dict[str, str]] = {}  # of the newest calls: id to text
        self._replacing: frozenset[str] = frozenset()  # ids of the results of this record that take the place of others

    def lines(self, files: Files) -> Iterator[str]:
        """Everything the files hold, and at the end what could not be read."""
        account = Account()
        for path, entry in merged(files, account):
            self._follow(path, entry.record)
            yield from self._entry(label(path), entry)
        for path in self._unsealed:
            yield from self._torn(path)
        if account.count:
            yield f"Not shown, because it could not be read ({account.count}):"
            yield from (f"  {text}" for text in account.skipped)
            if account.count > len(account.skipped):
                yield f"  and {account.count - len(account.skipped)} more"

    def _follow(self, path: Path, record: Record) -> None:
        """Keep account of what has begun and not ended."""
        self._unsealed[path] = None
        match record:
            case EventMessage() if record.is_terminal:
                del self._unsealed[path]
            case ResponseItem():
                known = self._open.setdefault(path, {})
                for call in record.message.calls:
                    known[call.id] = call.name
                had = self._results.setdefault(path, {})
                for call in record.message.calls:
                    had.pop(call.id, None)
                results = {result.call_id: result.text for result in record.message.results}
                self._replacing = frozenset(name for name, text in results.items() if had.get(name, text) != text)
                had.update(results)
                for name in results:
                    known.pop(name, None)

    def _torn(self, path: Path) -> Iterator[str]:
        """What a reader has to know of a run whose end was never recorded."""
        yield f"{label(path)} has no terminal record: the process ended before the run did, or the run still goes on."
        for call, name in self._open.get(path, {}).items():
            yield f"  {name} ({call}) has no known outcome: what it does may have been done, in part or whole."

    def _entry(self, who: str, entry: Entry) -> Iterator[str]:
        head = f"{moment(entry.timestamp, seconds=True)} {who}"
        for what, text in self._told(entry.record):
            yield f"{head} {what}".rstrip()
            yield from (f"    {line}" for line in text.splitlines())

    def _told(self, record: Record) -> Iterator[tuple[str, str]]:
        match record:
            case SessionMeta():
                of = f"delegation {record.delegation_id} of session" if record.delegation_id else "session"
                at = f", within session {record.forked_from.get('session')}" if record.forked_from else ""
                yield f"began: {of} {record.session} in {record.project_dir}{at}, yagent {record.program_version}", record.task
            case TurnContext():
                yield f"model: {record.model} of {record.provider} ({record.api_format})", ""
            case ResponseItem():
                for part in record.message.parts:
                    yield self._part(record.message, part)
                if record.usage is not None:
                    yield f"tokens: {tokens(record.usage)}", ""
            case Compacted():
                yield f"shortened: {shortened(record)}", ""
            case AgentCheckpoint():
                yield f"stood at: {stood(record)}", ""
            case EventMessage():
                yield from self._event(record)

    def _part(self, message: Message, part: Part) -> tuple[str, str]:
        match part:
            case Text():
                return ("said:" if message.role == "assistant" else f"was told by the {message.role}:"), part.text
            case Reasoning():
                return "thought:", part.text or "(not shown by the provider)"
            case ToolCall():
                return f"called {part.name} ({part.id}):", self._clip(readable(part))
            case ToolResult():
                what = "an error" if part.is_error else "the result"
                instead = ", in the place of the one before" if part.call_id in self._replacing else ""
                return f"got {what} of {part.name} ({part.call_id}){instead}:", self._clip(part.text)

    def _event(self, event: EventMessage) -> Iterator[tuple[str, str]]:
        if event.is_terminal:
            yield f"ended: {ended(event)}", str(event.data.get("error", ""))
        elif event.name not in BOOKKEEPING:
            yield f"{event.name}:", self._clip(json.dumps(event.data, ensure_ascii=False))


def _clipped(text: str) -> str:
    """The beginning of a long text, and how much more there is."""
    shown = "\n".join(text[:CLIP_CHARACTERS].splitlines()[:CLIP_LINES])
    left = len(text) - len(shown)
    return (
        text if len(text) <= CLIP_CHARACTERS and text.count("\n") < CLIP_LINES else f"{shown}\n… {left} more characters; --full shows them"
    )
