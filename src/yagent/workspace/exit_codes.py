"""What the exit code of a command line says: of which of its commands it is, and whether any of them is a check at all.

A check is a command whose end may depend on what files hold: every program that is not known to read or change files only, and
comparisons. The line's exit code hides a check where another command's end takes its place: behind a pipe, before `;` or a line's end,
in a loop, before `|| true`. When in doubt (a line that cannot be read, or is too long) nothing is hidden and everything is a check.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.workspace.programs.acting import rate_acting
from yagent.workspace.programs.rating import Nature
from yagent.workspace.programs.reading import rate_reading
from yagent.workspace.shell_syntax import analyse
from yagent.workspace.shell_syntax.commands import Command, every_command
from yagent.workspace.shell_syntax.grammar import root_of

if TYPE_CHECKING:
    from yagent.workspace.shell_syntax.grammar import Node

Hiding: TypeAlias = Literal["", "pipe", "list"]

LONGEST: Final = 20_000  # characters of a line that is looked at
DEEPEST: Final = 60  # levels of a line's tree
COMPARISONS: Final = frozenset({"test", "[", "diff", "cmp"})
COMPARING_OPTIONS: Final = frozenset({"--exit-code", "--quiet", "--check"})  # of git

_ERREXIT: Final = pattern(r"set\s(?:.*\s)?(?:-[a-zA-Z]*e[a-zA-Z]*|-o\s+errexit)\b")
_PIPEFAIL: Final = pattern(r"set\s(?:.*\s)?-[a-zA-Z]*o\s+pipefail\b")
_FAILS: Final = pattern(r"(?:exit|return)\s+[1-9][0-9]*|false")
_EXITS: Final = pattern(r"exit\b.*|false")
_SCRIPT_OPTION: Final = pattern(r"-[a-z]*c")
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh"})
_LISTS: Final = frozenset({"program", "subshell", "compound_statement", "do_group", "else_clause", "case_item"})
_LOOPS: Final = frozenset({"for_statement", "c_style_for_statement", "while_statement"})
_SIMPLE: Final = frozenset({"command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command"})
_STATEMENTS: Final = (
    _LISTS | _LOOPS | _SIMPLE
    | {"list", "pipeline", "negated_command", "redirected_statement", "test_command", "if_statement", "elif_clause", "case_statement"}
    | {"function_definition"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExitCode:
    """`hides` says what takes the place of a check's end, "" where the line's exit code is that of all its checks. `checks`: one is run."""

    hides: Hiding = ""
    checks: bool = False


@dataclass(frozen=True, slots=True)
class _Part(ExitCode):
    """A part of a line. `ends_line`: where its check fails, the whole line ends in failure."""

    ends_line: bool = False


@dataclass(frozen=True, slots=True)
class _Settings:
    """`set -e` and `set -o pipefail`, as they hold where a part begins."""

    errexit: bool = False
    pipefail: bool = False


UNKNOWN: Final = ExitCode(checks=True)


def exit_code_of(line: str) -> ExitCode:
    """Tell what the exit code of a line says."""
    if len(line) > LONGEST:
        return UNKNOWN
    root = root_of(line)
    if root.has_error:
        return UNKNOWN
    part = _part(root, _Settings(), 0)
    return ExitCode(part.hides, part.checks)


def _part(node: Node, settings: _Settings, depth: int) -> _Part:
    if depth > DEEPEST:
        return _Part(checks=True)
    depth += 1
    handler = _OWN_FORMS.get(node.type)
    if handler is not None:
        return handler(node, settings, depth)
    parts = [_part(child, settings, depth) for child in _statements(node)]
    checks = any(part.checks for part in parts)
    hides = _first(part.hides for part in parts)
    if node.type == "list":
        return _and_or(node, parts)
    if node.type == "pipeline":
        return _Part(hides or _piped(parts, settings), checks)
    return _Part(hides, checks and node.type != "function_definition")  # what a function holds runs where it is called


def _statements(node: Node) -> list[Node]:
    return [child for child in node.children if child.is_named and child.type in _STATEMENTS]


def _first(hidings: Iterable[Hiding]) -> Hiding:
    return next((each for each in hidings if each), "")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")


def _list_of(node: Node, settings: _Settings, depth: int) -> _Part:
    return _sequence(_statements(node), settings, depth, is_apart=node.type == "subshell")


def _sequence(nodes: Sequence[Node], settings: _Settings, depth: int, *, is_apart: bool = False) -> _Part:
    """Commands one after the other: only the last one's end is seen, unless the ones before end the line where they fail; those of a
    subshell end nothing but it."""
    parts: list[_Part] = []
    hides: Hiding = ""
    for position, child in enumerate(nodes):
        part = _part(child, settings, depth)
        follower = child.next_sibling
        is_left_alone = follower is not None and follower.type == "&"
        is_seen = position == len(nodes) - 1 or part.ends_line or (settings.errexit and child.type != "list")
        hides = hides or part.hides or ("list" if part.checks and (is_left_alone or not is_seen) else "")
        parts.append(part)
        settings = _after(child, settings)
    checks = any(part.checks for part in parts)
    return _Part(hides, checks, checks and not is_apart and all(part.ends_line or not part.checks for part in parts))


def _after(node: Node, settings: _Settings) -> _Settings:
    """The settings behind a command; `set` that is part of something larger is not followed."""
    text = _text(node)
    if node.type != "command" or not text.startswith("set"):
        return settings
    return _Settings(settings.errexit or bool(_ERREXIT.match(text)), settings.pipefail or bool(_PIPEFAIL.match(text)))


def _and_or(node: Node, parts: Sequence[_Part]) -> _Part:
    checks = any(part.checks for part in parts)
    hides = _first(part.hides for part in parts)
    operator = next((child.type for child in node.children if child.type in ("&&", "||")), "")
    if operator == "&&" or len(parts) != 2 or not parts[0].checks:
        return _Part(hides, checks)
    last = _last_command(node.children[-1])
    fails = bool(_FAILS.fullmatch(last))
    ends_line = fails and node.children[-1].type != "subshell" and bool(_EXITS.fullmatch(last)) and last != "false"
    return _Part(hides or ("" if fails or parts[1].checks else "list"), checks, ends_line)


def _last_command(node: Node) -> str:
    """The text of the command that ends a part, as far as there is one that always does."""
    while node.type in ("subshell", "compound_statement", "redirected_statement", "else_clause"):
        inner = _statements(node)
        if not inner:
            break
        node = inner[-1]
    return _text(node).strip()


def _piped(parts: Sequence[_Part], settings: _Settings) -> Hiding:
    return "pipe" if not settings.pipefail and any(part.checks for part in parts[:-1]) else ""


def _redirected(node: Node, settings: _Settings, depth: int) -> _Part:
    """A here-document holds what follows it on its line: the rest of a pipe, or of a list."""
    parts = [_part(child, settings, depth) for child in _statements(node)]
    followers = [child for redirect in node.children if redirect.type == "heredoc_redirect" for child in _statements(redirect)]
    inner = parts[0] if parts else _Part()
    rest = [_part(child, settings, depth) for child in followers]
    hides = inner.hides or _first(part.hides for part in rest)
    if any(child.type == "pipeline" for child in followers):
        hides = hides or _piped((inner, _Part()), settings)
    return _Part(hides, inner.checks or any(part.checks for part in rest), inner.ends_line and not rest)


def _if(node: Node, settings: _Settings, depth: int) -> _Part:
    """The condition's failure is seen only where the other branch fails as well."""
    inner = _statements(node)
    then = next((child.start_byte for child in node.children if child.type == "then"), 0)
    condition = _sequence([each for each in inner if each.start_byte < then], settings, depth)
    others = [each for each in inner if each.type in ("elif_clause", "else_clause")]
    branch = _sequence([each for each in inner if each.start_byte > then and each not in others], settings, depth)
    parts = [condition, branch, *(_part(each, settings, depth) for each in others)]
    hides = _first(part.hides for part in parts)
    if condition.checks and not (others and _FAILS.fullmatch(_last_command(others[-1]))):
        hides = hides or "list"
    return _Part(hides, any(part.checks for part in parts))


def _loop(node: Node, settings: _Settings, depth: int) -> _Part:
    """Only the last turn's end is seen, unless a failure ends the line."""
    body = next((_part(child, settings, depth) for child in node.children if child.type == "do_group"), _Part())
    is_seen = settings.errexit or body.ends_line or not body.checks
    return _Part(body.hides or ("" if is_seen else "list"), body.checks, body.ends_line)


def _simple(node: Node, settings: _Settings, depth: int) -> _Part:
    """One command, with what its words run. A script given as one word is looked into."""
    text = _text(node)
    script = _script(node)
    if script is not None:
        root = root_of(script)
        return _Part(checks=True) if root.has_error else replace(_part(root, settings, depth), ends_line=False)
    analysis = analyse(text, directory="/")
    if analysis.problem:
        return _Part(checks=True)
    commands = list(every_command(analysis.commands))
    checking = [command for command in commands if _is_check(command)]
    if not checking or node.type != "command":
        return _Part(checks=bool(checking))
    outer = _text(node.children[0]) if node.children else ""
    is_within = any(not each.inner and each.words and each.words[0].source == outer and not _is_check(each) for each in commands)
    return _Part("list" if is_within else "", checks=True)  # `echo $(check)` ends as echo does


def _script(node: Node) -> str | None:
    """The script of `bash -c '…'`, where it is one plain word."""
    words = [child for child in node.children if child.is_named]
    names = {posixpath.basename(_text(word)) for word in words}
    for option, word in pairwise(words):
        if names & _SHELLS and _SCRIPT_OPTION.fullmatch(_text(option)):
            inner = _text(word)[1:-1]
            is_plain = word.type == "raw_string" or (word.type == "string" and not set(inner) & set("\\$`\"'"))
            return inner if is_plain else None
    return None


def _is_check(command: Command) -> bool:
    """Whether a command's end may depend on what files hold."""
    if command.inner or not command.words:
        return False  # a wrapper ends as what it runs does, and that is looked at by itself
    name = command.name
    if name is None:
        return True
    name = posixpath.basename(name)
    words = command.words[1:]
    if name in COMPARISONS:
        return True
    if name == "git":
        return any(word.value in COMPARING_OPTIONS for word in words)
    if rate_reading(name, words) is not None:
        return False
    return rate_acting(name, words, lambda address: False).nature is not Nature.CHANGES


_OWN_FORMS: Final[Mapping[str, Callable[[Node, _Settings, int], _Part]]] = {
    **dict.fromkeys(_LISTS, _list_of),
    **dict.fromkeys(_SIMPLE, _simple),
    **dict.fromkeys(_LOOPS, _loop),
    "if_statement": _if,
    "elif_clause": _if,
    "redirected_statement": _redirected,
    "test_command": lambda node, settings, depth: _Part(checks=True),
}
