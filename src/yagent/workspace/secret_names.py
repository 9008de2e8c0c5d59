"""Whether a shell line names a secret place in a word that is no operand: a loop's list, a value, text for another command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from yagent.workspace.completions import Use
from yagent.workspace.git_directory import tree_around
from yagent.workspace.globbing import expand
from yagent.workspace.guard import GuardError, Location
from yagent.workspace.operand_judge import OperandJudge, candidates, starts_of
from yagent.workspace.path_judge import FREE_DEVICES
from yagent.workspace.programs.gathering import gathered, linked
from yagent.workspace.programs.git import plain_pathspec
from yagent.workspace.programs.known_actors import INTERPRETERS
from yagent.workspace.rule_book import Finding, asks, denies
from yagent.workspace.shell_syntax.commands import Analysis, Command, Directories, Naming, every_command
from yagent.workspace.shell_syntax.words import HOLE, Word

_TELLING = frozenset({
    "echo", "printf", "set", "cd", "pushd", "source", ".", "eval", "exec", "exit", "return", ":", "true", "false", "trap",
    "export", "readonly", "declare", "typeset", "local", "mapfile", "readarray", "read",
    "dirname", "basename", "realpath", "readlink",
})  # fmt: skip
"""Commands that hand their words on: to a pipe, a substitution, a variable, the working directory."""

_DIRECTORY_VARIABLES = frozenset({"HOME", "GIT_WORK_TREE"})
"""What they are set to is where `~`, and all that git does, lead then."""

_ROOT = Path("/")
_MAX_TEXT = 64 * 1024
_PIECES = re.compile(r"[\s'\"`=:,;|&(){}<>]+")


def secrets_named(analysis: Analysis, operands: OperandJudge) -> list[Finding]:
    """Return what each word comes to that names a secret place, or may be completed to one, and is not judged as an operand."""
    values = [finding for naming in dict.fromkeys(analysis.namings) if (finding := _named(naming, operands, "value")) is not None]
    told = [finding for naming in dict.fromkeys(_told(analysis)) if (finding := _named(naming, operands, "told")) is not None]
    found = [*values, *told]
    for command in every_command(analysis.commands):
        found += [finding for look in (_packed, _linked) if (finding := look(command, operands)) is not None]
    return list(dict.fromkeys((*found, *_elsewhere(analysis, operands))))


def tells_of_secrets(analysis: Analysis, operands: OperandJudge, home: Path | None) -> bool:
    """Say whether any text of the line, quoted or fed to a command, names a secret place or one it is in."""
    for text, directories in _texts(analysis):
        for piece in dict.fromkeys(_PIECES.split(text[:_MAX_TEXT].replace("${HOME}", "$HOME"))):
            path = piece if home is None else re.sub(r"^(~|\$HOME)(?=/|$)", lambda _: str(home), piece)
            if "/" in path and any(_secret_in(base, path, operands) for base in starts_of(path, directories)):
                return True
    return False


def _packed(command: Command, operands: OperandJudge) -> Finding | None:
    """A refusal for an archive, a copy or a search of a directory that a secret is somewhere below, or a link to one that is followed."""
    taken = gathered((command.name or "").rsplit("/", 1)[-1], command.words[1:])
    tops = _tops(command, operands) if taken is not None and taken.whole_tree else []
    for location in _directories(taken.sources, command, operands, tops) if taken is not None else ():
        try:
            protection = operands.paths.protected.secret_below(location)
            if protection is None and taken is not None and taken.links:
                protection = operands.paths.protected.secret_linked(location)
        except GuardError as error:
            return denies("path", str(error))
        if protection is not None:
            return denies("protected_read", f"{location.requested} holds {protection.what}; no tool reads it, in any mode")
    return None


def _linked(command: Command, operands: OperandJudge) -> Finding | None:
    """A question about a link to a directory that a secret is somewhere below: whatever reads by its name is not seen to read that."""
    sources = linked((command.name or "").rsplit("/", 1)[-1], command.words[1:])
    parents = [str(Path(word.text).parent) for word in command.words[1:] if sources]  # where the link is, its target begins
    for location in _directories(sources, command, operands, parents):
        protection = operands.paths.protected.secret_below(location)
        if protection is not None:
            return asks("links_secret", f"a link to {location.requested} would give {protection.what} another name")
    return None


def _directories(sources: Sequence[Word], command: Command, operands: OperandJudge, others: Sequence[str] = ()) -> Iterator[Location]:
    """The directories that words of a command name, from where it runs or from another directory it names (`-C`, `-t`)."""
    if not sources:
        return
    beside = (str(location.resolved) for location in _places_of(others, command.directories or (), operands))
    bases = tuple(dict.fromkeys((*sorted(command.directories or ()), *_named_directories(command, operands), *beside)))
    for word in sources:
        pieces = [piece for text in (word.value or word.guess,) for piece, _ in candidates(text)]
        for location in _places_of(pieces, bases, operands):
            if location.is_directory:
                yield location


def _elsewhere(analysis: Analysis, operands: OperandJudge) -> Iterator[Finding]:
    """Questions about relative words that name a secret in another directory than the one that is known: one that the command names
    (`-C ~`), one a variable leads to (`HOME=~/x`), the top of a repository (`:/x`), any that the line goes to when functions, traps and the
    like change where it is."""
    commands = tuple(every_command(analysis.commands))
    common: list[str] = []
    for command in commands:
        values = [assignment.value for assignment in command.assignments if assignment.name in _DIRECTORY_VARIABLES]
        common += [str(location.resolved) for location in _places_of([value.text for value in values], command.directories or (), operands)]
    if analysis.hazards and operands.completions is not None:
        common += [base for base in operands.completions.reached if base.startswith("/") and HOLE not in base]
    for command in commands:
        own = _own_words(command)
        words = [*own, *(redirection.target for redirection in command.redirections)]
        tops = _tops(command, operands) if own != tuple(command.words[1:]) else []
        bases = dict.fromkeys((*_named_directories(command, operands), *tops, *common))
        for word in words if bases else ():
            place = next((place for piece in _relative(word) for base in bases if (place := _secret_in(base, piece, operands))), None)
            if place is not None:
                yield asks("may_be_secret", f"{word.source} could name {place}, which holds a secret, in a directory that the line names")


def _named_directories(command: Command, operands: OperandJudge) -> tuple[str, ...]:
    words = (*_own_words(command), *(assignment.value for assignment in command.assignments))
    pieces = [piece for word in words for piece, _ in candidates(word.value or word.guess)]
    found = _places_of(pieces, command.directories or (), operands)
    return tuple(dict.fromkeys(str(location.resolved) for location in found if location.is_directory))


def _own_words(command: Command) -> tuple[Word, ...]:
    """The words after the command's name; those of git without the magic of pathspecs."""
    words = tuple(command.words[1:])
    return tuple(map(plain_pathspec, words)) if (command.name or "").rsplit("/", 1)[-1] == "git" else words


def _tops(command: Command, operands: OperandJudge) -> list[str]:
    """The tops of the working trees that a git command may mean."""
    places = (*sorted(command.directories or ()), *_named_directories(command, operands))
    return [tree_around(place, operands.paths.guard.file_system) for place in places]


def _relative(word: Word) -> list[str]:
    texts = [word.glob] if word.glob else [piece for piece, _ in candidates(word.value or word.guess)]
    return [text for text in texts if text and not text.startswith("/")]


def _secret_in(base: str, piece: str, operands: OperandJudge) -> Path | None:
    protected = operands.paths.protected
    return next(iter(protected.secrets_matching(f"{base}/{piece}")), None) or protected.secret_found(f"{base}/{piece}")


def _places_of(pieces: Iterable[str], bases: Iterable[str], operands: OperandJudge) -> Iterator[Location]:
    starts = [Path(base) for base in bases]
    for piece in pieces:
        for base in (_ROOT,) if piece.startswith("/") else starts:
            try:
                yield operands.paths.guard.locate(piece or ".", directory=base, literal=True)
            except GuardError:
                continue


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
