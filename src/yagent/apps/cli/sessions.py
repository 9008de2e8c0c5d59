"""`yagent sessions list` and `show`: what was recorded, for people. They read only, and need no provider."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar, TypeAlias

import typer

from yagent.apps.cli.current_directory import current_directory
from yagent.apps.cli.progress import one_line, write_to_standard_error
from yagent.apps.cli.standard_output import OutputClosed, StandardOutput
from yagent.errors import YagentError
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from yagent.protocol.stop import PIPE_CLOSED, USAGE
from yagent.protocol.visible import visible
from yagent.records import dataclass
from yagent.rollout.index import SessionSummary, list_sessions
from yagent.rollout.reader import Account, merged, session_files
from yagent.rollout.records import Entry, EventMessage, Record, ResponseItem, SessionMeta, TurnContext
from yagent.runtime.paths import DataHome, project_id
from yagent.session.build import user_home

PROMPT_WIDTH = 80
CLIP_CHARACTERS = 1000
CLIP_LINES = 12
UNFINISHED = "unfinished"
ENDS: Mapping[str, str] = {
    "agent_exit": "answered",
    "plain_text": "answered",
    "cancelled": "stopped",
    "paused": "paused",
    "max_steps": "step limit",
    "cost_limit": "cost limit",
    "time_limit": "time limit",
    "total_timeout": "time limit",
    "idle_timeout": "failed: idle",
    "llm_error": "failed: model",
    "circuit_breaker_open": "failed: model unavailable",
    "context_overflow": "failed: context full",
    "loop_detected": "failed: in a loop",
    "panic": "failed: defect",
}

Files: TypeAlias = Sequence[Path]


class NoSuchSession(YagentError):
    """The id names no recorded session, or more than one."""

    exit_code: ClassVar[int] = USAGE


class UnreadableRecords(YagentError):
    """The records cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Options of `sessions list`."""

    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many sessions at most.")] = 20
    all: Annotated[bool, typer.Option("--all", help="Those of all directories, not only of this one.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    """Options of `sessions show`."""

    session: Annotated[str, typer.Argument(metavar="ID", help="The session's id, or its first characters.")]
    agent: Annotated[str | None, typer.Option("--agent", metavar="ROLE", help="Only what agents of this role did.")] = None
    full: Annotated[bool, typer.Option("--full", help="Show arguments and results whole.")] = False


def list_command(context: typer.Context, options: ListOptions) -> None:
    """List the sessions recorded for this directory, newest first."""
    account = Account()
    with _records() as home:
        found = _found(home, options.limit, account, everywhere=options.all)
    for text in account.skipped:
        write_to_standard_error(f"yagent: {visible(text)}")
    if not found:
        where = "" if options.all else f" for {visible(str(current_directory()))}"
        write_to_standard_error(f"yagent: no session is recorded{where}.")
    rows = [_row(each, with_place=options.all) for each in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    _print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _found(home: DataHome, limit: int, account: Account, *, everywhere: bool) -> list[SessionSummary]:
    """The newest sessions, of this directory or of all."""
    here = home.rollout_dir(project_id(str(current_directory())))
    if not everywhere:
        return list_sessions(here, limit, account)
    places = sorted(here.parent.iterdir()) if here.parent.is_dir() else []
    found = [summary for place in places for summary in list_sessions(place, limit, account)]
    return sorted(found, key=lambda summary: summary.started, reverse=True)[:limit]


def _row(summary: SessionSummary, *, with_place: bool) -> list[str]:
    """The cells of one session, as a screen may show them."""
    place = [summary.project_dir] if with_place else []
    cells = [summary.session, _moment(summary.started), how_it_ended(summary), *place]
    return [*map(visible, cells), one_line(summary.prompt, PROMPT_WIDTH)]


def how_it_ended(summary: SessionSummary) -> str:
    """The end of a session in words."""
    if not summary.stop_reason:
        return UNFINISHED
    words = ENDS.get(summary.stop_reason, f"failed: {summary.stop_reason}")
    if words == "answered" and summary.status in ("partial", "error"):
        words = "answered in part" if summary.status == "partial" else "failed: gave up"
    return f"{words}, {summary.denied} denied" if summary.denied else words


def show_command(context: typer.Context, options: ShowOptions) -> None:
    """Show what one session recorded, in the order in which it happened."""
    with _records() as home:
        files = _named_agents(_session(home, options.session), options.agent)
        _print(visible(line) for line in _Story(full=options.full).lines(files))


@contextmanager
def _records() -> Iterator[DataHome]:
    """The data directory, for reading: one that cannot be written may still be read."""
    home = DataHome.from_environment(os.environ, user_home(os.environ))
    if home.root != home.asked:
        shutil.rmtree(home.root, ignore_errors=True)
    try:
        yield replace(home, root=home.asked)
    except OSError as failure:
        where = visible(str(failure.filename or home.asked))
        raise UnreadableRecords(f"The records cannot be read: {failure.strerror} ({where}).") from failure


def _session(home: DataHome, prefix: str) -> Files:
    """The files of the one session whose id begins so: of this directory, else of any."""
    here = home.rollout_dir(project_id(str(current_directory())))
    found = session_files(here, prefix) if here.is_dir() else {}
    if not found and here.parent.is_dir():
        elsewhere = [session_files(directory, prefix) for directory in sorted(here.parent.iterdir()) if directory.is_dir()]
        found = {session: files for sessions in elsewhere for session, files in sessions.items()}
        found = {prefix: found[prefix]} if prefix in found else found
    if not found:
        raise NoSuchSession(f"No recorded session has an id that begins with {prefix!r}. See: yagent sessions list")
    if len(found) > 1:
        raise NoSuchSession(f"{len(found)} sessions have an id that begins with {prefix!r}: {', '.join(found)}. Give more of it.")
    return next(iter(found.values()))


def _named_agents(files: Files, role: str | None) -> Files:
    """The files of one role's agents; all when no role is given."""
    if role is None:
        return files
    chosen = [path for path in files if _role(path) == role.lower()]
    if not chosen:
        known = ", ".join(dict.fromkeys(map(_role, files)))
        raise NoSuchSession(f"No agent of the role {role!r} worked in this session. Roles: {known}.")
    return chosen


def _role(path: Path) -> str:
    return re.sub(r"-\d+$", "", _label(path))


def _label(path: Path) -> str:
    """Who wrote a file, from its name: delegations of one role in one second are told apart by a number."""
    return path.stem.split("_", 2)[2] if path.stem.count("_") > 1 else "director"


def _print(lines: Iterable[str]) -> None:
    out = StandardOutput()
    try:
        for line in lines:
            out.write_now(f"{line}\n")
    except OutputClosed:
        raise SystemExit(PIPE_CLOSED) from None


class _Story:
    """Turns entries into lines: who, when, what. Text of several lines is indented below its head."""

    def __init__(self, *, full: bool) -> None:
        self._clip: Callable[[str], str] = str if full else _clipped
        self._open: dict[Path, dict[str, str]] = {}  # calls without a result: id to name
        self._unsealed: dict[Path, None] = {}

    def lines(self, files: Files) -> Iterator[str]:
        """Everything the files hold, and at the end what could not be read."""
        account = Account()
        for path, entry in merged(files, account):
            self._follow(path, entry.record)
            yield from self._entry(_label(path), entry)
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
                for result in record.message.results:
                    known.pop(result.call_id, None)

    def _torn(self, path: Path) -> Iterator[str]:
        """What a reader has to know of a run whose end was never recorded."""
        yield f"{_label(path)} has no terminal record: the process ended before the run did, or the run still goes on."
        for call, name in self._open.get(path, {}).items():
            yield f"  {name} ({call}) has no known outcome: what it does may have been done, in part or whole."

    def _entry(self, who: str, entry: Entry) -> Iterator[str]:
        head = f"{_moment(entry.timestamp, seconds=True)} {who}"
        for what, text in self._told(entry.record):
            yield f"{head} {what}".rstrip()
            yield from (f"    {line}" for line in text.splitlines())

    def _told(self, record: Record) -> Iterator[tuple[str, str]]:
        match record:
            case SessionMeta():
                of = f"delegation {record.delegation_id} of session" if record.delegation_id else "session"
                yield f"began: {of} {record.session} in {record.project_dir}, yagent {record.program_version}", record.task
            case TurnContext():
                yield f"model: {record.model} of {record.provider} ({record.api_format})", ""
            case ResponseItem():
                for part in record.message.parts:
                    yield self._part(record.message, part)
                if record.usage is not None:
                    yield f"tokens: {_tokens(record.usage)}", ""
            case EventMessage():
                yield from self._event(record)

    def _part(self, message: Message, part: Part) -> tuple[str, str]:
        match part:
            case Text():
                return ("said:" if message.role == "assistant" else f"was told by the {message.role}:"), part.text
            case Reasoning():
                return "thought:", part.text or "(not shown by the provider)"
            case ToolCall():
                return f"called {part.name} ({part.id}):", self._clip(_readable(part))
            case ToolResult():
                return f"got {'an error' if part.is_error else 'the result'} of {part.name} ({part.call_id}):", self._clip(part.text)

    def _event(self, event: EventMessage) -> Iterator[tuple[str, str]]:
        if event.is_terminal:
            known = event.data
            ended = [f"ended: {known.get('stop_reason', 'no reason recorded')}"]
            ended += [str(known["status"])] if "status" in known else []
            ended += [f"{known['steps']} steps"] if "steps" in known else []
            ended += [f"{known['denied']} denied because nobody could be asked"] if "denied" in known else []
            yield ", ".join(ended), str(known.get("error", ""))
        elif event.name != "agent_activity":  # the calls themselves say as much
            yield f"{event.name}:", self._clip(json.dumps(event.data, ensure_ascii=False))


def _readable(call: ToolCall) -> str:
    """Arguments one to a line, texts as they are; what is not one JSON object exactly as it was sent."""
    if call.malformed is not None:
        return f"malformed: {call.malformed}"
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments
    if not isinstance(arguments, dict):
        return call.arguments
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()
    )


def _clipped(text: str) -> str:
    """The beginning of a long text, and how much more there is."""
    shown = "\n".join(text[:CLIP_CHARACTERS].splitlines()[:CLIP_LINES])
    left = len(text) - len(shown)
    return (
        text if len(text) <= CLIP_CHARACTERS and text.count("\n") < CLIP_LINES else f"{shown}\n… {left} more characters; --full shows them"
    )


def _tokens(usage: Usage) -> str:
    """Only what the provider reported."""
    counts = (
        ("in", usage.total_input),
        ("from cache", usage.cached),
        ("to cache", usage.cache_written),
        ("out", usage.output),
        ("of it reasoning", usage.reasoning),
    )
    return ", ".join(f"{count} {name}" for name, count in counts if count is not None) or "not reported"


def _moment(timestamp: str, *, seconds: bool = False) -> str:
    """A recorded time in the time zone of whoever reads it; as recorded when it is none."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():{'%H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}}"
    except (ValueError, OverflowError):
        return timestamp
