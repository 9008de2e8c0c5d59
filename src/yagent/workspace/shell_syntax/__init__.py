"""What a command line would really run, found out without running it.

`analyse` is the one entry. Parsing time is bounded; what is not certain to be read as bash reads it is reported as not understood, never
guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from yagent.workspace.shell_syntax.commands import Analysis, Budget, Command, Place
from yagent.workspace.shell_syntax.heredoc import MARK
from yagent.workspace.shell_syntax.lexer import NotUnderstoodError
from yagent.workspace.shell_syntax.namings import CERTAIN, Names, namings_of
from yagent.workspace.shell_syntax.parse import run_script
from yagent.workspace.shell_syntax.simple import Line, sets_variables
from yagent.workspace.shell_syntax.words import Script
from yagent.workspace.shell_syntax.wrappers import unwrap

__all__ = ["Analysis", "Command", "analyse"]

MAX_CHARACTERS = 2 * 1024 * 1024

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAKS = re.compile(r"[;&|\n(){}`]+")
_INVISIBLE_QUOTING = re.compile(r"\\\n|[\"'\\]")


def analyse(text: str, *, directory: str, variables: Mapping[str, str] | None = None, budget: Budget | None = None) -> Analysis:
    """Return the commands of a line that starts in `directory` (absolute).

    `variables` are the environment that the shell will see. HOME, PWD and TMPDIR are relied on; of the others the shell may see less
    (secrets are kept from it), so that their values are only likely.
    """
    line = Line(text, budget or Budget(), run_script, unwrap, names=Names(unsure=sets_variables(text)))
    problem = _unreadable(text)
    if not problem:
        used = {**_used(text, variables or {}), "PWD": directory}
        line.environment = {name: value for name, value in used.items() if name in CERTAIN and line.keeps(name)}
        likely = {name: value for name, value in used.items() if name not in line.environment}
        try:
            run_script(line, Script(text, lifted=False), Place(frozenset({directory}), line.environment, likely))
        except NotUnderstoodError as error:
            problem = str(error)
    try:
        namings, readings = namings_of(line.names)
    except NotUnderstoodError as error:
        namings, readings = tuple(line.names.plain), {}
        problem = problem or str(error)
    loose = loose_words(text) if problem else ()
    return Analysis(tuple(line.commands), tuple(dict.fromkeys(line.hazards)), problem, loose, namings, readings)


def _used(text: str, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that are used in the line; HOME also stands behind `~`."""
    names = {*re.findall(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)", text), "HOME"}
    return {name: variables[name] for name in names if name in variables}


def _unreadable(text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        return "it is too long to be judged"
    if _CONTROL.search(text):
        return "it contains control characters"
    if MARK in text:
        return "it contains a private-use character"
    return ""


def loose_words(text: str) -> tuple[tuple[str, ...], ...]:
    """Return what look like commands in a line that is not understood, quotes taken away, for deny rules to be tried on."""
    plain = _INVISIBLE_QUOTING.sub("", text[:MAX_CHARACTERS])
    return tuple(tuple(piece.split()) for piece in _BREAKS.split(plain) if piece.strip())
