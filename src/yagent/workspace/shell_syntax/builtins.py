"""Builtins that change what later words mean, set variables, or run text as commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from yagent.workspace.shell_syntax.commands import Assignment, Command
from yagent.workspace.shell_syntax.simple import Line
from yagent.workspace.shell_syntax.words import Word

HAZARDOUS = {
    "eval": "runs text as commands (eval)",
    "source": "runs a file as part of itself (source)",
    ".": "runs a file as part of itself (.)",
    "trap": "runs commands on a signal or at its end (trap)",
    "alias": "defines an alias, so that names no longer mean what they say",
    "unalias": "changes what names mean",
    "coproc": "starts a coprocess",
    "shopt": "changes how the line itself is read (shopt)",
    "enable": "changes what names mean (enable)",
    "hash": "changes what names mean (hash)",
    "bind": "binds commands to keys",
    "complete": "runs commands on completion",
    "compgen": "can run commands on completion",
    "fc": "runs commands from the history",
    "let": "holds arithmetic with names, which can run commands hidden in their values",
    "caller": "looks at the call stack",
    "mapfile": "can run commands while it reads (mapfile)",
    "readarray": "can run commands while it reads (readarray)",
}

DECLARES = frozenset({"export", "readonly", "declare", "typeset", "local"})
_READS = frozenset({"read", "unset", "getopts"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARATION = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_SAFE_SET = re.compile(r"[-+][euxv]*o?")
_EXPORT_FLAGS = frozenset({"-p", "-n", "-f"})
_READ_VALUED = frozenset({"-p", "-t", "-n", "-N", "-d", "-u", "-i"})


def inspect(line: Line, command: Command) -> Command:
    """Note the hazards of a builtin; return the command with the variables it sets among its assignments."""
    name = command.name
    if name is None:
        if command.words and not command.words[0].glob:
            line.hazard("computed", "computes the name of a command")
        elif command.words:
            line.hazard("computed", "finds the name of a command by a pattern")
        return command
    if name in HAZARDOUS:
        line.hazard(name if name != "." else "source", HAZARDOUS[name])
    elif name in DECLARES:
        return _declaration(line, command)
    elif name in _READS:
        return _reads(line, command)
    elif name == "set":
        _set(line, command)
    elif name in ("jobs", "wait"):
        _job_options(line, command)
    elif name in ("test", "[", "printf"):
        _indirect(line, command)
    return command


def _job_options(line: Line, command: Command) -> None:
    """`jobs -x` runs a command, `wait -p NAME[subscript]` evaluates the subscript."""
    if any(word.value is None or word.value.startswith("-") for word in command.words[1:]):
        line.hazard("hidden", f"gives {command.name} an option that may run a command")


def _indirect(line: Line, command: Command) -> None:
    """`-v NAME[subscript]` evaluates the subscript."""
    if command.name == "printf" and _counts(command.words[1:]):
        line.hazard("declares", "may set a variable by printf (%n)")
    looked_at = command.words[1:2] if command.name == "printf" else command.words[1:]
    unquoted = any(word.splits and "-v".startswith(word.text[:2]) for word in looked_at)
    if any(word.value is not None and word.value.startswith("-v") for word in looked_at) or (unquoted and command.name == "printf"):
        line.hazard("arithmetic", f"names a variable to {command.name} in a way that can run commands hidden in it")


def _counts(words: Sequence[Word]) -> bool:
    """`%n` writes to the variable it is given; a format that is not known yet may hold one."""
    rest = words[1:] if words and words[0].value == "--" else words
    if not rest:
        return False
    if rest[0].value is None:
        return any(word.value is None or _NAME.fullmatch(word.value) for word in rest[1:])
    return re.search(r"%[^%A-Za-z]*[hlLqjzt]*n", rest[0].value.replace("%%", "")) is not None


def _declaration(line: Line, command: Command) -> Command:
    assignments = list(command.assignments)
    for word in command.words[1:]:
        match = _DECLARATION.match(word.text)
        if match:
            assignments.append(Assignment(match[1], replace(word, text=word.text[match.end() :])))
        elif word.value is None or not (_NAME.fullmatch(word.value) or (command.name == "export" and word.value in _EXPORT_FLAGS)):
            line.hazard("declares", f"declares a variable in a way that cannot be judged ({command.name})")
    return replace(command, assignments=tuple(assignments))


def _reads(line: Line, command: Command) -> Command:
    assignments = list(command.assignments)
    skip = False
    for word in command.words[1:]:
        value = word.value
        if skip or (value is not None and value.startswith("-") and command.name != "getopts"):
            skip = not skip and value in _READ_VALUED and command.name == "read"
            if value in ("-a", "-f") and command.name == "read":
                line.hazard("declares", "reads into an array")
            continue
        if value is not None and _NAME.fullmatch(value):
            assignments.append(Assignment(value, Word(word.source, "", known=False)))
        elif command.name != "getopts" or word is not command.words[1]:
            line.hazard("declares", f"names a variable in a way that cannot be judged ({command.name})")
    return replace(command, assignments=tuple(assignments))


def _set(line: Line, command: Command) -> None:
    words = [word.value for word in command.words[1:]]
    position = 0
    while position < len(words):
        value = words[position]
        if value == "--":
            return
        if value is None or not _SAFE_SET.fullmatch(value):
            line.hazard("set", "changes how the line itself is read (set)")
            return
        if value.endswith("o"):
            position += 1
            if position < len(words) and words[position] not in ("pipefail", "errexit", "nounset", "xtrace", "verbose"):
                line.hazard("set", "changes how the line itself is read (set -o)")
        position += 1
