"""A session as Markdown: a heading for each task and each delegation, every foreign word inside a fence that it cannot close."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from yagent.apps.cli.progress import one_line
from yagent.apps.cli.sessions.finding import Files, label
from yagent.apps.cli.sessions.words import BOOKKEEPING, ended, readable, shortened, tokens
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult
from yagent.protocol.visible import visible
from yagent.rollout.reader import Account, merged
from yagent.rollout.records import AgentCheckpoint, Compacted, Entry, EventMessage, ResponseItem, SessionMeta, TurnContext

TITLE_WIDTH = 80
_REQUEST = ("\n\n<request>\n", "\n</request>")
_BACKTICKS = re.compile(r"`+")


def as_markdown(files: Files) -> Iterator[str]:
    """The document in pieces: the Director's tasks, then every delegation, linked both ways."""
    account = Account()
    metas = {path: meta for path in files if (meta := _meta(path)) is not None}
    links = _Links(metas)
    yield from _head(next(iter(metas.values()), None))
    for path in files:
        yield from _Chapter(path, links).pieces(account)
    if account.count:
        yield "\n## What could not be read\n\n"
        yield from (f"- {code(text)}\n" for text in account.skipped)
        yield f"- and {account.count - len(account.skipped)} more\n" if account.count > len(account.skipped) else ""


def fenced(text: str, language: str = "text") -> str:
    """A block that holds `text` and ends where we end it, whatever the text contains."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{visible(text).removesuffix(chr(10))}\n{fence}\n\n"


def code(text: str, width: int = 400) -> str:
    """One line of foreign text as a code span."""
    shown = one_line(text, width) or " "
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"


class _Links:
    """Where each delegation stands in the document, and which call began it."""

    def __init__(self, metas: Mapping[Path, SessionMeta]) -> None:
        self._anchors = {path: f"agent-{number}" for number, path in enumerate(metas)}
        self._metas = metas

    def meta(self, path: Path) -> SessionMeta | None:
        """Whose file it is."""
        return self._metas.get(path)

    def anchor(self, path: Path) -> str:
        """The name of a file's chapter."""
        return self._anchors.get(path, "agent")

    def begun_by(self, parent: Path, call: ToolCall) -> str:
        """Links to the chapters of the delegation that a call began, "" for any other call."""
        above = self._metas.get(parent)
        wanted = (above.delegation_id if above else "", call.id)
        chapters = [
            f"[{meta.name or label(path)}](#{self._anchors[path]})"
            for path, meta in self._metas.items()
            if meta.delegation_id and (meta.parent_delegation_id, meta.call_id or meta.delegation_id) == wanted
        ]
        return f" → {', '.join(chapters)}" if chapters else ""

    def parent(self, meta: SessionMeta) -> str:
        """A link to the chapter of whoever asked for a delegation."""
        for path, each in self._metas.items():
            if each.delegation_id == meta.parent_delegation_id:
                return f"[{each.name or label(path)}](#{self._anchors[path]})"
        return "an agent that is not part of this document"


class _Chapter:
    """One file."""

    def __init__(self, path: Path, links: _Links) -> None:
        self._path = path
        self._links = links
        self._who = label(path)
        self._tasks = 0
        self._between_tasks = True

    def pieces(self, account: Account) -> Iterator[str]:
        """Everything in it."""
        for _, entry in merged([self._path], account):
            yield from self._entry(entry)

    def _entry(self, entry: Entry) -> Iterator[str]:
        match entry.record:
            case SessionMeta():
                yield from self._beginning(entry.record, entry.timestamp)
            case ResponseItem():
                yield from self._message(entry.record, entry.timestamp)
            case TurnContext():
                yield f"*Model: {code(entry.record.model)} of {code(entry.record.provider)}.*\n\n"
            case Compacted():
                yield f"*Shortened: {shortened(entry.record)}.*\n\n"
            case EventMessage() if entry.record.is_terminal:
                yield from self._end(entry.record)
            case EventMessage() if entry.record.name not in BOOKKEEPING:
                yield f"*{code(entry.record.name)}: {code(json.dumps(dict(entry.record.data), ensure_ascii=False))}*\n\n"
            case EventMessage() | AgentCheckpoint():
                return

    def _beginning(self, meta: SessionMeta, timestamp: str) -> Iterator[str]:
        yield f'<a id="{self._links.anchor(self._path)}"></a>\n\n'
        if not meta.delegation_id:
            yield f"Began {_moment(timestamp)}.\n\n"
            return
        again = ", continued" if meta.continues else ""
        yield f"## {code(meta.name or self._who)}{again}\n\n"
        yield f"Began {_moment(timestamp)}, asked for by {self._links.parent(meta)}:\n\n{fenced(meta.task)}"

    def _message(self, item: ResponseItem, timestamp: str) -> Iterator[str]:
        message = item.message
        if message.role == "user" and self._who == "director" and self._begins_task(message.text):
            yield from self._task(message.text, timestamp)
        else:
            for part in message.parts:
                yield from self._part(message, part, timestamp)
        if item.usage is not None:
            yield f"*Tokens: {tokens(item.usage)}.*\n\n"

    def _begins_task(self, words: str) -> bool:
        """Whether the user said this, and not the program."""
        return self._between_tasks or _REQUEST[0] in words

    def _task(self, text: str, timestamp: str) -> Iterator[str]:
        self._between_tasks = False
        self._tasks += 1
        context, wrapped, words = text.partition(_REQUEST[0])
        words = words.removesuffix(_REQUEST[1]) if wrapped else text
        yield f"## Task {self._tasks}: {code(words, TITLE_WIDTH)}\n\n{_moment(timestamp)}\n\n{fenced(words)}"
        if wrapped:
            yield _folded("What was sent with it", context)

    def _part(self, message: Message, part: Part, timestamp: str) -> Iterator[str]:
        at = _moment(timestamp)
        match part:
            case Text():
                says = "said" if message.role == "assistant" else f"was told by the {message.role}"
                yield f"**{self._who}** {says}, {at}:\n\n{fenced(part.text, 'markdown')}"
            case Reasoning():
                yield _folded(f"{self._who} thought", part.text or "(not shown by the provider)")
            case ToolCall():
                link = self._links.begun_by(self._path, part)
                yield f"**{self._who}** called {code(part.name)} ({code(part.id)}), {at}{link}:\n\n{fenced(readable(part))}"
            case ToolResult():
                what = "An error" if part.is_error else "The result"
                yield f"{what} of {code(part.name)} ({code(part.call_id)}), {at}:\n\n{fenced(part.text)}"

    def _end(self, event: EventMessage) -> Iterator[str]:
        self._between_tasks = True
        yield f"*Ended: {code(ended(event))}.*\n\n"
        if event.data.get("error"):
            yield fenced(str(event.data["error"]))


def _head(meta: SessionMeta | None) -> Iterator[str]:
    """The title, and what holds for the whole session."""
    if meta is None:
        yield "# A session whose beginning cannot be read\n\n"
        return
    yield f"# Session {code(meta.session)}\n\n- Directory: {code(meta.project_dir)}\n- Program: yagent {code(meta.program_version)}\n"
    if meta.forked_from:
        session, ordinal = (code(str(meta.forked_from.get(name, "?"))) for name in ("session", "ordinal"))
        yield f"- Begins within session {session}, after its record {ordinal}\n"
    yield "\n"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{fenced(text)}</details>\n\n"


def _moment(timestamp: str) -> str:
    """A recorded time, the same for whoever reads it: universal time, in seconds."""
    plain = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:\+00:00|Z)", timestamp)
    return f"{plain[1]} {plain[2]} UTC" if plain else code(timestamp)


def _meta(path: Path) -> SessionMeta | None:
    """The first record of a file that says whose it is."""
    return next((entry.record for _, entry in merged([path], Account()) if isinstance(entry.record, SessionMeta)), None)
