"""What the exit code of a command line says: of which of its commands it is, and whether any of them is a check at all.

A check is a command whose end may depend on what files hold: every program that is not known to only read or move files or to prepare
(install, activate, set), and comparisons. The line's exit code hides a check where another command's end takes its place: behind a pipe,
before `;` or a line's end, in a loop, before `|| true`. When in doubt (a line that cannot be read, or is too long) nothing is hidden and
everything is a check. Source of what ends how: Bash Reference Manual, 3.2 and 4.3.1.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.workspace.programs.acting import rate_acting
from yagent.workspace.programs.installing import rate_install
from yagent.workspace.programs.rating import Nature
from yagent.workspace.programs.reading import rate_reading
from yagent.workspace.shell_syntax import analyse
from yagent.workspace.shell_syntax.commands import Command, every_command
from yagent.workspace.shell_syntax.grammar import root_of
from yagent.workspace.shell_syntax.heredoc import MARK, HereDocument, lift
from yagent.workspace.shell_syntax.lexer import NotUnderstoodError

if TYPE_CHECKING:
    from yagent.workspace.shell_syntax.grammar import Node

Hiding: TypeAlias = Literal["", "pipe", "list"]

LONGEST: Final = 20_000  # characters of a line that is looked at, here-documents aside
DEEPEST: Final = 60  # levels of a line's tree
COMPARISONS: Final = frozenset({"test", "[", "diff", "cmp"})
COMPARING_OPTIONS: Final = frozenset({"--exit-code", "--quiet", "--check"})  # of git
PREPARING: Final = frozenset(
    {*("source", ".", "eval", "ulimit", "umask", "shopt", "alias", "kill", "pkill", "killall"), *("nvm", "conda", "module")}
)

_FAILS: Final = pattern(r"(?:exit|return)\s+[1-9][0-9]*|false|exit\s+\"?\$\{?[A-Za-z_]\w*\}?\"?")
_FAILS_AT_ONCE: Final = pattern(r"(?:exit|return)(?:\s+\"?\$\?\"?)?")  # with the end of what failed just before
_EXITS: Final = pattern(r"exit\b.*")
_AS_BEFORE: Final = pattern(r"exit\s+\"?\$\?\"?|(?:test|\[)\s+\"?\$\?\"?\s+(?:-eq|=|==)\s+0(?:\s+\])?")
_AS_PIPE: Final = pattern(r"exit\s+\"?\$\{PIPESTATUS\[0\]\}\"?")
_AS_KEPT: Final = pattern(r"exit\s+\"?\$\{?([A-Za-z_]\w*)\}?\"?")
_EXECUTES: Final = pattern(r"\s-exec(?:dir)?\s")
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

    @property
    def kind(self) -> Literal["check", "hidden", "other"]:
        """In the words of a record."""
        return "hidden" if self.hides else "check" if self.checks else "other"


@dataclass(frozen=True, slots=True)
class _Settings:
    """`set -e` and `set -o pipefail`, as they hold where a part begins; and the here-documents of the line."""

    errexit: bool = False
    pipefail: bool = False
    bodies: tuple[HereDocument, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part(ExitCode):
    """A part of a line. `ends_line`: where its check fails, the whole line ends in failure. `after`: what it sets for what follows."""

    ends_line: bool = False
    after: _Settings | None = None


def exit_code_of(line: str) -> ExitCode:
    """Tell what the exit code of a line says. Blocks for as long as it takes to read the line."""
    part = _script_part(line, _Settings(), 0)
    return ExitCode(part.hides, part.checks)


def _script_part(text: str, settings: _Settings, depth: int) -> _Part:
    """A whole script."""
    bodies: list[HereDocument] = []
    try:
        plain = lift(text, bodies)
    except NotUnderstoodError:
        plain, bodies = text, []
    root = root_of(plain) if len(plain) <= LONGEST else None
    if root is None or root.has_error:
        return _Part(checks=True)
    return _part(root, replace(settings, bodies=tuple(bodies)), depth)


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
    if node.type == "negated_command":
        return _Part(hides or ("list" if checks else ""), checks)  # its success is the check's failure
    return _Part(hides, checks and node.type != "function_definition")  # what a function holds runs where it is called


def _statements(node: Node) -> list[Node]:
    return [child for child in node.children if child.is_named and child.type in _STATEMENTS]


def _first(hidings: Iterable[Hiding]) -> Hiding:
    return next((each for each in hidings if each), "")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _list_of(node: Node, settings: _Settings, depth: int) -> _Part:
    part = _sequence(_statements(node), settings, depth)
    return replace(part, ends_line=False, after=None) if node.type == "subshell" else part


def _sequence(nodes: Sequence[Node], settings: _Settings, depth: int) -> _Part:
    """Commands one after the other: only the last one's end is seen, unless the ones before end the line where they fail."""
    parts: list[_Part] = []
    hides: Hiding = ""
    seen = _kept_ends(nodes)
    for position, child in enumerate(nodes):
        part = _part(child, settings, depth)
        if position in seen and part.hides == "pipe" and _AS_PIPE.fullmatch(_text(nodes[-1]).strip()):
            part = replace(part, hides="")
        is_seen = position == len(nodes) - 1 or position in seen or part.ends_line or (settings.errexit and child.type != "list")
        is_left_alone = child.next_sibling is not None and child.next_sibling.type == "&" and position not in seen
        hides = hides or part.hides or ("list" if part.checks and (is_left_alone or not is_seen) else "")
        parts.append(part)
        settings = part.after or settings
    checks = any(part.checks for part in parts)
    return _Part(hides, checks, checks and all(part.ends_line or not part.checks for part in parts), settings)


def _kept_ends(nodes: Sequence[Node]) -> set[int]:
    """The positions of commands with whose end the last one ends: `exit $?`, `code=$?` and `exit $code` later, `wait $!`."""
    texts = [_text(node).strip() for node in nodes]
    if len(texts) < 2:
        return set()
    last = texts[-1]
    if _AS_BEFORE.fullmatch(last) or _AS_PIPE.fullmatch(last) or last.replace('"', "") == "wait $!":
        return {len(texts) - 2}
    kept = _AS_KEPT.fullmatch(last)
    return {at - 1 for at, text in enumerate(texts) if at and kept and text.replace('"', "") == f"{kept[1]}=$?"}


def _set(words: Sequence[str], settings: _Settings) -> _Settings:
    """What the options of `set`, or of a shell, change."""
    named = {"errexit": settings.errexit, "pipefail": settings.pipefail}
    names_of: bool | None = None
    for word in words:
        if names_of is not None:
            named[word], names_of = names_of, None
        elif word[:1] in ("-", "+"):
            named["errexit"] = word[0] == "-" if "e" in word[1:] else named["errexit"]
            names_of = word[0] == "-" if word.endswith("o") else None
    return replace(settings, errexit=named["errexit"], pipefail=named["pipefail"])


def _and_or(node: Node, settings: _Settings, depth: int) -> _Part:
    """`a && b` and `a || b`. What stands on the left fails without ending anything, whatever is set."""
    nodes = _statements(node)
    if len(nodes) != 2:
        return _Part(checks=True)
    left = _asked(nodes[0], replace(settings, errexit=False), depth)
    after = settings if left.after is None else replace(left.after, errexit=left.after.errexit or settings.errexit)
    right = _part(nodes[1], after, depth)
    checks, hides = left.checks or right.checks, left.hides or right.hides
    if any(child.type == "&&" for child in node.children) or not left.checks:
        return _Part(hides, checks, after=right.after or after)
    last = _last_command(nodes[1])
    fails = bool(_FAILS.fullmatch(last) or (nodes[1].type == "command" and _FAILS_AT_ONCE.fullmatch(last)))
    ends_line = fails and nodes[1].type != "subshell" and bool(_EXITS.fullmatch(last))
    return _Part(hides or ("" if fails or right.checks else "list"), checks, ends_line)


def _asked(node: Node, settings: _Settings, depth: int) -> _Part:
    """A part whose end decides what runs next: a comparison there only asks."""
    is_question = node.type == "test_command" or (node.type == "command" and _text(node).split()[:1] == ["test"])
    return _Part() if is_question else _part(node, settings, depth)


def _pipeline(node: Node, settings: _Settings, depth: int) -> _Part:
    """Commands side by side. The grammar takes `a && b 2>&1 | c` for a list in a pipe, where bash has a pipe in a list."""
    first, *others = _statements(node)
    head = first
    while head.type == "redirected_statement" and _statements(head):
        head = _statements(head)[0]
    chain = _part(head, settings, depth) if head.type == "list" else _Part()
    settings = chain.after or settings
    piped = _part(_statements(head)[-1] if head.type == "list" else first, settings, depth)
    parts = [piped, *(_part(each, settings, depth) for each in others)]
    hides = chain.hides or _first(part.hides for part in parts)
    if not settings.pipefail and any(part.checks for part in parts[:-1]):
        hides = hides or "pipe"
    return _Part(hides, chain.checks or any(part.checks for part in parts))


def _last_command(node: Node) -> str:
    """The text of the command that ends a part, as far as there is one that always does."""
    while node.type in ("subshell", "compound_statement", "redirected_statement", "else_clause"):
        inner = _statements(node)
        if not inner:
            break
        node = inner[-1]
    return _text(node).strip()


def _redirected(node: Node, settings: _Settings, depth: int) -> _Part:
    """A shell that is fed a here-document carries that out."""
    inner = _statements(node)
    fed = re.search(rf"{MARK}(\d+){MARK}", _text(node))
    if fed and inner and inner[0].type == "command":
        name, *options = _text(inner[0]).split()
        if posixpath.basename(name) in _SHELLS and all(option[:1] in ("-", "+") or option in ("errexit", "pipefail") for option in options):
            return _script_part(settings.bodies[int(fed[1])].body, _set(options, _Settings()), depth)
    return _part(inner[0], settings, depth) if inner else _Part()


def _if(node: Node, settings: _Settings, depth: int) -> _Part:
    """The condition's failure is seen only where the branch that it leads to fails as well."""
    inner = _statements(node)
    then = next((child.start_byte for child in node.children if child.type == "then"), 0)
    conditions = [each for each in inner if each.start_byte < then]
    others = [each for each in inner if each.type in ("elif_clause", "else_clause")]
    branch = [each for each in inner if each.start_byte > then and each not in others]
    is_turned = len(conditions) == 1 and conditions[0].type == "negated_command"
    asked = _statements(conditions[0])[0] if is_turned and _statements(conditions[0]) else None
    quiet = replace(settings, errexit=False)
    condition = _asked(asked or conditions[0], quiet, depth) if len(conditions) == 1 else _sequence(conditions, quiet, depth)
    parts = [condition, _sequence(branch, settings, depth), *(_part(each, settings, depth) for each in others)]
    hides = _first(part.hides for part in parts)
    where = branch[-1:] if is_turned else others[-1:]
    if condition.checks and not (where and _FAILS.fullmatch(_last_command(where[0]))):
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
    words = [child for child in node.children if child.is_named]
    name = _text(words[0]) if words else ""
    if name == "set":
        return _Part(after=_set(text.split()[1:], settings))
    script = _script(words)
    if script is not None:
        return replace(_script_part(script[0], _set(script[1], _Settings()), depth), ends_line=False, after=None)
    analysis = analyse(text, directory="/")
    if analysis.problem:
        return _Part(checks=name not in PREPARING)
    commands = list(every_command(analysis.commands))
    checking = [command for command in commands if _is_check(command)]
    if not checking or node.type in ("variable_assignment", "variable_assignments"):
        return _Part(checks=bool(checking))
    # `echo $(check)` ends as echo does, `find -exec check \;` as find does
    is_within = any(not each.inner and each.words and each.words[0].source == name and not _is_check(each) for each in commands)
    is_found = (
        posixpath.basename(name) == "find" and pattern(r"-exec(?:dir)?\s").search(text) is not None and not text.rstrip().endswith("+")
    )
    return _Part("list" if is_within or is_found or node.type == "declaration_command" else "", checks=True)


def _script(words: Sequence[Node]) -> tuple[str, Sequence[str]] | None:
    """The script of `bash -c '…'` or `eval '…'`, where it is one word, and the options of its shell."""
    texts = [_text(word) for word in words]
    if texts[:1] == ["eval"] and len(words) == 2:
        inner = _unquoted(words[1])
        return (inner, ()) if inner and not inner.startswith(("$(", "`")) else None
    for at, text in enumerate(texts):
        if posixpath.basename(text) not in _SHELLS:
            continue
        for option, word in pairwise(range(at + 1, len(words))):
            if texts[option][:1] not in ("-", "+") and texts[option - 1][-1:] != "o":
                break
            if texts[option].startswith("-") and texts[option].endswith("c"):
                inner = _unquoted(words[word])
                return (inner, texts[at + 1 : option + 1]) if inner else None
    return None


def _unquoted(word: Node) -> str:
    """The text within the quotes of a word, "" where it has none."""
    if word.type == "raw_string":
        return _text(word)[1:-1]
    return re.sub(r"\\([\"\\$`])", r"\1", _text(word)[1:-1]) if word.type == "string" else ""


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
    if name in PREPARING or rate_reading(name, words) is not None or rate_install(name, words, lambda _: True) is not None:
        return False
    return rate_acting(name, words, lambda address: False).nature is not Nature.CHANGES


_OWN_FORMS: Final[Mapping[str, Callable[[Node, _Settings, int], _Part]]] = {
    **dict.fromkeys(_LISTS, _list_of),
    **dict.fromkeys(_SIMPLE, _simple),
    **dict.fromkeys(_LOOPS, _loop),
    "list": _and_or,
    "pipeline": _pipeline,
    "if_statement": _if,
    "elif_clause": _if,
    "redirected_statement": _redirected,
    "test_command": lambda node, settings, depth: _Part(checks=True),
}
