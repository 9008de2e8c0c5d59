"""Which files a repository says to ignore, by the rules of gitignore(5).

Standard library only: the built-in search runs it in a bare process.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from yagent.records import dataclass

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_FILE_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file, as a pattern over paths relative to that file's directory."""

    pattern: re.Pattern[str]
    negated: bool
    directories_only: bool


@lru_cache(maxsize=4096)
def rule_of(line: str) -> Rule | None:
    """The rule that a line states; None for blank lines, comments and patterns that are not valid."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text.removeprefix("\\") if text[:2] in ("\\!", "\\#") else text
    directories_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    body = _translated(text.removeprefix("/"))
    if not text or body is None:
        return None
    try:
        return Rule(re.compile(rf"(?s:{'' if anchored else '(?:.*/)?'}{body})\Z"), negated, directories_only)
    except re.error:
        return None


def _translated(glob: str) -> str | None:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        piece, at = _next_piece(glob, at)
        if piece is None:
            return None
        parts.append(piece)
    return "".join(parts)


def _next_piece(glob: str, at: int) -> tuple[str | None, int]:
    if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
        return "(?:.*/)?", at + 3
    if glob.startswith("**", at) and at + 2 == len(glob) and (at == 0 or glob[at - 1] == "/"):
        return ".+", at + 2
    character = glob[at]
    if character == "*":
        while at < len(glob) and glob[at] == "*":
            at += 1
        return "[^/]*", at
    if character == "?":
        return "[^/]", at + 1
    if character == "[":
        return _character_class(glob, at)
    if character == "\\":
        return (re.escape(glob[at + 1]), at + 2) if at + 1 < len(glob) else (None, at + 1)
    return re.escape(character), at + 1


def _character_class(glob: str, at: int) -> tuple[str | None, int]:
    start = at + 2 if glob[at + 1 : at + 2] in ("!", "^") else at + 1
    end = glob.find("]", start + 1)
    if end < 0:
        return None, len(glob)
    inside = glob[start:end].replace("\\", "\\\\").replace("[", "\\[").replace("&&", "&\\&").replace("~~", "~\\~").replace("||", "|\\|")
    return f"(?!/)[{'^' if start == at + 2 else ''}{inside}]", end + 1


class IgnoreRules:
    """The rules that hold in one directory: its own ignore files', then those of the directories above, up to the repository's root."""

    def __init__(self, layers: tuple[tuple[str, tuple[Rule, ...]], ...]) -> None:
        self._layers = layers

    @classmethod
    def at(cls, directory: str) -> IgnoreRules:
        """The rules in a directory, the user's own ignore file among them. Above it, only directories of the same repository count."""
        chain = [directory]
        while not os.path.lexists(os.path.join(chain[-1], ".git")):
            parent = os.path.dirname(chain[-1])
            if parent == chain[-1]:
                chain = [directory]
                break
            chain.append(parent)
        top = chain[-1]
        configuration = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
        rules = cls(())
        for file in (os.path.join(configuration, "git", "ignore"), os.path.join(top, ".git", "info", "exclude")):
            rules = rules._with(top, file)
        for one in reversed(chain):
            rules = rules.entering(one)
        return rules

    def entering(self, directory: str) -> IgnoreRules:
        """The rules inside a directory below."""
        rules = self
        for name in IGNORE_FILES:
            rules = rules._with(directory, os.path.join(directory, name))
        return rules

    def ignores(self, path: str, *, is_directory: bool) -> bool:
        """Whether an entry of this directory (its full path) is ignored; the last rule that fits decides."""
        for base, rules in self._layers:
            relative = path[len(base) :].lstrip("/")
            for rule in rules:
                if (is_directory or not rule.directories_only) and rule.pattern.match(relative):
                    return not rule.negated
        return False

    def _with(self, base: str, file: str) -> IgnoreRules:
        text = _read(file)
        if text is None:
            return self
        rules = tuple(rule for rule in map(rule_of, reversed(text.split("\n"))) if rule is not None)
        return IgnoreRules(((base, rules), *self._layers)) if rules else self


def _read(path: str) -> str | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return file.read(_FILE_LIMIT).decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    except OSError:
        return None
