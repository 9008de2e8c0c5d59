"""What the claims of a hand-over rest on, checked mechanically: places in files, and commands whose end was recorded.

A fact's `where` is looked at when its note is written, and again whenever the note is shown: what stood there then is told apart from what
stands there now. Nothing is judged by its meaning, and a command never by its name: only by its recorded end. Reading a file blocks.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from yagent.blackboard.commands import CommandEvidence, CommandKind
from yagent.errors import YagentError
from yagent.patterns import pattern
from yagent.records import dataclass

Mark: TypeAlias = Literal["ok", "moved", "gone", "stale", "unverifiable"]

MARKS: Final[Mapping[Mark, str]] = MappingProxyType({"ok": "✓", "moved": "→", "gone": "✗", "stale": "!", "unverifiable": "?"})
LEGEND: Final = "✓ is there unchanged, → moved, ✗ not there, ! file changed since, ? not checkable; whether it says so, judge yourself"
WORST_FIRST: Final[tuple[Mark, ...]] = ("gone", "stale", "moved", "unverifiable", "ok")
MOST_KEPT: Final = 4096  # answers about files that have not changed since
MOST_PLACES: Final = 8  # of one fact
NOTHING_CHANGED: Final[Mapping[str, str | None]] = MappingProxyType({})
SUBSTANTIAL: Final = 4  # letters and digits of a line that is looked for elsewhere

COMMAND_ID: Final = pattern(r"\brun#[0-9]+\b")

_UNREADABLE: Final = "unreadable: "
_UNREADABLE_ERRORS: Final = (OSError, YagentError, ValueError)  # the last for what no path can hold
_COMMAND_PREFIX: Final = pattern(r"(?:run_bash\s*:?\s+|run_bash:|\$ )")
_CITED_END: Final = pattern(r"\s*[(,;]?\s*(?:→|->|=>)?\s*(?:exit(?:ed|s)?(?: with)?(?: code)?)\s*:?\s*(-?\d+)\)?$")
_LINE: Final = pattern(r"(?P<path>.+?)(?::L?|#L|,? \(?lines? )(?P<line>[0-9]{1,9})(?:[-–:]L?[0-9]{1,9})?\)?")
_SYMBOL: Final = pattern(r"(?P<path>.+?)::?(?P<symbol>[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*)(?:\(\)|\[.*\])?")
_PATH_SHAPE: Final = pattern(r"[^\s:]*(?:/[^\s:]+|[^\s/:]\.[A-Za-z][A-Za-z0-9_+-]{0,9})")
_DEFINES: Final = (
    r"\b(?:def|class|func|function|fn|fun|struct|enum|trait|impl|interface|type|module|const|let|var|val|define|macro)\b[^=;]*?"
)


@dataclass(frozen=True, slots=True)
class Anchored:
    """What was found where a fact points when its note was written.

    A `line` with the hash of its text, found by its number or by a `symbol`, or a whole file; or a recorded `command` by its id.
    """

    mark: Mark
    path: str = ""
    line: int = 0
    symbol: str = ""
    command: str = ""
    file_hash: str = ""
    line_hash: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is found there now; `detail` says what differs, "" where nothing does."""

    mark: Mark
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """How evidence sees the user's files, bound by `session`; paths are as agents write them. All of these block.

    `read` gives a file's bytes, None where there is no file, and raises OSError or YagentError where it cannot or may not be read.
    `stamp` gives something that differs when a file may have changed, None when that cannot be told. `symbols` gives the lines on which
    the symbols of a file are defined, None where they are not known; then they are looked for in its text. `may_read` says whether an
    agent may read a path without asking; what it may not is never read, and known again by its stamp alone.
    """

    read: Callable[[str], bytes | None]
    stamp: Callable[[str], object] = lambda path: None
    symbols: Callable[[str], Mapping[str, int] | None] = lambda path: None
    may_read: Callable[[str], bool] = lambda path: True


def digest(data: bytes) -> str:
    """The hash of a file's content or of an output."""
    return sha256(data).hexdigest()


def is_same(then: str | None, now: str | None) -> bool:
    """Whether a file is as it was; one that cannot be read is not known to be."""
    return then == now and (now is None or not now.startswith(_UNREADABLE))


def edited_since(evidence: CommandEvidence, now: Mapping[str, str | None]) -> tuple[str, ...]:
    """Which files, with their hashes `now`, are not as they were when a command ended; one that it did not cover was changed later."""
    covered = evidence.covered
    return tuple(path for path, there in now.items() if path not in covered or not is_same(covered[path], there))


def worst(marks: Iterable[Mark]) -> Mark:
    """What is to be shown of several places: the one that needs looking at most."""
    found = set(marks)
    return next((mark for mark in WORST_FIRST if mark in found), "unverifiable")


class Evidence:
    """What is known of commands and files in one session. Its methods block while they read."""

    def __init__(self, look: Look, commands: Iterable[CommandEvidence] = ()) -> None:
        self._look = look
        self._commands = {each.id: each for each in commands}
        self._numbers = count(1 + max((_number(each) for each in self._commands), default=0))
        self._hashes: dict[str, tuple[object, str | None]] = {}
        self._verdicts: dict[Anchored, tuple[object, Verdict]] = {}

    @property
    def commands(self) -> tuple[CommandEvidence, ...]:
        """All recorded commands, oldest first."""
        return tuple(self._commands.values())

    def ran(
        self, command: str, exit_code: int | None, output: bytes, changed: Iterable[str], *, kind: CommandKind = "check"
    ) -> CommandEvidence:
        """Record how a command ended; `changed` are the files that the task has changed until now."""
        covered: Mapping[str, str | None] = MappingProxyType(self.hashes_of(sorted(set(changed))))
        newest = next(reversed(self.commands), None)
        if newest is not None and newest.covered == covered:
            covered = newest.covered  # many commands run between two edits
        evidence = CommandEvidence(f"run#{next(self._numbers)}", command, exit_code, digest(output), covered, kind)
        self._commands[evidence.id] = evidence
        return evidence

    def hash_of(self, path: str) -> str | None:
        """The hash of a file now, None where there is none; a text that equals no hash where it cannot be read."""
        stamp = self._stamp(path)
        known = self._hashes.get(path)
        if known is not None and stamp is not None and known[0] == stamp:
            return known[1]
        if not self._look.may_read(path):
            return f"{_UNREADABLE}no stamp" if stamp is None else f"not read: {digest(repr(stamp).encode())}"
        try:
            data = self._look.read(path)
        except _UNREADABLE_ERRORS as failure:
            return f"{_UNREADABLE}{type(failure).__name__}"
        found = None if data is None else digest(data)
        _keep(self._hashes, path, (stamp, found))
        return found

    def hashes_of(self, paths: Iterable[str]) -> dict[str, str | None]:
        """The hashes of several files now."""
        return {path: self.hash_of(path) for path in paths}

    def record(self, where: str) -> tuple[Anchored, ...]:
        """Look at the places a fact points to; one item for each, empty for a fact that points nowhere."""
        text = _bare(where)
        if not text:
            return ()
        command = self._cited(text)
        if command is not None:
            return (command,)
        whole = self._place(text)
        if whole.mark != "unverifiable" and whole.mark != "gone":
            return (whole,)
        parts = [_bare(part) for part in re.split(r"[,;]\s+|\s+and\s+|\n", text)]
        if len(parts) > 1 and all(parts):
            several = [self._cited(part) or self._place(part) for part in parts[:MOST_PLACES]]
            if any(each.mark != "unverifiable" for each in several):
                return tuple(several)
        return (whole,)

    def check(self, anchor: Anchored, changed: Mapping[str, str | None] = NOTHING_CHANGED) -> Verdict:
        """What is to be said of the place now, with the hashes of the files that the task has `changed`."""
        if anchor.command:
            return self._check_command(anchor, changed)
        if not anchor.file_hash:
            return Verdict(anchor.mark)
        stamp = self._stamp(anchor.path)
        known = self._verdicts.get(anchor)
        if known is not None and stamp is not None and known[0] == stamp:
            return known[1]
        verdict = self._check_place(anchor)
        _keep(self._verdicts, anchor, (stamp, verdict))
        return verdict

    def check_fact(self, anchors: Sequence[Anchored], changed: Mapping[str, str | None] = NOTHING_CHANGED) -> Verdict:
        """The worst of a fact's places; one that points nowhere cannot be checked."""
        verdicts = [self.check(anchor, changed) for anchor in anchors]
        mark = worst(each.mark for each in verdicts)
        return Verdict(mark, "; ".join(each.detail for each in verdicts if each.mark == mark and each.detail))

    def _stamp(self, path: str) -> object:
        try:
            return self._look.stamp(path)
        except _UNREADABLE_ERRORS:
            return None

    def _cited(self, text: str) -> Anchored | None:
        """The newest recorded command that is meant, by its id or by its very text, and the end that is claimed of it; None for none."""
        named = self._commands.get(text)
        if named is not None:
            return Anchored(_unless_hidden("ok", named), command=named.id)
        prefix = _COMMAND_PREFIX.match(text)
        line = text[prefix.end() :] if prefix else text
        claim = _CITED_END.search(line)
        for wanted, code in ((line, None), (line[: claim.start()], int(claim[1]))) if claim else ((line, None),):
            plain = _one_line(_bare(wanted))
            for each in reversed(self.commands):
                if _one_line(each.command) == plain:
                    held = code is None or code == each.exit_code or each.kind == "hidden"
                    return Anchored(_unless_hidden("ok", each) if held else "gone", command=each.id)
        return None

    def _check_command(self, anchor: Anchored, now: Mapping[str, str | None]) -> Verdict:
        evidence = self._commands.get(anchor.command)
        if evidence is None:
            return Verdict("unverifiable", f"{anchor.command} is not on record")
        if anchor.mark == "gone":
            return Verdict("gone", f"{evidence.id} ended with {_end(evidence)}")
        earlier = self.hashes_of(path for path in evidence.covered if path not in now)
        changed = edited_since(evidence, {**earlier, **now})
        if changed:
            return Verdict("stale", f"changed since {evidence.id}: {', '.join(changed[:3])}{' …' if len(changed) > 3 else ''}")
        return Verdict(anchor.mark, "" if evidence.kind != "hidden" else f"the exit code of {evidence.id} is that of another command in it")

    def _place(self, text: str) -> Anchored:
        """A file, a line or a symbol of it."""
        if "://" in text:
            return Anchored("unverifiable")
        for path, line, symbol in _readings(text):
            if not self._look.may_read(path):
                return Anchored("unverifiable")
            try:
                data = self._look.read(path)
            except _UNREADABLE_ERRORS:
                return Anchored("unverifiable")
            if data is not None:
                return self._found(path, data, line, symbol)
        path = next((path for path, _, _ in _readings(text) if _PATH_SHAPE.fullmatch(path)), "")
        return Anchored("gone", path=path) if path else Anchored("unverifiable")

    def _found(self, path: str, data: bytes, line: int | None, symbol: str) -> Anchored:
        anchor = Anchored("ok", path=path, symbol=symbol, file_hash=digest(data))
        if line is None and not symbol:
            return anchor
        lines = _lines(data)
        number = self._line_of(path, symbol, lines) if line is None else line
        if not 0 < number <= len(lines):
            return replace(anchor, mark="gone", line=number, file_hash="")
        text = lines[number - 1]
        return replace(anchor, line=number, line_hash=_line_hash(text) if _is_substantial(text) else "")

    def _check_place(self, anchor: Anchored) -> Verdict:
        if not self._look.may_read(anchor.path):
            return Verdict("unverifiable", f"{anchor.path} is not read unasked")
        try:
            data = self._look.read(anchor.path)
        except _UNREADABLE_ERRORS as failure:
            return Verdict("unverifiable", str(failure))
        if data is None:
            return Verdict("gone", f"{anchor.path} is gone")
        if digest(data) == anchor.file_hash:
            return Verdict("ok")
        stale = Verdict("stale", f"{anchor.path} changed")
        if not anchor.symbol and not anchor.line_hash:  # a whole file, or a line like `}` that stands anywhere
            return stale
        lines = _lines(data)
        line = self._line_of(anchor.path, anchor.symbol, lines) if anchor.symbol else _line_again(anchor, lines)
        if line == anchor.line:
            return stale
        what = anchor.symbol or f"line {anchor.line}"
        if not line:
            return Verdict("gone", f"{what} is no longer in {anchor.path}")
        return Verdict("moved", f"{what} is at {anchor.path}:{line} now")

    def _line_of(self, path: str, symbol: str, lines: Sequence[str]) -> int:
        """The line a symbol is defined on, as far as can be told; else the first that names it; 0 for none."""
        known = self._look.symbols(path)
        if known is not None and symbol in known:
            return known[symbol]
        name = re.escape(re.split(r"\.|::|#", symbol)[-1])
        named = re.compile(rf"(?<![\w$]){name}(?![\w$])")
        found = [number for number, line in enumerate(lines, 1) if named.search(line)]
        defines = re.compile(rf"{_DEFINES}(?<![\w$]){name}(?![\w$])")
        return next((number for number in found if defines.search(lines[number - 1])), found[0] if found else 0)


def anchor_data(anchor: Anchored) -> dict[str, object]:
    """What is not empty of an anchor, as JSON data."""
    numbers = {"line": anchor.line}
    texts = {"path": anchor.path, "symbol": anchor.symbol, "command": anchor.command}
    hashes = {"file_hash": anchor.file_hash, "line_hash": anchor.line_hash}
    return {"mark": anchor.mark, **{name: value for name, value in {**texts, **numbers, **hashes}.items() if value}}


def anchor_from(data: Mapping[str, Any]) -> Anchored:
    """The anchor of `anchor_data`. Raises KeyError or TypeError for anything else."""
    texts = {name: data.get(name, "") for name in ("path", "symbol", "command", "file_hash", "line_hash")}
    line = data.get("line", 0)
    if data["mark"] not in get_args(Mark) or type(line) is not int or not all(isinstance(each, str) for each in texts.values()):
        raise TypeError("what should be an anchor is none")
    return Anchored(data["mark"], line=line, **texts)


def _number(command_id: str) -> int:
    digits = command_id.rpartition("#")[2]
    return int(digits) if digits.isascii() and digits.isdecimal() else 0


def _keep(known: dict[Any, Any], key: object, value: object) -> None:
    if len(known) >= MOST_KEPT:
        known.clear()
    known[key] = value


def _bare(where: str) -> str:
    """An anchor without what people put around it."""
    text = where.strip()
    while len(text) > 1 and (text[0], text[-1]) in {("`", "`"), ("(", ")"), ('"', '"'), ("'", "'"), ("<", ">")}:
        text = text[1:-1].strip()
    return text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _readings(text: str) -> list[tuple[str, int | None, str]]:
    """The ways to read an anchor as path, line and symbol, the plainest first: file names may hold colons."""
    found: list[tuple[str, int | None, str]] = [(text, None, "")]
    line = _LINE.fullmatch(text)
    if line is not None:
        found.append((line["path"], int(line["line"]), ""))
    symbol = _SYMBOL.fullmatch(text)
    if symbol is not None:
        found.append((symbol["path"], None, symbol["symbol"]))
    return found


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines  # a line end ends a line and begins none


def _line_hash(line: str) -> str:
    return digest(line.strip().encode("utf-8", "replace"))[:16]


def _line_again(anchor: Anchored, lines: Sequence[str]) -> int:
    """Where the text of the line is now: at its place, or at the nearest other; 0 where it is not."""
    if anchor.line <= len(lines) and _line_hash(lines[anchor.line - 1]) == anchor.line_hash:
        return anchor.line
    elsewhere = [number for number, line in enumerate(lines, 1) if _line_hash(line) == anchor.line_hash]
    return min(elsewhere, key=lambda number: abs(number - anchor.line), default=0)


def _is_substantial(line: str) -> bool:
    return sum(character.isalnum() for character in line) >= SUBSTANTIAL


def _unless_hidden(mark: Mark, evidence: CommandEvidence) -> Mark:
    return mark if evidence.kind != "hidden" else "unverifiable"


def _end(evidence: CommandEvidence) -> str:
    return "no exit code: it was stopped" if evidence.exit_code is None else f"exit code {evidence.exit_code}"
