"""Programs that only read, with the arguments for which that is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from yagent.workspace.programs.known_readers import (
    FIND_PATHS,
    FIND_TESTS,
    FIND_VALUED,
    HARMLESS_ALWAYS,
    ONLY_LONG_VERSION,
    SPECS,
    VERSION_QUESTIONS,
    VERSIONED,
)
from yagent.workspace.programs.options import Arguments, known, read_arguments
from yagent.workspace.programs.rating import HARMLESS, Nature, Rating, Read, reading
from yagent.workspace.shell_syntax.words import Word

_SED = known(
    "nEruz --quiet --silent --regexp-extended --null-data --unbuffered", "l", also={"patterns": "e --expression"}, operands="pattern"
)
_ADDRESS = r"(?:[0-9]+|\$|/[^/\\\n]*/)"
_SED_PART = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,(?:{_ADDRESS}|\+[0-9]+))?\s*!?)?\s*(?:[pqd=]|s(?:/[^/\n]*/[^/\n]*/|\|[^|\n]*\|[^|\n]*\||#[^#\n]*#[^#\n]*#)[gpiI0-9]*)?\s*"
)

_JQ_READS_MORE = re.compile(r"\b(?:import|include|modulemeta)\b")
_FIND_RUNS = frozenset({"-exec", "-execdir"})
_PS_OLD_STYLE = re.compile(r"[auxfl]+")
_UNSAFE_AWK = re.compile(r"system|getline|[|>]|@|fflush|close|ENVIRON|\bPROCINFO")


def rate_reading(name: str, words: Sequence[Word]) -> Rating | None:
    """Rate a command (its words without the name) as reading, None when it is not known to be."""
    if name in HARMLESS_ALWAYS:
        return HARMLESS
    if name in VERSIONED and len(words) == 1 and words[0].value in VERSION_QUESTIONS:
        return HARMLESS if words[0].value == "--version" or name not in ONLY_LONG_VERSION else None
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    options = SPECS.get(name)
    if options is None:
        return None
    arguments = read_arguments(words, options)
    if arguments is None or not _UNUSUAL.get(name, _anything)(arguments):
        return None
    operands = arguments.operands
    if options.operands == "text":
        return Rating(Nature.READS, reads=tuple(Read(path) for path in arguments.paths), inert=options.inert)
    if options.operands == "none" and operands:
        return None
    if options.operands == "pattern" and not arguments.has("--files", "--type-list", *options.patterns):
        operands = operands[1:]
    recursive = arguments.has(*options.recursive) or name in ("rg", "tree", "du")
    if not operands and (options.default or recursive) and not (name == "grep" and not recursive):
        operands = (Word(".", "."),)
    reads = (*(Read(word, recursive, names_only=name in _LISTING) for word in operands), *(Read(path) for path in arguments.paths))
    return Rating(Nature.READS, reads=reads, inert=options.inert)


_LISTING = frozenset({"ls", "tree", "du"})
"""Programs that show names and sizes, never content."""


def _anything(arguments: Arguments) -> bool:
    return True


_UNUSUAL: dict[str, Callable[[Arguments], bool]] = {
    "uniq": lambda arguments: len(arguments.operands) <= 1,
    "xxd": lambda arguments: len(arguments.operands) <= 1,
    "jq": lambda arguments: not any(_JQ_READS_MORE.search(word.text) for word in arguments.operands[:1]),
    "date": lambda arguments: all(word.text.startswith("+") for word in arguments.operands),
}


def _sed(words: Sequence[Word]) -> Rating | None:
    arguments = read_arguments(words, _SED)
    if arguments is None or not has_safe_scripts(arguments):
        return None
    return reading(arguments.operands if arguments.patterns else arguments.operands[1:])


def has_safe_scripts(arguments: Arguments) -> bool:
    """Say whether every script a sed command is given is known and safe."""
    scripts = arguments.patterns or arguments.operands[:1]
    return all(script.value is not None and is_safe_sed(script.value) for script in scripts)


def is_safe_sed(script: str) -> bool:
    """Say whether a sed script neither writes a file nor runs anything."""
    return all(_SED_PART.fullmatch(part) for part in re.split(r"[;\n]", script)) if len(script) < 2000 else False


def _find(words: Sequence[Word]) -> Rating | None:
    roots: list[Word] = []
    others: list[Word] = []
    index = 0
    while index < len(words):
        value = words[index].value
        if value is None and not words[index].known:
            return None
        if value in _FIND_RUNS:
            index = _after_exec(words, index)
        elif value in FIND_VALUED:
            index += 2
        elif value in FIND_PATHS:
            others += words[index + 1 : index + 2]
            index += 2
        elif value in FIND_TESTS:
            index += 1
        elif value is not None and value.startswith("-"):
            return None
        else:
            roots.append(words[index])
            index += 1
    searched = [Read(root, recursive=True, names_only=True) for root in roots or [Word(".", ".")]]
    return Rating(Nature.READS, reads=(*searched, *(Read(word) for word in others)))


def _after_exec(words: Sequence[Word], index: int) -> int:
    """The commands of -exec are judged by themselves."""
    while index < len(words) and words[index].value != ";" and not (words[index].value == "+" and words[index - 1].value == "{}"):
        index += 1
    return index + 1


def _ps(words: Sequence[Word]) -> Rating | None:
    rest = words[1:] if words and words[0].value is not None and _PS_OLD_STYLE.fullmatch(words[0].value) else words
    arguments = read_arguments(rest, SPECS["ps"])
    return HARMLESS if arguments is not None and not arguments.operands else None


def _command(words: Sequence[Word]) -> Rating | None:
    return HARMLESS if not words or words[0].value in ("-v", "-V") else None


def _nothing(words: Sequence[Word]) -> Rating | None:
    """Harmless without arguments."""
    return HARMLESS if not words else None


_SPECIAL: dict[str, Callable[[Sequence[Word]], Rating | None]] = {
    "sed": _sed,
    "find": _find,
    "ps": _ps,
    "command": _command,
    "env": _nothing,
    "exec": _nothing,
    "builtin": _nothing,
}


def is_plain_awk(program: str) -> bool:
    """Say whether an awk program only prints: it starts nothing and opens nothing."""
    return _UNSAFE_AWK.search(program) is None
