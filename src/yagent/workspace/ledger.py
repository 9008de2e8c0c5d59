"""What an agent has read of which file, so that a change by someone else in the meantime is noticed and shown."""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections import OrderedDict
from dataclasses import field, replace
from pathlib import Path

from yagent.records import dataclass
from yagent.workspace.known_lines import TRACKED_LINES, Ranges, carried, count_lines, joined, lines_of, missing

PACKED_FILE_LIMIT = 1_000_000


def digest_of(content: bytes) -> str:
    """The identity of a file's content: SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as an agent last read or wrote it, and which of its lines it has seen; the content is kept only while memory allows."""

    digest: str
    lines: Ranges
    packed: bytes | None = field(default=None, repr=False)

    def content(self) -> bytes | None:
        """The bytes that were seen; None when they were not kept."""
        return None if self.packed is None else zlib.decompress(self.packed)


class FileLedger:
    """One agent's memory of files, by resolved path. Digests are kept for the whole run, contents (compressed) within `memory_limit` bytes.

    Safe to use from several threads.
    """

    def __init__(self, *, memory_limit: int = 4_000_000) -> None:
        self._memory_limit = memory_limit
        self._seen: OrderedDict[str, Seen] = OrderedDict()
        self._packed_size = 0
        self._lock = threading.Lock()

    def record(self, path: Path, content: bytes, *, lines: Ranges | None = None) -> str:
        """The agent now knows the file to hold `content` and has seen these lines of it (None: all); its digest."""
        digest = digest_of(content)
        shown = _all_lines(content) if lines is None else lines
        with self._lock:
            known = self._seen.get(str(path))
            if known is not None and known.digest == digest:
                self._seen[str(path)] = replace(known, lines=joined([*known.lines, *shown]))
                self._seen.move_to_end(str(path))
                return digest
            packed = zlib.compress(content, 1) if len(content) <= PACKED_FILE_LIMIT else None
            self._drop(str(path))
            self._seen[str(path)] = Seen(digest, joined(shown), packed)
            self._packed_size += len(packed or b"")
            self._shrink()
        return digest

    def changed(self, path: Path, before: bytes, after: bytes) -> str:
        """The file was `before` and is `after`, and the agent wrote, or was shown, all that is new in it; the digest of `after`."""
        seen = self.seen(path)
        known = seen.lines if seen is not None and seen.digest == digest_of(before) else ()
        total = count_lines(before)
        if not missing(known, total):
            return self.record(path, after)
        if total > TRACKED_LINES:
            return self.record(path, after, lines=())
        old, new = lines_of(before), lines_of(after)
        return self.record(path, after, lines=() if old is None or new is None else carried(known, old, new))

    def seen(self, path: Path) -> Seen | None:
        """What the agent knows of the file; None when it never read it."""
        with self._lock:
            return self._seen.get(str(path))

    def forget(self, path: Path) -> None:
        """The file is gone, or no longer the one that was read."""
        with self._lock:
            self._drop(str(path))

    def moved(self, source: Path, target: Path) -> None:
        """A file has another name now; what is known of it holds."""
        with self._lock:
            known = self._seen.pop(str(source), None)
            if known is not None:
                self._drop(str(target))
                self._seen[str(target)] = known

    def _drop(self, key: str) -> None:
        known = self._seen.pop(key, None)
        if known is not None:
            self._packed_size -= len(known.packed or b"")

    def _shrink(self) -> None:
        for key, known in list(self._seen.items()):
            if self._packed_size <= self._memory_limit:
                return
            if known.packed is not None:
                self._packed_size -= len(known.packed)
                self._seen[key] = replace(known, packed=None)


def _all_lines(content: bytes) -> Ranges:
    return ((1, count_lines(content)),)
