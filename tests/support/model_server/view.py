"""A request seen without its dialect: what scripts decide by and what the checks compare."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

Dialect: TypeAlias = Literal["chat", "responses", "messages"]


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A tool call in the history the client sent."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class SeenResult:
    """A tool result in the history. `is_error` is None where the dialect cannot say."""

    call_id: str
    text: str
    is_error: bool | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the history."""

    role: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[SeenCall, ...] = ()
    results: tuple[SeenResult, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestView:
    """A whole request. `segments` are tools, system and messages in that order, each as canonical JSON without cache marks. `hint` is
    what it says beside the conversation; no entry and no segment has it."""

    dialect: Dialect
    body: Mapping[str, Any]
    system: str
    entries: tuple[Entry, ...]
    tools: Mapping[str, Mapping[str, Any]]
    segments: tuple[str, ...]
    hint: str = ""

    @property
    def identity(self) -> str:
        """Which agent asks: the first line of the system prompt."""
        return self.system.strip().split("\n", 1)[0].strip()

    @property
    def task(self) -> str:
        """What it was asked for: the first user message."""
        return next((entry.text for entry in self.entries if entry.role == "user" and entry.text), "")

    @property
    def conversation(self) -> tuple[str, str]:
        """What tells one conversation from another."""
        return self.system, self.task

    @property
    def is_rewritten(self) -> bool:
        """Whether the conversation begins with what came of a compression."""
        return self.task.startswith("[yagent] The conversation grew too long")

    @property
    def results(self) -> tuple[SeenResult, ...]:
        """The results that arrived since the model's last message, in the order sent."""
        found: list[SeenResult] = []
        for entry in reversed(self.entries):
            if entry.role == "assistant":
                break
            found[:0] = entry.results
        return tuple(found)

    @property
    def user_text(self) -> str:
        """The user's words since the model's last message."""
        words: list[str] = []
        for entry in reversed(self.entries):
            if entry.role == "assistant":
                break
            if entry.role == "user" and entry.text:
                words.insert(0, entry.text)
        return "\n".join(words)


def view_of(dialect: Dialect, body: Mapping[str, Any]) -> RequestView:
    """Read a parsed body. Malformed parts give empty fields; judging them is the rules' work."""
    reader = {"chat": _chat, "responses": _responses, "messages": _messages}[dialect]
    system, entries, tools, items = reader(body)
    head = [canonical(body.get("tools") or []), canonical(body.get("system") or body.get("instructions") or "")]
    segments = (*head, *(_TRANSIENT_IN_JSON.sub("", canonical(item)) for item in items))
    said = [text for entry in entries for text in (entry.text, *(result.text for result in entry.results))]
    hint = next((found[1] for text in said if (found := _TRANSIENT.search(text))), "")
    return RequestView(dialect, body, system, tuple(map(_without_hint, entries)), tools, segments, hint)


def _without_hint(entry: Entry) -> Entry:
    results = tuple(replace(result, text=_TRANSIENT.sub("", result.text)) for result in entry.results)
    return replace(entry, text=_TRANSIENT.sub("", entry.text), results=results)


_TRANSIENT = re.compile(r"\n\n<now>\n(.*?)\n</now>", re.DOTALL)
_TRANSIENT_IN_JSON = re.compile(r"\\n\\n<now>\\n.*?\\n</now>")


def canonical(value: Any) -> str:
    """JSON in the order sent, cache marks taken out."""
    return json.dumps(_without_marks(value), ensure_ascii=False, separators=(",", ":"))


def text_of(content: Any) -> str:
    """The words of a content field: a string, or blocks with `text`."""
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in objects(content) if "text" in block)


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; nothing when it is no list."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (item for item in value if isinstance(item, Mapping))


def _without_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_without_marks(inner) for inner in value]
    return value


_Read: TypeAlias = tuple[str, list[Entry], dict[str, Mapping[str, Any]], list[Any]]


def _chat(body: Mapping[str, Any]) -> _Read:
    system, entries = "", []
    for message in objects(body.get("messages")):
        role, text = str(message.get("role", "")), text_of(message.get("content"))
        if role in {"system", "developer"} and not system:
            system = text
        elif role == "tool":
            entries.append(Entry(role, results=(SeenResult(str(message.get("tool_call_id", "")), text),)))
        else:
            functions = [(str(item.get("id", "")), item.get("function") or {}) for item in objects(message.get("tool_calls"))]
            calls = tuple(SeenCall(key, str(item.get("name", "")), str(item.get("arguments", ""))) for key, item in functions)
            reasoning = str(message.get("reasoning_content") or message.get("reasoning") or "")
            entries.append(Entry(role, text, reasoning, calls))
    tools = {str(item["function"].get("name", "")): item["function"] for item in objects(body.get("tools")) if "function" in item}
    return system, entries, tools, list(body.get("messages") or [])


def _responses(body: Mapping[str, Any]) -> _Read:
    system, entries = str(body.get("instructions") or ""), []
    for item in objects(body.get("input")):
        kind, role = item.get("type", "message"), str(item.get("role", ""))
        if kind == "function_call":
            seen = SeenCall(str(item.get("call_id", "")), str(item.get("name", "")), str(item.get("arguments", "")))
            entries.append(Entry("assistant", calls=(seen,)))
        elif kind == "function_call_output":
            entries.append(Entry("tool", results=(SeenResult(str(item.get("call_id", "")), text_of(item.get("output"))),)))
        elif kind == "reasoning":
            entries.append(Entry("assistant", reasoning=text_of(item.get("summary"))))
        elif role in {"system", "developer"} and not system:
            system = text_of(item.get("content"))
        else:
            entries.append(Entry(role, text_of(item.get("content"))))
    tools = {str(item.get("name", "")): item for item in objects(body.get("tools"))}
    return system, entries, tools, list(body.get("input") or []) if not isinstance(body.get("input"), str) else []


def _messages(body: Mapping[str, Any]) -> _Read:
    entries = []
    for message in objects(body.get("messages")):
        content = message.get("content")
        blocks = list(objects([{"type": "text", "text": content}] if isinstance(content, str) else content))
        entries.append(
            Entry(
                str(message.get("role", "")),
                "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
                "".join(str(block.get("thinking", "")) for block in blocks if block.get("type") == "thinking"),
                tuple(
                    SeenCall(str(block.get("id", "")), str(block.get("name", "")), json.dumps(block.get("input"), ensure_ascii=False))
                    for block in blocks
                    if block.get("type") == "tool_use"
                ),
                tuple(
                    SeenResult(str(block.get("tool_use_id", "")), text_of(block.get("content")), bool(block.get("is_error")))
                    for block in blocks
                    if block.get("type") == "tool_result"
                ),
            )
        )
    tools = {str(item.get("name", "")): item for item in objects(body.get("tools"))}
    items = [part for message in objects(body.get("messages")) for part in _parts(message)]
    return text_of(body.get("system") or ""), entries, tools, items


def _parts(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A message by its blocks: this provider joins messages of one role and keeps its cache by block."""
    content = message.get("content")
    if not isinstance(content, list):
        yield message
        return
    for block in content:
        yield {**message, "content": [block]}
