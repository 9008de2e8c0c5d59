"""Searching without ripgrep: slower, but with the same output, so that the same code reads both.

Runs in a process of its own, because a hostile pattern can keep Python busy for ever. Patterns are Python's regular expressions.
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

from yagent.records import dataclass
from yagent.workspace.ignore import IgnoreRules, Rule, rule_of

_SNIFFED = 65_536


@dataclass(frozen=True, slots=True)
class Options:
    """What to search, in the directory the process is started in; `path` is relative to it. Without a pattern, files are listed.

    `in_order`: in the order of their paths, which our own search keeps always. `binary_only`: of the files those are listed that a search
    passes over or leaves in the middle.
    """

    path: str
    pattern: str | None = None
    globs: tuple[str, ...] = ()
    everything: bool = False
    hidden: bool = False
    fixed_text: bool = False
    ignore_case: bool = False
    context_lines: int = 0
    in_order: bool = True
    max_count: int = 1000
    binary_only: bool = False


def main(options_text: str) -> int:
    """Search and print; the exit code says as ripgrep's whether anything was found (0), nothing (1), or there was an error (2)."""
    values = json.loads(options_text)
    options = Options(**{**values, "globs": tuple(values["globs"])})
    if options.pattern is None:
        for path in files(options):
            if options.binary_only and not _is_binary(path):
                continue
            sys.stdout.buffer.write(os.fsencode(path) + b"\0")
        return 0
    try:
        pattern = re.compile(
            re.escape(options.pattern) if options.fixed_text else options.pattern, re.IGNORECASE if options.ignore_case else 0
        )
    except (re.error, RecursionError, OverflowError) as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    found = failed = False
    searched = 0
    for path in files(options):
        try:
            found |= _search_file(path, pattern, options)
            searched += 1
        except OSError as error:
            failed = True
            sys.stderr.write(f"rg: {path}: {error.strerror}\n")
    _print({"type": "summary", "data": {"stats": {"searches": searched}}})
    return 2 if failed and not found else 0 if found else 1


def files(options: Options) -> Iterator[str]:
    """Regular files below the path, in the order of their paths, without what is ignored or hidden."""
    if not os.path.isdir(options.path):
        if _is_regular(options.path):
            yield options.path
        return
    rules = [rule for rule in map(rule_of, options.globs) if rule is not None]
    start = os.path.realpath(options.path)
    yield from _walk(options.path, start, IgnoreRules(()) if options.everything else IgnoreRules.at(start), (options, rules))


def _walk(shown: str, real: str, ignores: IgnoreRules, how: tuple[Options, list[Rule]]) -> Iterator[str]:
    options, globs = how
    try:
        entries = sorted(os.scandir(shown), key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        sys.stderr.write(f"rg: {shown}: {error.strerror}\n")
        return
    for entry in entries:
        directory, path = entry.is_dir(follow_symlinks=False), os.path.join(real, entry.name)
        if entry.name == ".git" or (entry.name.startswith(".") and not options.hidden):
            continue
        wanted = _wanted(os.path.relpath(entry.path, options.path), globs, directory)
        if wanted is False or (wanted is None and ignores.ignores(path, is_directory=directory)):
            continue
        if directory:
            inner = ignores if options.everything else ignores.entering(path)
            yield from _walk(entry.path, path, inner, how)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _wanted(relative: str, globs: list[Rule], directory: bool) -> bool | None:
    """What the globs say of an entry: in, out, or nothing. Directories are only kept out by negated globs."""
    for rule in reversed(globs):
        if (directory or not rule.directories_only) and rule.pattern.match(relative):
            return not rule.negated
    return None if directory or all(rule.negated for rule in globs) else False


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _is_binary(path: str) -> bool:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            head = file.read(_SNIFFED)
            if head.startswith((b"\xff\xfe", b"\xfe\xff")):
                return "\0" in head.decode("utf-16", "replace")
            return b"\0" in head or any(b"\0" in piece for piece in iter(lambda: file.read(_SNIFFED), b""))
    except OSError:
        return False


def _search_file(path: str, pattern: re.Pattern[str], options: Options) -> bool:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        head = file.read(_SNIFFED)
        file.seek(0)
        wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
        if b"\0" in head and not wide:
            return False
        return _Printer(path, pattern, options).run(_wide_lines(file) if wide else file)


def _wide_lines(file: BinaryIO) -> Iterator[bytes]:
    return (line.encode("utf-8", "surrogatepass") for line in file.read().decode("utf-16", "replace").splitlines(keepends=True))


class _Printer:
    """Prints what ripgrep's --json prints for one file."""

    def __init__(self, path: str, pattern: re.Pattern[str], options: Options) -> None:
        self._path = _text(os.fsencode(path))
        self._pattern = pattern
        self._options = options
        self._before: deque[tuple[int, bytes]] = deque(maxlen=max(1, options.context_lines))
        self._after = 0
        self._count = 0

    def run(self, lines: Iterator[bytes] | BinaryIO) -> bool:
        for number, line in enumerate(lines, 1):
            if b"\0" in line:
                break
            self._take(number, line)
            if self._count >= self._options.max_count and not self._after:
                break
        if self._count:
            _print({"type": "end", "data": {"path": self._path, "binary_offset": None}})
        return bool(self._count)

    def _take(self, number: int, line: bytes) -> None:
        text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
        matches = list(self._pattern.finditer(text)) if self._count < self._options.max_count else []
        if matches:
            if not self._count:
                _print({"type": "begin", "data": {"path": self._path}})
            self._count += 1
            if self._options.context_lines:
                while self._before:
                    self._emit("context", *self._before.popleft(), [])
            self._emit("match", number, line, [_span(text, match) for match in matches[:20]])
            self._after = self._options.context_lines
        elif self._after:
            self._emit("context", number, line, [])
            self._after -= 1
        else:
            self._before.append((number, line))

    def _emit(self, kind: str, number: int, line: bytes, spans: list[dict[str, int]]) -> None:
        _print({"type": kind, "data": {"path": self._path, "lines": _text(line), "line_number": number, "submatches": spans}})


def _span(text: str, match: re.Match[str]) -> dict[str, int]:
    start = len(text[: match.start()].encode("utf-8", "surrogateescape"))
    return {"start": start, "end": start + len(match.group().encode("utf-8", "surrogateescape"))}


def _text(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode()}


def _print(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
