"""Keeping what a program prints within bounds: beginning and end in memory, the whole on disk up to a limit."""

from __future__ import annotations

import io
from collections import deque
from pathlib import Path

from yagent.patterns import pattern

_CONTROL = pattern(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
_CUT_SEARCH = 400


def readable(data: bytes) -> str:
    """Output as a terminal would show it: bytes that are no UTF-8 as \ufffd, no escape sequences, overwritten beginnings of lines gone."""
    text = _CONTROL.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n"))
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


class CappedLog:
    """A file that takes bytes until it is full; opened at the first byte. What does not fit, or cannot be written, is counted."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.size = 0
        self.lost = 0
        self._limit = limit
        self._file: io.FileIO | None = None

    def add(self, data: bytes) -> None:
        """Append. Into the system's cache: a disk slower than the program only slows the program down."""
        piece = data[: max(0, self._limit - self.size)]
        if piece and not self.lost:
            try:
                if self._file is None:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    self._file = io.FileIO(self.path, "wb")
                self.size += self._file.write(piece) or 0
            except OSError:
                piece = b""
        else:
            piece = b""
        self.lost += len(data) - len(piece)

    def close(self) -> None:
        """No more will come."""
        if self._file is not None:
            self._file.close()
            self._file = None


class HeadAndTail:
    """The first and the last bytes of a stream (half of `kept` each); once bytes fall out between, everything goes to `log` as well."""

    def __init__(self, kept: int, log: CappedLog) -> None:
        self.total = 0
        self.log = log
        self._half = kept // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._logging = False

    def add(self, data: bytes) -> None:
        """A sink."""
        self.total += len(data)
        if self._logging:
            self.log.add(data)
        if len(self._head) < self._half:
            room = self._half - len(self._head)
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            self._shorten()

    @property
    def omitted(self) -> int:
        """How many bytes are in neither end."""
        return self.total - len(self._head) - self._tail_size

    def text(self) -> str:
        """Both ends, with a line between them that says how much is left out and where it is."""
        head, tail = bytes(self._head), b"".join(self._tail)
        if not self.omitted:
            return readable(head + tail)
        head, tail = _cut_after_line(head), _cut_before_line(tail)
        where = f"; the whole output is in {self.log.path}" if self.log.size else ""
        if self.log.size and self.log.lost:
            where = f"; its first {self.log.size} bytes are in {self.log.path}"
        gap = f"… [{self.total - len(head) - len(tail)} of {self.total} bytes left out here{where}] …"
        return f"{readable(head).rstrip()}\n{gap}\n{readable(tail)}"

    def _shorten(self) -> None:
        if self._tail_size > self._half and not self._logging:
            self._logging = True
            self.log.add(bytes(self._head) + b"".join(self._tail))
        while self._tail_size > self._half:
            excess = self._tail_size - self._half
            first = self._tail.popleft()
            self._tail_size -= min(excess, len(first))
            if len(first) > excess:
                self._tail.appendleft(first[excess:])


def _cut_after_line(head: bytes) -> bytes:
    at = head.rfind(b"\n", max(0, len(head) - _CUT_SEARCH))
    return head if at < 0 else head[: at + 1]


def _cut_before_line(tail: bytes) -> bytes:
    at = tail.find(b"\n", 0, _CUT_SEARCH)
    return tail if at < 0 else tail[at + 1 :]
