"""Commands that run other commands: what they would run, and whether they add anything of their own.

A wrapper that is not understood word for word keeps no inner command; it is then judged like any program that may do anything.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from yagent.records import dataclass
from yagent.workspace.shell_syntax.builtins import inspect
from yagent.workspace.shell_syntax.commands import Assignment, Command, Place
from yagent.workspace.shell_syntax.simple import Line
from yagent.workspace.shell_syntax.words import Script, Word

SHELLS = frozenset({"bash", "sh", "dash", "ash"})
"""Shells whose `-c` text is read here. Others (zsh, fish, ksh) are not read and count as interpreters."""

_SHELL_FLAGS = re.compile(r"[-+][eulxc]+|--norc|--noprofile|--posix|--login")
_FED_FILE = re.compile(r"/dev/(stdin|fd/.*)|/proc/self/fd/.*")
_TAKES_APART = re.compile(r"-[A-Za-z]*S|--s")
_SHELL_READS_ELSE = re.compile(r"\$'")
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


@dataclass(frozen=True, slots=True)
class Form:
    """How a wrapper's own words end and its command begins: options alone, options with a value, words before the command."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    attached: tuple[str, ...] = ()
    leading: int = 0
    transparent: bool = True


def _form(flags: str = "", valued: str = "", attached: Sequence[str] = (), *, leading: int = 0, transparent: bool = True) -> Form:
    return Form(frozenset(flags.split()), frozenset(valued.split()), tuple(attached), leading, transparent)


FORMS: dict[str, Form] = {
    "time": _form("-p"),
    "command": _form("-p"),
    "builtin": _form(),
    "exec": _form("-c -l", "-a"),
    "nice": _form(valued="-n --adjustment", attached=("-n", "--adjustment=")),
    "nohup": _form(),
    "timeout": _form(
        "--preserve-status --foreground -v",
        "-k -s --kill-after --signal",
        ("-k", "-s", "--kill-after=", "--signal="),
        leading=1,
    ),
    "stdbuf": _form(valued="-i -o -e", attached=("-i", "-o", "-e", "--input=", "--output=", "--error=")),
    "setsid": _form("-w -f -c --wait --fork"),
    "ionice": _form("-t", "-c -n", ("-c", "-n")),
    "xargs": _form(
        "-0 -r -t -x --null --no-run-if-empty",
        "-n -P -L -s -d -I -E --max-args --max-procs",
        ("-n", "-P", "-L", "-s", "-d", "-I"),
    ),
    "sudo": _form("-n -E -H -S -k -b", "-u -g -p -C -D -h", transparent=False),
    "doas": _form("-n", "-u", transparent=False),
    "busybox": _form(),
    "env": _form("-i -", "-u --unset", ("--unset=",)),
}


def unwrap(line: Line, command: Command, place: Place) -> Command:
    """Return the command with the ones it runs in `inner`."""
    command = inspect(line, command)
    name = program(command)
    if name is None:
        return command
    if name in SHELLS:
        return _shell(line, command, place)
    if name == "find":
        return _find(line, command, place)
    if name == "eval":
        return _eval(line, command, place)
    if name == "trap":
        return _trap(line, command, place)
    if name == "env" and any(_TAKES_APART.match(word.text) for word in command.words[1:]):
        line.hazard("hidden", "gives env text that it takes apart itself (-S)")
    form = FORMS.get(name)
    return command if form is None else _prefixed(line, command, place, form)


def program(command: Command) -> str | None:
    """Return the name of a command's program without its directory."""
    return None if command.name is None else posixpath.basename(command.name)


def _prefixed(line: Line, command: Command, place: Place, form: Form) -> Command:
    start = _command_start(command.words, form)
    if start is None:
        return command
    rest = command.words[start:]
    name = program(command)
    if name == "command" and command.words[1:2] and command.words[1].value in ("-v", "-V"):
        return command
    assignments: list[Assignment] = []
    while name == "env" and rest and "=" in rest[0].text:
        variable, _, value = rest[0].text.partition("=")
        assignments.append(Assignment(variable, replace(rest[0], text=value)))
        rest = rest[1:]
    if not rest:
        return command if not assignments else replace(command, assignments=(*command.assignments, *assignments))
    inner = Command(
        rest,
        assignments=tuple(assignments),
        directories=command.directories,
        stdin=None if name == "xargs" else command.stdin,
        more_words=name == "xargs" or command.more_words,
    )
    if name == "xargs":
        inner = _with_placeholder(command.words[:start], inner)
    hidden = place if name not in ("env", "sudo", "doas") else replace(place, variables={})
    return replace(command, inner=(unwrap(line, inner, hidden),), transparent=form.transparent)


def _command_start(words: Sequence[Word], form: Form) -> int | None:
    """Return where the wrapped command begins, None when an option is not known."""
    index = 1
    leading = form.leading
    while index < len(words):
        value = words[index].value
        if value is None:
            return index if not words[index].text.startswith("-") and words[index].text else None
        if value in form.valued:
            index += 2
        elif value in form.flags or (value.startswith(form.attached) and form.attached) or re.fullmatch(r"-[0-9]+", value):
            index += 1
        elif value == "--":
            return index + 1 + leading
        elif value.startswith("-"):
            return None
        elif leading:
            leading -= 1
            index += 1
        else:
            return index
    return index


def _with_placeholder(own: Sequence[Word], inner: Command) -> Command:
    """`xargs -I R` puts what it reads where R stands in the command instead of behind it."""
    for index, word in enumerate(own):
        value = word.value or ""
        if value.startswith("-I"):
            mark = value[2:] or (own[index + 1].value if index + 1 < len(own) else None) or "{}"
            words = tuple(Word(part.source, part.text.split(mark)[0], known=False) if mark in part.text else part for part in inner.words)
            return replace(inner, words=words, more_words=False)
    return inner


def _shell(line: Line, command: Command, place: Place) -> Command:
    words = command.words[1:]
    runs_text = False
    while words and words[0].value is not None and words[0].value.startswith(("-", "+")) and words[0].value != "-":
        option = words[0].value
        if option in ("-o", "+o") and len(words) > 1 and words[1].value in ("pipefail", "errexit", "nounset"):
            words = words[2:]
            continue
        if not _SHELL_FLAGS.fullmatch(option) and option != "-s":
            line.hazard("not_followed", f"starts {command.name} with an option that is not followed ({option})")
            return command
        runs_text = runs_text or (not option.startswith("--") and "c" in option)
        words = words[1:]
    if runs_text:
        line.names.add(words[1:], replace(place, directories=command.directories))
        return _shell_text(line, command, place, words[0] if words else None)
    if words and words[0].value != "-" and not _FED_FILE.fullmatch(words[0].text):
        return command
    if command.stdin is None or (words and words[0].value != "-"):
        line.hazard("reads_commands", f"starts {command.name}, which runs whatever it reads")
        return command
    return _shell_text(line, command, place, command.stdin)


def _shell_text(line: Line, command: Command, place: Place, text: Word | None) -> Command:
    value = None if text is None or not text.known else text.text
    if value is None:
        line.hazard("computed", f"starts {command.name} with commands that are only known when it runs")
        return command
    if program(command) != "bash" and _SHELL_READS_ELSE.search(value):
        line.hazard("computed", f"starts {command.name} with quoting that shells read in different ways")
        return command
    directories = replace(place, directories=command.directories, variables={} if command.assignments else dict(line.environment))
    inner = line.captured(Script(value, lifted=False), directories)
    return replace(command, inner=inner, transparent=True)


def _eval(line: Line, command: Command, place: Place) -> Command:
    values = [word.value for word in command.words[1:]]
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return command
    return replace(command, inner=line.captured(Script(" ".join(known), lifted=False), replace(place, variables={})))


def _trap(line: Line, command: Command, place: Place) -> Command:
    """What a trap runs, whenever that is."""
    text = next((word.value for word in command.words[1:] if word.value not in ("-", "--", "-l", "-p")), None)
    if not text or len(command.words) < 3:
        return command
    return replace(command, inner=line.captured(Script(text, lifted=False), line.later(place)))


def _find(line: Line, command: Command, place: Place) -> Command:
    """The commands of -exec; `{}` stands for anything below the places searched."""
    roots = _find_roots(command.words[1:])
    inner: list[Command] = []
    words = list(command.words)
    index = 1
    while index < len(words):
        if words[index].value not in _FIND_RUNS:
            index += 1
            continue
        end = next((later for later in range(index + 1, len(words)) if _ends_exec(words, later)), None)
        if end is None:
            return command
        inside = [_found(word, roots) for word in words[index + 1 : end]]
        directories = command.directories if words[index].value == "-exec" else None
        if inside:
            inner.append(unwrap(line, Command(tuple(inside), directories=directories), replace(place, directories=directories)))
        index = end + 1
    return replace(command, inner=tuple(inner), transparent=False) if inner else command


def _ends_exec(words: Sequence[Word], index: int) -> bool:
    return words[index].value == ";" or (words[index].value == "+" and words[index - 1].value == "{}")


def _find_roots(words: Sequence[Word]) -> Word | None:
    roots = []
    for word in words:
        if word.value is None or word.value.startswith(("-", "(", "!")):
            break
        roots.append(word)
    if not roots:
        return Word(".", ".")
    return roots[0] if len(roots) == 1 else None


def _found(word: Word, root: Word | None) -> Word:
    if "{}" not in word.text:
        return word
    if word.text == "{}" and root is not None and root.value is not None and not root.value.startswith("-"):
        escaped = re.sub(r"([*?\[])", r"[\1]", root.value.rstrip("/") or "/")
        return Word(word.source, root.value, glob=f"{escaped}/**")
    return Word(word.source, word.text.split("{}")[0], known=False)
