"""Reading search results as they come (ripgrep's --json), and stopping when there are enough."""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import field
from typing import Any

from yagent.patterns import pattern
from yagent.records import dataclass

LINE_WINDOW = 300
RECORD_LIMIT = 16_000_000

_LONG_RECORD = pattern(rb'^\{"type":"match","data":\{"path":(\{[^}]*\})')


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One line. `path` is relative to the result's base (undecodable bytes as lone surrogates); `line` 1-based, None when unknown;
    `column` 1-based in characters, 0 for a line of context. A long `text` is a window around the match, with … where it is cut.
    """

    path: str
    line: int | None
    column: int
    text: str = field(repr=False)
    is_match: bool = True


class MatchReader:
    """Takes the bytes of a search and keeps at most `max_results` matches and `max_characters` of text; then calls `when_enough`.

    `searched` is how many files were searched, once the search has come to its end.
    """

    def __init__(self, max_results: int, max_characters: int) -> None:
        self.hits: list[SearchHit] = []
        self.matches: Counter[str] = Counter()
        self.oversized: list[str] = []
        self.binary: list[str] = []
        self.searched: int | None = None
        self.enough: str | None = None
        self._max_results = max_results
        self._room = max_characters
        self.when_enough: Callable[[], None] | None = None
        self._pending = bytearray()
        self._skipping = False

    def add(self, data: bytes) -> None:
        """A sink."""
        if self.enough is not None:
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._finish(line)
        self._extend(rest)

    def _finish(self, end: bytes) -> None:
        self._extend(end)
        record, self._pending = self._pending, bytearray()
        if self._skipping:
            self._skipping = False
        elif record and self.enough is None:
            self._take(json.loads(record))

    def _extend(self, piece: bytes) -> None:
        if self._skipping:
            return
        self._pending += piece
        if len(self._pending) > RECORD_LIMIT:
            match = _LONG_RECORD.match(self._pending)
            if match:
                path = _path(json.loads(match.group(1)))
                self.oversized.append(path)
                self.matches[path] += 1
                self.hits.append(SearchHit(path, None, 1, "(a match in a line too long to show)"))
            self._pending = bytearray()
            self._skipping = True

    def _take(self, record: dict[str, Any]) -> None:
        kind, data = record["type"], record["data"]
        if kind in ("match", "context"):
            self._hit(kind == "match", data)
        elif kind == "end" and data.get("binary_offset") is not None:
            self.binary.append(_path(data["path"]))
        elif kind == "summary":
            self.searched = data["stats"]["searches"]

    def _hit(self, is_match: bool, data: dict[str, Any]) -> None:
        path = _path(data["path"])
        text, column = _window(_bytes(data["lines"]), data["submatches"][0]["start"] if is_match and data["submatches"] else 0)
        self._room -= len(text) + len(path)
        if is_match and sum(self.matches.values()) >= self._max_results:
            self._stop(f"stopped after {self._max_results} matches, there are more: narrow pattern, path or glob")
            return
        if self._room < 0 and self.hits:
            self._stop(f"stopped after {sum(self.matches.values())} matches because the text is long, there may be more: narrow the search")
            return
        self.matches[path] += is_match
        self.hits.append(SearchHit(path, data["line_number"], column if is_match else 0, text, is_match))

    def _stop(self, reason: str) -> None:
        self.enough = reason
        if self.when_enough is not None:
            self.when_enough()


def _bytes(value: dict[str, str]) -> bytes:
    return value["text"].encode("utf-8", "surrogateescape") if "text" in value else base64.b64decode(value["bytes"])


def _path(value: dict[str, str]) -> str:
    return os.fsdecode(_bytes(value)).removeprefix("./")


def _window(line: bytes, start: int) -> tuple[str, int]:
    """What to show of a line whose match starts at a byte, and the match's column."""
    body = line.rstrip(b"\r\n")
    column = len(body[:start].decode("utf-8", "replace")) + 1
    if len(body) <= LINE_WINDOW:
        return body.decode("utf-8", "replace"), column
    left = max(0, min(start - LINE_WINDOW // 3, len(body) - LINE_WINDOW))
    right = min(len(body), left + LINE_WINDOW)
    shown = body[left:right].decode("utf-8", "ignore")
    return f"{'…' if left else ''}{shown}{'…' if right < len(body) else ''} [long line: {len(body)} bytes]", column
