"""Server-sent events: bytes in, events out (WHATWG HTML, section 9.2), tolerant of what model servers really send.

Bytes may be cut anywhere, also inside a character or between CR and LF. Lines end with LF, CRLF or CR. Lines that begin with a colon are
comments; a field may lack the space after its colon; blank data yields no event.
"""

from yagent.llm.engine import ModelGaveUp
from yagent.records import dataclass

MAX_EVENT_BYTES = 16 * 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its type ("" when the server gave none) and its data lines joined by LF."""

    event: str
    data: str


class SseParser:
    """Splits one response body."""

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._pieces: list[bytes] = []  # of the line that is not complete yet
        self._held = 0  # bytes of the pieces and of the data lines
        self._after_cr = False
        self._started = False
        self._event = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes. Raises `ModelGaveUp` when a single event outgrows the limit."""
        if b"\r" in chunk or self._after_cr:
            chunk = self._with_line_feeds(chunk)
        if b"\n" not in chunk:
            self._hold(chunk)
            return []
        first, *others = chunk.split(b"\n")
        rest = others.pop()
        self._pieces.append(first)
        events: list[SseEvent] = []
        self._line(b"".join(self._pieces), events)
        for line in others:
            self._line(line, events)
        self._pieces = []
        self._held = sum(map(len, self._data)) if self._data else 0
        self._hold(rest)
        return events

    def end(self) -> list[SseEvent]:
        """The event left over when a server closed without the final blank line."""
        events: list[SseEvent] = []
        self._line(b"".join(self._pieces), events)
        self._pieces = []
        self._line(b"", events)
        return events

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > self._max_event_bytes:
            raise ModelGaveUp(
                f"The server sent a single stream event of more than {self._max_event_bytes // 2**20} MiB; the reply cannot be used."
            )

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line:
            self._dispatch(events)
        else:
            name, _, value = line.partition(b":")
            if name == b"event":
                self._event = value.removeprefix(b" ").decode("utf-8", "replace")

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._data:
            data = b"\n".join(self._data).decode("utf-8", "replace")
            if data and not data.isspace():
                events.append(SseEvent(self._event, data))
            self._data = []
        self._event = ""
