"""Whether a shell line names a secret place in a word that is no operand: a loop's list, a value, text for another command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from yagent.workspace.completions import Use
from yagent.workspace.globbing import expand
from yagent.workspace.guard import GuardError, Location
from yagent.workspace.operand_judge import OperandJudge, candidates, starts_of
from yagent.workspace.path_judge import FREE_DEVICES
from yagent.workspace.programs.known_actors import INTERPRETERS
from yagent.workspace.rule_book import Finding, denies
from yagent.workspace.shell_syntax.commands import Analysis, Command, Directories, Naming, every_command
from yagent.workspace.shell_syntax.words import Word

_TELLING = frozenset({
    "echo", "printf", "set", "cd", "pushd", "source", ".", "eval", "exec", "exit", "return", ":", "true", "false", "trap",
    "export", "readonly", "declare", "typeset", "local", "mapfile", "readarray", "read",
    "dirname", "basename", "realpath", "readlink",
})  # fmt: skip
"""Commands that hand their words on: to a pipe, a substitution, a variable, the working directory."""

_PACKING = frozenset({"tar", "bsdtar", "zip", "7z", "7za", "rsync", "scp", "cp"})
"""Commands that take everything below a directory along."""

_UNPACKS = re.compile(r"-?[A-Za-z]*[xt][A-Za-z]*|--extract|--get|--list")
_COPIES_BELOW = re.compile(r"-[A-Za-z]*[rRa]|--rec|--ar")
_NAMES_TARGET = re.compile(r"-[A-Za-z]*t|--t")
_MAX_TEXT = 64 * 1024
_PIECES = re.compile(r"[\s'\"`=:,;|&(){}<>]+")


def secrets_named(analysis: Analysis, operands: OperandJudge) -> list[Finding]:
    """Return what each word comes to that names a secret place, or may be completed to one, and is not judged as an operand."""
    values = [finding for naming in dict.fromkeys(analysis.namings) if (finding := _named(naming, operands, "value")) is not None]
    told = [finding for naming in dict.fromkeys(_told(analysis)) if (finding := _named(naming, operands, "told")) is not None]
    packed = [finding for command in every_command(analysis.commands) if (finding := _packed(command, operands)) is not None]
    return list(dict.fromkeys((*values, *told, *packed)))


def tells_of_secrets(analysis: Analysis, operands: OperandJudge, home: Path | None) -> bool:
    """Say whether any text of the line, quoted or fed to a command, names a secret place or one it is in."""
    protected = operands.paths.protected
    for text, directories in _texts(analysis):
        for piece in dict.fromkeys(_PIECES.split(text[:_MAX_TEXT].replace("${HOME}", "$HOME"))):
            path = piece if home is None else re.sub(r"^(~|\$HOME)(?=/|$)", lambda _: str(home), piece)
            if "/" in path and any(protected.secrets_matching(f"{base}/{path}") for base in starts_of(path, directories)):
                return True
    return False


def _packed(command: Command, operands: OperandJudge) -> Finding | None:
    """A refusal for an archive or a copy of a directory that a secret is somewhere below."""
    name = (command.name or "").rsplit("/", 1)[-1]
    words = command.words[1:]
    if name not in _PACKING or (name in ("tar", "bsdtar") and words and _UNPACKS.fullmatch(words[0].text)):
        return None
    names_target = any(_NAMES_TARGET.match(word.text) for word in words)
    sources = words[:-1] if name in ("rsync", "scp", "cp") and not (name == "cp" and names_target) else words
    if name == "cp" and not any(_COPIES_BELOW.match(word.text) for word in words):
        return None
    for word in sources:
        text = word.value or word.guess
        if not text or text.startswith("-"):
            continue
        for location in _places(text, Naming(word, command.directories), operands):
            protection = operands.paths.protected.secret_below(location) if location.is_directory else None
            if protection is not None:
                return denies("protected_read", f"{location.requested} holds {protection.what}; no tool reads it, in any mode")
    return None


def _told(analysis: Analysis) -> Iterator[Naming]:
    for command in every_command(analysis.commands):
        name = (command.name or "").rsplit("/", 1)[-1]
        if name in _TELLING or name in INTERPRETERS:
            yield from (Naming(word, command.directories) for word in command.words[1:])


def _texts(analysis: Analysis) -> Iterator[tuple[str, Directories]]:
    for command in every_command(analysis.commands):
        yield from ((text, command.directories) for text in _of_command(command))
    yield from ((naming.word.text, naming.directories) for naming in analysis.namings)


def _of_command(command: Command) -> Iterator[str]:
    for word in (*command.words, *(assignment.value for assignment in command.assignments)):
        yield word.glob or word.text or word.source
        if not word.known:
            yield word.source
    if command.stdin is not None:
        yield command.stdin.text if command.stdin.known else command.stdin.source


def _named(naming: Naming, operands: OperandJudge, use: Use) -> Finding | None:
    word = naming.word
    if word.glob:
        return _matched(naming, operands)
    for text in (word.text if word.known else f"{word.text}0" if "/" in word.text else "", word.guess):
        for piece, _ in candidates(text):
            if (finding := _secret(piece, naming, operands)) is not None:
                return finding
    return operands.completed(word, naming.directories, use)


def _matched(naming: Naming, operands: OperandJudge) -> Finding | None:
    glob = naming.word.glob
    for base in starts_of(glob, naming.directories):
        places = operands.paths.protected.secrets_matching(f"{base}/{glob}")
        if places:
            return denies(
                "protected_read", f"{naming.word.source} can stand for {places[0]}, which holds a secret; no tool reads it, in any mode"
            )
        for name in expand(glob, base, operands.paths.guard.file_system) or ():
            if (finding := _secret(name, naming, operands)) is not None:
                return finding
    return None


def _secret(text: str, naming: Naming, operands: OperandJudge) -> Finding | None:
    if text in FREE_DEVICES or text.startswith("/dev/fd/"):
        return None
    for location in _places(text, naming, operands):
        protection = operands.paths.protected.of(location)
        if protection is not None and protection.strength == "secret":
            return denies("protected_read", f"{location.requested} holds {protection.what}; no tool reads it, in any mode")
    return None


def _places(text: str, naming: Naming, operands: OperandJudge) -> list[Location]:
    try:
        return operands.locations(Word(naming.word.source, text), naming.directories) or []
    except GuardError:
        return []
