"""The rules of the user: `read(glob)`, `edit(glob)`, `shell(words *)`, `tool(name)`.

Path globs: `*` and `?` stay within one name, `**` crosses directories; relative ones start at the workspace, `~/` at the home directory.
A deny or ask rule errs towards matching: names are compared case-folded, a bare name matches at any depth, and a directory stands for
everything in it. An allow rule matches exactly what it says.

Shell rules are compared word by word with the decoded words of a command: a `*` alone is any number of words, a `*` within a word
any text in it. Words with blanks are quoted as in a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from yagent.errors import YagentError
from yagent.records import dataclass
from yagent.workspace.protected import fold

RuleKind = Literal["read", "edit", "shell", "tool"]

_FORM = re.compile(r"\s*([a-z]+)\((.*)\)\s*", re.DOTALL)
_ANY = "*"


class RuleError(YagentError):
    """A rule that is not understood. Never dropped: a deny rule lost silently would open what it should close."""

    exit_code = 2


class Match(Enum):
    """MAYBE: words that are only known when the line runs could make it match."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `text` as the user wrote it, `body` what stands between the brackets."""

    kind: RuleKind
    body: str
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a shell rule."""
        return tuple(shlex.split(self.body))


def parse_rule(text: str) -> Rule:
    """Read one rule. Raises RuleError that says what a rule looks like."""
    form = _FORM.fullmatch(text)
    if form is None or form[1] not in get_args(RuleKind) or not form[2].strip():
        raise RuleError(
            f"permission rule {text!r} is not understood; write read(glob), edit(glob), shell(words *) or tool(name), "
            "for example shell(git log *)"
        )
    kind: RuleKind = next(known for known in get_args(RuleKind) if known == form[1])
    rule = Rule(kind, form[2].strip(), text.strip())
    if kind == "shell":
        try:
            empty = not rule.words
        except ValueError as error:
            raise RuleError(f"permission rule {text!r} is not understood: {error}; close every quotation mark") from error
        if empty or rule.words[0].startswith("-"):
            raise RuleError(f"permission rule {text!r} names no program; write for example shell(git log *)")
    return rule


def parse_rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    """Read rules; the first that is not understood raises RuleError."""
    return tuple(parse_rule(text) for text in texts)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Where relative globs (`workspace`, under each of its names) and `~/` (`home`) start."""

    workspaces: tuple[Path, ...]
    home: Path | None


def matches_path(rule: Rule, names: Sequence[Path], anchors: Anchors, *, towards_matching: bool) -> bool:
    """Say whether a path rule matches any name of a location.

    `towards_matching` is for deny and ask rules; an allow rule must match every name, what was asked for and what it leads to.
    """
    patterns = [
        _path_pattern(pattern, folded=towards_matching) for pattern in _absolute_globs(rule.body, anchors, anywhere=towards_matching)
    ]
    if towards_matching:
        candidates = [[fold(str(parent)) for parent in (name, *name.parents)] for name in names]
        return any(pattern.fullmatch(text) for texts in candidates for text in texts for pattern in patterns)
    return all(any(pattern.fullmatch(str(name)) for pattern in patterns) for name in names)


def could_match_below(rule: Rule, directory: Path, anchors: Anchors) -> bool:
    """Say whether a deny rule could match something below a directory (judged by the rule's fixed beginning)."""
    here = fold(str(directory)).rstrip("/") + "/"
    for pattern in _absolute_globs(rule.body, anchors, anywhere=True):
        fixed = fold(re.split(r"[*?\[]", pattern, maxsplit=1)[0])
        if here.startswith(fixed) or fixed.startswith(here):
            return True
    return False


def _absolute_globs(body: str, anchors: Anchors, *, anywhere: bool) -> Iterable[str]:
    pattern = body.rstrip("/") or "/"
    if pattern.startswith("/"):
        yield pattern
    elif pattern == "~" or pattern.startswith("~/"):
        if anchors.home is not None:
            yield f"{anchors.home}{pattern[1:]}"
    else:
        pattern = pattern.removeprefix("./")
        for workspace in anchors.workspaces:
            yield f"{str(workspace).rstrip('/')}/{pattern}"
        if anywhere and "/" not in pattern:
            yield f"/**/{pattern}"
        elif anywhere and pattern.startswith("**/"):
            yield f"/{pattern}"


@lru_cache(maxsize=512)
def _path_pattern(glob: str, *, folded: bool) -> re.Pattern[str]:
    text = fold(glob) if folded else glob
    result = []
    position = 0
    while position < len(text):
        rest = text[position:]
        if rest.startswith("**/"):
            result.append("(?:.*/)?")
            position += 3
        elif rest.startswith("**"):
            result.append(".*")
            position += 2
        else:
            piece, used = _one_glob_piece(rest)
            result.append(piece)
            position += used
    return re.compile("".join(result), re.DOTALL)


def _one_glob_piece(rest: str) -> tuple[str, int]:
    if rest[0] == "*":
        return "[^/]*", 1
    if rest[0] == "?":
        return "[^/]", 1
    group = re.match(r"\[(!?)([^\]/]+)\]", rest)
    if group is not None:
        inside = group[2].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
        return f"[{'^/' if group[1] else ''}{inside}]", group.end()
    return re.escape(rest[0]), 1


def matches_name(rule: Rule, name: str) -> bool:
    """Say whether a `tool(name)` rule matches a tool's name (`*` is any text)."""
    return _word_pattern(rule.body).fullmatch(name) is not None


def matches_words(rule: Rule, words: Sequence[str | None]) -> Match:
    """Compare a shell rule with a command. None stands for what is only known when the line runs: any number of any words."""
    return _compare(rule.words, tuple(words))


def _compare(pattern: tuple[str, ...], words: tuple[str | None, ...]) -> Match:
    """Row by row: `reached[i]` is how surely the first i words of the pattern are matched so far."""
    reached = _skip_any(pattern, [Match.YES, *[Match.NO] * len(pattern)])
    for word in words:
        reached = _skip_any(pattern, _step_unknown(pattern, reached) if word is None else _step(pattern, reached, word))
    return reached[-1]


def _step(pattern: tuple[str, ...], reached: list[Match], word: str) -> list[Match]:
    after = [Match.NO] * len(reached)
    for index, part in enumerate(pattern):
        if part == _ANY:
            after[index] = _surer(after[index], reached[index])
        elif _word_pattern(part).fullmatch(word):
            after[index + 1] = _surer(after[index + 1], reached[index])
    return after


def _step_unknown(pattern: tuple[str, ...], reached: list[Match]) -> list[Match]:
    after = [Match.NO] * len(reached)
    first = next((index for index, match in enumerate(reached) if match is not Match.NO), None)
    if first is None:
        return after
    for index in range(first, len(reached)):
        stays = index < len(pattern) and pattern[index] == _ANY
        after[index] = reached[index] if stays and reached[index] is Match.YES else Match.MAYBE
    return after


def _skip_any(pattern: tuple[str, ...], reached: list[Match]) -> list[Match]:
    for index, part in enumerate(pattern):
        if part == _ANY:
            reached[index + 1] = _surer(reached[index + 1], reached[index])
    return reached


def _surer(one: Match, other: Match) -> Match:
    return one if one.value >= other.value else other


@lru_cache(maxsize=512)
def _word_pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(piece) for piece in text.split(_ANY)), re.DOTALL)
