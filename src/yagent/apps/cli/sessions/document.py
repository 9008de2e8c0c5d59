"""A session as one JSON document (its fields are described in docs/rollout-and-resume.md)."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from yagent._version import VERSION
from yagent.apps.cli.sessions.finding import Files, label
from yagent.rollout.reader import Account, merged
from yagent.rollout.records import Entry, EventMessage, ResponseItem, SessionMeta, message_to_json, to_payload

FORMAT_VERSION = 1
META = ("agent", "name", "delegation_id", "parent_delegation_id", "call_id", "task", "continues")


def as_json(files: Files) -> Iterator[str]:
    """The document in pieces, each record on a line of its own. What is not a message is held until the messages are written."""
    document = _Document()
    yield f'{{\n"format": "yagent-session",\n"version": {FORMAT_VERSION},\n"exported_by": {_text(f"yagent {VERSION}")},\n'
    yield '"messages": ['
    yield from _lines(document.messages(files))
    yield '],\n"events": ['
    yield from _lines(document.events)
    yield '],\n"agents": ['
    yield from _lines(_text(each) for each in document.agents.values())
    yield f'],\n"session": {_text(document.session)},\n'
    yield f'"unreadable": {_text({"count": document.account.count, "lines": document.account.skipped})}\n}}\n'


class _Document:
    """What there is beside the messages, known when they have been read."""

    def __init__(self) -> None:
        self.account = Account()
        self.agents: dict[str, dict[str, Any]] = {}
        self.events: list[str] = []
        self.session: dict[str, Any] = {}

    def messages(self, files: Iterable[Path]) -> Iterator[str]:
        """Every message in the order of the session, as JSON; gathers the rest on the way."""
        for path, entry in merged([*files], self.account):
            name, record = label(path), entry.record
            place = {"ordinal": entry.ordinal, "timestamp": entry.timestamp, "agent": name}
            agent = self.agents.setdefault(name, _unknown_agent(path))
            if isinstance(record, ResponseItem):
                usage = None if record.usage is None else asdict(record.usage)
                yield _text({**place, **message_to_json(record.message), "usage": usage})
            elif isinstance(record, SessionMeta):
                self._began(agent, entry, record)
            else:
                if isinstance(record, EventMessage) and record.is_terminal:
                    agent |= {"ended": entry.timestamp, "stop_reason": record.data.get("stop_reason"), "status": record.data.get("status")}
                told = (record.name, record.data) if isinstance(record, EventMessage) else (record.kind, to_payload(record))
                self.events.append(_text({**place, "name": told[0], "data": told[1]}))

    def _began(self, agent: dict[str, Any], entry: Entry, meta: SessionMeta) -> None:
        agent |= {"started": entry.timestamp, **{name: getattr(meta, name) for name in META}}
        self.session = self.session or {
            "id": meta.session,
            "project_dir": meta.project_dir,
            "program_version": meta.program_version,
            "started": entry.timestamp,
            "git": meta.git,
            "forked_from": meta.forked_from or None,
        }


def _unknown_agent(path: Path) -> dict[str, Any]:
    return {"label": label(path), "file": path.name, "started": None, "ended": None, "stop_reason": None, "status": None}


def _lines(items: Iterable[str]) -> Iterator[str]:
    before = "\n"
    for item in items:
        yield f"{before}{item}"
        before = ",\n"
    yield "\n"


def _text(value: Any) -> str:
    """ASCII, so that whatever the text holds is plain to see and no byte is lost."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} in a record")
