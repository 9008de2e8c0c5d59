"""Programs that act: those that change just the files they name, those that always ask, and the rest, which may do anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from yagent.workspace.actions import Change
from yagent.workspace.programs.given import given
from yagent.workspace.programs.known_actors import (
    ALWAYS_ASK,
    CODE_OPTIONS,
    INTERPRETERS,
    PASSING_ON,
    PUBLISHING_WORDS,
    RUNNERS,
    UNREAD_SHELLS,
    WITH_VERB,
)
from yagent.workspace.programs.options import Arguments, Options, known, read_arguments
from yagent.workspace.programs.outputs import ARCHIVERS, TOLD_BY_ARCHIVERS, written
from yagent.workspace.programs.rating import Nature, Rating, Read, Write, asking
from yagent.workspace.programs.reading import has_safe_scripts, is_plain_awk
from yagent.workspace.shell_syntax.words import Word

_VERB = re.compile(r"[a-z][a-z0-9:_-]*")

_CHANGERS: dict[str, Options] = {
    "touch": known("acmh --no-create", "dt --date --time", also={"paths": "r --reference"}),
    "mkdir": known("pv --parents --verbose", "m --mode"),
    "rm": known("rRfivd --recursive --force --verbose --dir --one-file-system --preserve-root"),
    "rmdir": known("pv --parents --verbose --ignore-fail-on-non-empty"),
    "unlink": known(),
    **dict.fromkeys(("srm", "wipe"), known("rRfiv")),
    "shred": known("fuvz", "ns"),
    "cp": known("aRrdfinpPTuvxLH --recursive --archive --force --no-clobber --verbose --update --preserve --parents", "--preserve"),
    "install": known("cdDpvCT --compare --directory --preserve-timestamps --no-target-directory --verbose", "m --mode"),
    "mv": known("finTuv --force --no-clobber --verbose --update"),
    "ln": known("sfnTvr --symbolic --force --no-dereference --verbose --relative"),
    "chmod": known("Rvcf --recursive --verbose", operands="paths"),
    "truncate": known("c --no-create", "s --size"),
    "tee": known("ai --append --ignore-interrupts"),
    "sed": known("niEruzs --quiet --in-place --regexp-extended", also={"patterns": "e --expression"}, operands="pattern"),
}


_MORE_THAN_READING = {
    "find": "may delete, write or run something",
    "date": "may set the clock",
    "hostname": "may set the name of this machine",
    "ps": "may show what other processes hold",
}
"""Programs that mostly read; given words that are not known to, they do this."""


def rate_acting(name: str, words: Sequence[Word], is_local: Callable[[str], bool]) -> Rating:
    """Rate a command (its words without the name) that is not known to read. `is_local` says whether a URL is this machine."""
    refused = _always_asks(name, words, is_local)
    if refused is not None:
        return refused
    if name in _CHANGERS:
        return _changing(name, words)
    hidden = _runs_what_it_is_told(name, words)
    if hidden is not None:
        return hidden
    if name in ("awk", "gawk", "mawk", "nawk"):
        return _awk(words)
    if name == "dd":
        return _dd(words)
    if name in _MORE_THAN_READING:
        return asking("not_followed", f"{name} is given words with which it {_MORE_THAN_READING[name]}")
    return Rating(
        Nature.OPAQUE,
        writes=written(name, words),
        mentions=tuple(_mentions(name, words)),
        runs=tuple(_scripts(name, words)),
        pattern=_pattern(name, words),
        lasting=name not in INTERPRETERS,
    )


def _runs_what_it_is_told(name: str, words: Sequence[Word]) -> Rating | None:
    """Options of archivers that start programs, or write where the archive says."""
    told = _TOLD.get(name)
    if told is None:
        return None
    letters, longs = told
    options = given(words)
    first = words[0].text if words and name in ARCHIVERS and _LETTERS_FIRST.fullmatch(words[0].text) else ""
    if not (options.letter(letters) or options.long(longs) or set(first) & set(letters)) and not (name == "zip" and "-TT" in _texts(words)):
        return None
    return asking("not_followed", f"{name} is given an option that starts a program or writes outside the directory it works in")


_LETTERS_FIRST = re.compile(r"[a-zA-Z]*[cxtruA][a-zA-Z]*")
_TOLD: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(ARCHIVERS, ("PIF", TOLD_BY_ARCHIVERS)),
    "cpio": ("ip", ("--extract", "--pass-through", "--rsh-command")),
    "pax": ("r", ()),
    "unzip": (":", ()),
    "zip": ("", ("--unzip-command",)),
    "rg": ("", ("--pre", "--hostname-bin")),
    "sort": ("", ("--compress-program",)),
    "man": ("PH", ("--pager", "--html")),
    "fd": ("xX", ("--exec", "--exec-batch")),
}
"""The letters and long options by which programs do so."""


def _texts(words: Sequence[Word]) -> list[str]:
    return [word.text for word in words]


def _always_asks(name: str, words: Sequence[Word], is_local: Callable[[str], bool]) -> Rating | None:
    if name in ALWAYS_ASK and not (name in ("curl", "wget") and _stays_local(words, is_local)):
        code, text = ALWAYS_ASK[name]
        return asking(code, f"{name} {text}")
    if name in UNREAD_SHELLS and any(word.text.startswith("-") and "c" in word.text for word in words):
        return asking("interpreter", f"{name} runs text that is not read here; use bash")
    verbs = [word.value for word in words if word.value is not None and not word.value.startswith("-")][:3]
    published = next((verb for verb in verbs if verb in PUBLISHING_WORDS), None)
    if published is not None and name not in _CHANGERS and name not in RUNNERS:
        return asking("publishing", f"{name} {published} may publish or deploy")
    return _passed_on(name, words) if name in PASSING_ON else None


def _passed_on(name: str, words: Sequence[Word]) -> Rating | None:
    is_python = name in ("python", "python3")
    if is_python and any((option.value, module.value in _MODULES_GIVEN_PATHS) == ("-m", True) for option, module in pairwise(words)):
        return None
    hidden = ALWAYS_ASK.keys() if is_python else ALWAYS_ASK.keys() | _NEVER_PASSED_ON
    for word in words:
        passed = (word.value or "").rpartition("/")[2]
        if passed in hidden:
            return asking("hidden", f"{name} may run {passed}, which cannot be followed here")
    return None


_MODULES_GIVEN_PATHS = frozenset(
    {
        *("pytest", "unittest", "doctest", "compileall", "py_compile"),
        *("mypy", "pyright", "ruff", "black", "isort", "flake8", "pylint", "pyflakes"),
    }
)
"""Their words name files and directories (`pkg`, `service`), and no programs."""

_NEVER_PASSED_ON = frozenset({"rm", "eval", "bash", "sh", "zsh", "dash", "pip", "pip3"})


def _stays_local(words: Sequence[Word], is_local: Callable[[str], bool]) -> bool:
    valued = {"-X", "-H", "-d", "--data", "--data-raw", "--json", "-w", "-m", "--max-time", "--retry", "--request", "--header", "-A", "-u"}
    plain = {"-s", "-S", "-f", "-i", "-v", "-I", "-k", "-sS", "-fsS", "-sf", "-si", "-q", "--silent", "--fail", "--head", "-N", "-G"}
    urls = 0
    skip = False
    for word in words:
        value = word.value
        if value is None:
            return False
        if skip:
            skip = False
            if value.startswith("@"):
                return False
        elif value in valued:
            skip = True
        elif value in plain:
            continue
        elif value.startswith("-") or not is_local(value):
            return False
        else:
            urls += 1
    return urls > 0


def _changing(name: str, words: Sequence[Word]) -> Rating:
    arguments = read_arguments(words, _CHANGERS[name])
    if arguments is None:
        return asking("not_followed", f"{name} is given options or words whose effect is not certain")
    operands = arguments.operands
    reads = tuple(Read(path) for path in arguments.paths)
    match name:
        case "rm" | "rmdir" | "unlink" | "shred" | "srm" | "wipe":
            return Rating(Nature.CHANGES, writes=tuple(Write(word, "delete") for word in operands), lasting=False)
        case "install" if arguments.has("-d", "--directory"):
            return Rating(Nature.CHANGES, writes=tuple(Write(word, "create") for word in operands))
        case "cp" | "mv" | "ln" | "install":
            return _two_sided(name, arguments)
        case "chmod":
            return Rating(Nature.CHANGES, writes=tuple(Write(word, "edit") for word in operands[1:]))
        case "sed":
            return _sed_in_place(arguments)
        case "touch" | "mkdir":
            return Rating(Nature.CHANGES, reads=reads, writes=tuple(Write(word, "create") for word in operands))
        case "tee":
            change: Change = "edit" if arguments.has("-a", "--append") else "replace"
            return Rating(Nature.CHANGES, writes=tuple(Write(word, change) for word in operands))
        case _:
            return Rating(Nature.CHANGES, writes=tuple(Write(word, "replace") for word in operands))


def moves(name: str, words: Sequence[Word]) -> tuple[tuple[Word, Word], ...] | None:
    """Return what `mv`, `cp`, `install` or `ln` gives another name, as pairs of source and target; None when that is not certain."""
    arguments = read_arguments(words, _CHANGERS[name])
    if arguments is None or any(word.value is None for word in arguments.operands):
        return None
    if name == "install" and arguments.has("-d", "--directory"):
        return ()
    *sources, target = arguments.operands or (Word("", ""),)
    return tuple((source, target) for source in sources)


def _two_sided(name: str, arguments: Arguments) -> Rating:
    operands = arguments.operands
    recursive = arguments.has("-a", "-r", "-R", "--recursive", "--archive")
    if len(operands) < 2:
        if name == "ln" and operands:
            return asking("not_followed", "ln is given one word only, so the name of the link is not certain")
        return Rating(Nature.CHANGES)
    *sources, target = operands
    # A directory of the target's name is filled, not replaced, unless it is to be taken for the target itself.
    verb = {"mv": "moving to", "ln": "linking at"}.get(name, "copying to")
    onto = Write(target, "replace", fills=not arguments.has("-T", "--no-target-directory"), verb=verb)
    reached = [onto, *(Write(within(target, source), "replace", verb=verb) for source in sources)]
    if name in ("cp", "install"):
        return Rating(Nature.CHANGES, reads=tuple(Read(source, recursive) for source in sources), writes=tuple(reached))
    if name == "mv":
        moved = tuple(Write(source, "rename") for source in sources)
        return Rating(Nature.CHANGES, reads=tuple(Read(source) for source in sources), writes=(*moved, *reached))
    if any(".." in (source.value or "..").split("/") for source in sources):
        return asking("not_followed", "ln makes a link that leads up, which is not certain to stay inside")
    linked = tuple(Write(source, "edit") for source in sources)
    return Rating(Nature.CHANGES, reads=tuple(Read(source, recursive=True) for source in sources), writes=(*linked, *reached))


def within(target: Word, source: Word) -> Word:
    """Where a source lands when the target is a directory."""
    name = source.text.rstrip("/").rpartition("/")[2]
    return Word(source.source, f"{target.text}/{name or '.'}", known=target.known and source.known)


def _sed_in_place(arguments: Arguments) -> Rating:
    if not has_safe_scripts(arguments):
        return asking("not_followed", "sed is given a script that may write other files or run commands")
    files = arguments.operands if arguments.patterns else arguments.operands[1:]
    return Rating(Nature.CHANGES, writes=tuple(Write(word, "edit") for word in files))


def _awk(words: Sequence[Word]) -> Rating:
    rest = list(words)
    while rest and rest[0].text.startswith("-") and rest[0].value != "--":
        option = rest.pop(0)
        if option.value in ("-F", "-v") and rest:
            rest.pop(0)
        elif not option.text.startswith(("-F", "-v")):
            return Rating(Nature.OPAQUE, mentions=tuple(rest), lasting=False)
    program = rest[0].value if rest else None
    if program is None or not is_plain_awk(program):
        return asking("interpreter", "awk is given a program that can start commands or write files")
    return Rating(Nature.OPAQUE, mentions=tuple(rest[1:]), lasting=False)


def _dd(words: Sequence[Word]) -> Rating:
    reads: list[Read] = []
    writes: list[Write] = []
    for word in words:
        name, _, path = word.text.partition("=")
        if name == "if":
            reads.append(Read(Word(word.source, path, known=word.known)))
        elif name == "of":
            writes.append(Write(Word(word.source, path, known=word.known), "replace"))
        elif not word.known:
            return asking("not_followed", "dd is given words that are only known when it runs")
    return Rating(Nature.CHANGES, reads=tuple(reads), writes=tuple(writes))


def _mentions(name: str, words: Sequence[Word]) -> list[Word]:
    """The words that may be paths: code given to an interpreter is not."""
    if name not in INTERPRETERS:
        return list(words)
    for index, word in enumerate(words):
        if word.value in CODE_OPTIONS:
            return [*words[:index], *words[index + 2 :]] if index + 1 < len(words) and words[index + 1].known else list(words)
        if not word.text.startswith("-"):
            break
    return list(words)


def _scripts(name: str, words: Sequence[Word]) -> list[Word]:
    """The file an interpreter runs."""
    if name not in INTERPRETERS:
        return []
    for word in words:
        if word.value is None or word.value in CODE_OPTIONS:
            return []
        if not word.value.startswith("-"):
            return [word]
    return []


def _pattern(name: str, words: Sequence[Word]) -> str:
    """The narrow rule for a command: the program for a test runner, program and verb for a builder, else none."""
    if name in RUNNERS:
        return f"{name} *"
    verbs = [word.value or "" for word in words[:2]]
    if name not in WITH_VERB or not verbs or not _VERB.fullmatch(verbs[0]):
        return ""
    if verbs[0] not in ("run", "exec", "x") or name == "make":
        return f"{name} {verbs[0]} *"
    return f"{name} {verbs[0]} {verbs[1]} *" if len(verbs) > 1 and _VERB.fullmatch(verbs[1]) else ""
