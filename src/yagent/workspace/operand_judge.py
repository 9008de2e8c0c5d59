"""The words of a command that may be paths: found, resolved in every directory the command may run in, and judged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from yagent.records import dataclass
from yagent.workspace.actions import Change, Decision, Mode
from yagent.workspace.arrivals import Arrivals
from yagent.workspace.completions import Completions, Use
from yagent.workspace.globbing import expand
from yagent.workspace.guard import GuardError, Location
from yagent.workspace.loopback import is_loopback
from yagent.workspace.path_judge import FREE_DEVICES, LOSING, PathJudge, outside
from yagent.workspace.programs.rating import Read, Write
from yagent.workspace.rule_book import ALLOWED, Finding, asks, denies
from yagent.workspace.shell_syntax.commands import Analysis, Command, Directories, Redirection, every_command
from yagent.workspace.shell_syntax.words import HOLE, Word

_REPLACING = frozenset({">", ">|", "&>", ">&"})
_DESCRIPTOR = re.compile(r"/dev/fd/[0-9]+")
_NETWORK_FILE = re.compile(r"/dev/(tcp|udp)/")
_COPIED_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_URL = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")
_WILDCARD = re.compile(r"[*?\[]")
_PARTS = re.compile(r"[=:,@]")
_ATTACHED = re.compile(r"-[A-Za-z0-9](?=[./~])")
_TEXT_MAKERS = frozenset({"echo", "printf", "tr", "sed", "awk", "seq", "paste", "rev", "xxd", "base64"})
_UNKNOWN_VARIABLE = re.compile(r"\$\{?[A-Z][A-Z0-9_]*")
_LEADS_AWAY = re.compile(r"/|~|\.\.(/|$)|.*/\.\.(/|$)")


@dataclass(frozen=True, slots=True)
class OperandJudge:
    """Judges operands of shell commands with the paths judge.

    `doubtful`: something in the line names, or could be turned into, a path that leads out of the workspace; what is only known when
    the line runs could then be such a path. `arrivals`: where the line itself brings what is there now under another name. `tells`: some
    text of the line names a secret, which an operand that is not known yet may turn out to be. `completions`: what words that are not
    known may be completed to. `settles`: what the line gives its variables is all they can hold where they are used.
    """

    paths: PathJudge
    doubtful: bool = False
    arrivals: Arrivals | None = None
    tells: bool = False
    settles: bool = False
    completions: Completions | None = None

    def of(self, command: Command) -> OperandJudge:
        """Return the judge of one command's operands: what it moves itself is not in its own way."""
        return self if self.arrivals is None or not self.arrivals.known else replace(self, arrivals=self.arrivals.beside(command))

    def settled(self, words: Sequence[Word], directories: Directories) -> tuple[Word, ...]:
        """Replace patterns by the files they stand for; one that cannot be expanded becomes a word that is not known.

        The secret places that a pattern can match are among them, whether they are found or not.
        """
        result: list[Word] = []
        for word in words:
            if not word.glob or word.glob.endswith("/**"):
                result.append(word)
                continue
            bases = starts_of(word.glob, directories)
            result += [
                Word(word.source, str(place)) for base in bases for place in self.paths.protected.secrets_matching(f"{base}/{word.glob}")
            ]
            known = len(bases) == 1 and word.known
            names = expand(word.glob, bases[0], self.paths.guard.file_system) if known else None
            if names is None:
                result.append(Word(word.source, word.text[: len(word.text) - len(word.text.lstrip("-"))], known=False, splits=True))
            else:
                result += [Word(word.source, name) for name in names or (word.text,)]
        return tuple(result)

    def locations(self, word: Word, directories: Directories, *, follow_last: bool = True) -> list[Location] | None:
        """Resolve a known word in every directory; None when a directory is not known."""
        if word.text.startswith("/"):
            directories = frozenset({"/"})
        if directories is None:
            return None
        guard = self.paths.guard
        return [
            guard.locate(word.text or ".", directory=Path(directory), literal=True, follow_last=follow_last) for directory in directories
        ]

    def locations_of(self, directories: frozenset[str]) -> list[Location]:
        """Resolve directories that commands run in, with what the line itself brings there."""
        found = [self.paths.guard.locate(directory, literal=True) for directory in directories]
        return [*found, *self._earlier(found, None)]

    def read(self, operand: Read, directories: Directories, mode: Mode, *, inert: bool) -> Finding:
        """Judge one operand that is read."""
        word = operand.word
        below = word.glob.endswith("/**")
        if word.text == "-" or (word.known and (_DESCRIPTOR.fullmatch(word.text) or word.text in FREE_DEVICES)):
            return ALLOWED
        if not word.known:
            refused = self._likely(word, directories, mode)
            if refused is not None:
                return refused
            values = self._values(word, directories, mode)
            free = (mode is Mode.FULL_YOLO and not self.tells) or (mode is Mode.YOLO and inert and not self.doubtful)
            if values or free:
                return _strictest(self.read(replace(operand, word=value), directories, mode, inert=inert) for value in values)
            return asks("unknown_operand", f"{word.source or 'what it is given'} is only known when the line runs")
        found = self._each(word, directories, mode)
        if isinstance(found, Finding):
            return found
        result = ALLOWED
        for location in (*found, *self._earlier(found, None)):
            judged = self.paths.read(location, mode, recursive=operand.recursive or below, names_only=operand.names_only)
            result = result.stricter(judged)
        return result

    def write(self, write: Write, directories: Directories, mode: Mode) -> Finding:
        """Judge one operand that is changed."""
        word, change = write.word, write.change
        if not word.known or word.glob or _NETWORK_FILE.match(word.text):
            refused = self._likely(word, directories, mode)
            if refused is not None:
                return refused
            if mode is Mode.FULL_YOLO:
                return ALLOWED
            return asks("unknown_operand", f"{word.source or 'what it is given'} is only known when the line runs")
        if _DESCRIPTOR.fullmatch(word.text):
            return ALLOWED
        found = self._each(word, directories, mode, follow_last=change not in ("delete", "rename"))
        if isinstance(found, Finding):
            return found
        result = ALLOWED
        for location in found:
            result = result.stricter(self._written(location, write, mode))
            if self._may_be_lost(location, change, mode):
                result = result.stricter(self.paths.loss(location, change))
        try:
            for location in self._earlier(found, change):
                result = result.stricter(self._written(location, write, mode))
        except GuardError as error:
            result = result.stricter(asks("path", str(error)))
        return result

    def _written(self, location: Location, write: Write, mode: Mode) -> Finding:
        change = write.change
        if write.fills and location.is_directory:
            change = "create"
        elif change == "create" and location.exists and not location.is_directory:
            change = "edit"
        return self.paths.edit(location, change, mode, verb=write.verb)

    def _may_be_lost(self, location: Location, change: Change, mode: Mode) -> bool:
        unknown = self.arrivals is not None and self.arrivals.unknown
        return unknown and mode is Mode.YOLO and change in LOSING and not location.exists

    def _earlier(self, locations: Sequence[Location], change: Change | None) -> list[Location]:
        """What will be at these places because the line itself brings it there."""
        if self.arrivals is None or not self.arrivals.known:
            return []
        return [earlier for location in locations for earlier in self.arrivals.earlier(location, change)]

    def redirection(self, redirection: Redirection, mode: Mode) -> Finding:
        """Judge what a redirection opens."""
        word = redirection.target
        if redirection.operator in (">&", "<&") and word.value is not None and _COPIED_DESCRIPTOR.fullmatch(word.value):
            return ALLOWED
        if word.known and _NETWORK_FILE.match(word.text):
            return ALLOWED if mode is Mode.FULL_YOLO else asks("network", f"{word.text} reaches the network")
        result = self._opened(word, redirection, mode)
        if word.glob:
            for found in self.settled((word,), redirection.directories):
                result = result.stricter(self._opened(found, redirection, mode) if found.known else ALLOWED)
        return result

    def _opened(self, word: Word, redirection: Redirection, mode: Mode) -> Finding:
        if redirection.operator in ("<", "<&"):
            return self.read(Read(word), redirection.directories, mode, inert=False)
        change: Change = "replace" if redirection.operator in _REPLACING else "create"
        return self.write(Write(word, change), redirection.directories, mode)

    def mention(self, word: Word, directories: Directories, mode: Mode) -> Finding:
        """Judge a word of a program that may do anything with it."""
        if not word.known or word.glob:
            return self._mentioned_by_values(word, directories, mode)
        if _URL.match(word.text):
            return ALLOWED if mode is Mode.FULL_YOLO or is_loopback(word.text) else asks("network", f"{word.text} is not on this machine")
        result = ALLOWED
        for text, leads_away in candidates(word.text):
            if text in FREE_DEVICES or _DESCRIPTOR.fullmatch(text):
                continue
            try:
                locations = self.locations(Word(word.source, text), directories)
            except GuardError:
                continue
            if locations is None:
                result = result.stricter(self._in_unknown_directory(Word(word.source, text), mode))
                continue
            for location in (*locations, *self._earlier(locations, None)):
                result = result.stricter(self._mentioned(location, mode, leads_away=leads_away))
        return result

    def _mentioned_by_values(self, word: Word, directories: Directories, mode: Mode) -> Finding:
        refused = self._likely(word, directories, mode)
        if refused is not None:
            return refused
        values = self._values(word, directories, mode)
        if values or mode is Mode.FULL_YOLO:
            return _strictest(self.mention(value, directories, mode) for value in values)
        return asks("unknown_operand", f"{word.source or 'what it is given'} is only known when the line runs")

    def _values(self, word: Word, directories: Directories, mode: Mode) -> tuple[Word, ...]:
        """Everything a word that rests on variables of the line can become; nothing when that is not known for certain, or does not
        matter since more than reading asks anyway."""
        if mode is Mode.ASK or not self.settles or self.completions is None or word.glob:
            return ()
        texts = self.completions.readings.get(word.source, ())
        if any(HOLE in text or "{}" in text or not text or text.startswith("-") or re.search(r"\s", text) for text in texts):
            return ()
        values = [Word(word.source, text, glob=text if _WILDCARD.search(text) else "") for text in texts]
        found = self.settled(values, directories)
        return found if all(value.known for value in found) else ()

    def _likely(self, word: Word, directories: Directories, mode: Mode) -> Finding | None:
        """A refusal that the likely value of a word would bring; a likely value never allows anything."""
        begun = self.mention(Word(word.source, f"{word.text}0"), directories, mode) if not word.known and "/" in word.text else ALLOWED
        completed = self.completed(word, directories)
        if begun.decision is Decision.DENY or (completed is not None and completed.decision is Decision.DENY):
            return begun if begun.decision is Decision.DENY else completed
        if not word.guess:
            return completed
        found = self.mention(Word(word.source, word.guess), directories, mode)
        strict = found.decision is Decision.DENY or (found.reason is not None and found.reason.code in ("protected_write", "rule"))
        return found if strict else completed

    def completed(self, word: Word, directories: Directories, use: Use = "operand") -> Finding | None:
        """Return why a word that may be completed to a secret is not let through."""
        return None if self.completions is None else self.completions.of(word, directories, use)

    def _in_unknown_directory(self, word: Word, mode: Mode) -> Finding:
        return (self.completed(word, None) or ALLOWED).stricter(_unknown_directory(word.text, mode))

    def _mentioned(self, location: Location, mode: Mode, *, leads_away: bool) -> Finding:
        for kind in ("read", "edit"):
            ruled = self.paths.book.path("read" if kind == "read" else "edit", location)
            if ruled is not None and ruled.decision is not Decision.ALLOW:
                return ruled
        protection = self.paths.protected.of(location)
        if protection is not None and protection.strength == "secret":
            return denies("protected_read", f"{location.requested} holds {protection.what}; no tool reads it, in any mode")
        if protection is not None and protection.strength == "guarded" and (location.exists or leads_away or "/" in location.requested):
            return asks("protected_write", f"{location.requested} is {protection.what}; a program that may change it asks in every mode")
        if location.inside or mode is Mode.FULL_YOLO or not (leads_away or location.exists):
            return ALLOWED
        return asks("outside", outside(location), instead=self.paths.scratch(location.resolved))

    def _each(self, word: Word, directories: Directories, mode: Mode, *, follow_last: bool = True) -> list[Location] | Finding:
        try:
            locations = self.locations(word, directories, follow_last=follow_last)
        except GuardError as error:
            return denies("path", str(error))
        return self._in_unknown_directory(word, Mode.YOLO if self.tells else mode) if locations is None else locations


def _strictest(findings: Iterable[Finding]) -> Finding:
    result = ALLOWED
    for finding in findings:
        result = result.stricter(finding)
    return result


def starts_of(glob: str, directories: Directories) -> tuple[str, ...]:
    """Return where a pattern starts from: anywhere is the same for an absolute one; nowhere when that is not known."""
    return ("/",) if glob.startswith("/") else tuple(sorted(directories or ()))


def _unknown_directory(text: str, mode: Mode) -> Finding:
    if mode is Mode.FULL_YOLO:
        return ALLOWED
    return asks("unknown_directory", f"{text} is looked for in a directory that is only known when the line runs")


def could_lead_out(analysis: Analysis) -> bool:
    """Say whether a line holds the makings of a path outside: one that leads away, pieces of text that could be put together to one,
    or a variable that neither the line sets nor the environment is known to hold."""
    return any(_makings(command) for command in every_command(analysis.commands))


def _makings(command: Command) -> bool:
    texts = [word.text if word.known else f"{word.source} {word.guess}".strip() for word in command.words]
    if any(_LEADS_AWAY.match(piece) and piece not in FREE_DEVICES for text in texts for piece in _PARTS.split(text)):
        return True
    if any(_UNKNOWN_VARIABLE.search(word.source) and not word.known for word in command.words):
        return True
    loose = [assignment.value.text if assignment.value.known else assignment.value.source for assignment in command.assignments]
    if command.stdin is not None:
        loose.append(f"{command.stdin.text} {command.stdin.source}")
    if command.name in _TEXT_MAKERS:
        loose += texts[1:]
    return any(re.search(r"[/~\\]|\.\.", text) for text in loose)


def candidates(text: str) -> Iterable[tuple[str, bool]]:
    """The parts of a word that may be paths, and whether each leads somewhere else by its look (absolute, or upwards)."""
    pieces = {text, *_PARTS.split(text), _ATTACHED.sub("", text, count=1)}
    for piece in sorted(pieces):
        if not piece or len(piece) > 4096 or "\0" in piece:
            continue
        leads_away = _LEADS_AWAY.match(piece) is not None
        if leads_away or not re.search(r"\s", piece):
            yield piece, leads_away
