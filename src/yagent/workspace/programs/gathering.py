"""Commands that take everything below a directory along, and whether they follow the links they find there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.workspace.programs.outputs import ARCHIVERS
from yagent.workspace.shell_syntax.words import Word

_NEVER = pattern(r"(?!)")
_ALWAYS = pattern(r"")
_UNPACKS = pattern(r"-?[A-Za-z]*[xt][A-Za-z]*|--extract|--get|--list")


@dataclass(frozen=True, slots=True)
class Gathering:
    """What a command gathers: everything below `sources`; `links` says that it goes where links below lead, `whole_tree` that it takes the
    whole tree of the repository that they are in."""

    sources: tuple[Word, ...]
    links: bool
    whole_tree: bool = False


@dataclass(frozen=True, slots=True)
class _Form:
    """By which options (abbreviated ones, too) a program takes what is below, and follows links. `target`: the last word is where it goes.
    `pattern`: the first one is what it looks for; without another, it looks here."""

    below: re.Pattern[str]
    links: re.Pattern[str] = _NEVER
    target: bool = False
    pattern: bool = False


_GREP = _Form(pattern(r"-[A-Za-z]*[rRd]|--rec|--der|--di"), pattern(r"-[A-Za-z]*R|--der"), pattern=True)
_TAR = _Form(_ALWAYS, pattern(r"-[A-Za-z]*[hL]|--der"))
_SEVEN = _Form(_ALWAYS, _ALWAYS)
_LINKED = _Form(pattern(r"-[A-Za-z]*s|--sy"), target=True)

_FORMS: Mapping[str, _Form] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP),
    **dict.fromkeys(ARCHIVERS, _TAR),
    **dict.fromkeys(("7z", "7za", "7zz"), _SEVEN),
    "rg": _Form(_ALWAYS, pattern(r"-[A-Za-z]*L|--follow"), pattern=True),
    "ag": _Form(_ALWAYS, pattern(r"-[A-Za-z]*f|--follow"), pattern=True),
    "diff": _Form(pattern(r"-[A-Za-z]*r|--rec"), _ALWAYS),
    "zip": _Form(_ALWAYS, _ALWAYS),
    "rsync": _Form(_ALWAYS, pattern(r"-[A-Za-z]*[Lk]|--copy-(l|u|dirl)"), target=True),
    "scp": _Form(_ALWAYS, pattern(r"-[A-Za-z]*r"), target=True),
    "cp": _Form(pattern(r"-[A-Za-z]*[rRa]|--rec|--ar"), pattern(r"-[A-Za-z]*L|--der"), target=True),
}
_KEEPS_LINKS: Mapping[str, re.Pattern[str]] = {
    "diff": pattern(r"--no-deref"),
    "zip": pattern(r"-[A-Za-z]*y|--symlinks"),
}
_FIND_FOLLOWS = frozenset({"-L", "-follow"})
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_NAMES_TARGET = pattern(r"-[A-Za-z]*t|--t")
_NAMES_PATTERN = pattern(r"-[A-Za-z]*[ef]|--reg|--file")
_ADDS_WHOLE_TREE = pattern(r"-[A-Za-z]*A|--al?l?|:/|:\(top\)")
_HERE = Word(".", ".")


def gathered(name: str, words: Sequence[Word]) -> Gathering | None:
    """Return what a command (its words without the name) takes along with everything below, None when it takes nothing so."""
    options = [word.text for word in words if word.text.startswith("-")]
    if name == "git":
        searches = any(word.text == "grep" for word in words) and any(option.startswith("--no-ind") for option in options)
        adds = any(word.text in ("add", "stage") for word in words)
        whole_tree = adds and any(_ADDS_WHOLE_TREE.fullmatch(word.text) for word in words)
        here = adds and any(word.text == "." for word in words)
        return Gathering((_HERE,), links=False, whole_tree=whole_tree) if searches or here or whole_tree else None
    if name == "find":
        follows = not _FIND_FOLLOWS.isdisjoint(options) and not _FIND_RUNS.isdisjoint(options)
        places = (word for word in words if word.text != "-L")
        roots = tuple(itertools.takewhile(lambda word: not word.text.startswith(("-", "(", "!")), places))
        return Gathering(roots or (_HERE,), links=True) if follows else None
    form = _FORMS.get(name)
    if form is None or (form is _TAR and words and _UNPACKS.fullmatch(words[0].text)):
        return None
    if form is _TAR and words:
        options.append(f"-{words[0].text.lstrip('-')}")  # its letters may stand without a dash
    if not _any(form.below, options) and form.below is not _ALWAYS:
        return None
    keeps = name in _KEEPS_LINKS and _any(_KEEPS_LINKS[name], options)
    links = not keeps and (form.links is _ALWAYS or _any(form.links, options))
    return Gathering(_sources(form, words, options), links)


def linked(name: str, words: Sequence[Word]) -> tuple[Word, ...]:
    """Return the places that a command gives another name by a symbolic link."""
    options = [word.text for word in words if word.text.startswith("-")]
    return _sources(_LINKED, words, options) if name in ("ln", "cp") and _any(_LINKED.below, options) else ()


def _any(wanted: re.Pattern[str], options: Sequence[str]) -> bool:
    return any(wanted.match(option) for option in options)


def _sources(form: _Form, words: Sequence[Word], options: Sequence[str]) -> tuple[Word, ...]:
    places = [word for word in words if not word.text.startswith("-") or re.search(r"[=/]", word.text)]
    plain = [word for word in places if not word.text.startswith("-")]
    if form.target and len(plain) > 1 and not _any(_NAMES_TARGET, options):
        places.remove(plain[-1])
    if form.pattern and plain and not _any(_NAMES_PATTERN, options):
        places.remove(plain.pop(0))
    return (*places, *([_HERE] if form.pattern and not plain else []))
