"""The files that programs replace which may do anything: named by options for outputs, as operands, or by what they unpack."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from yagent.workspace.programs.given import Given, abbreviates, given, letters_of
from yagent.workspace.programs.known_actors import INTERPRETERS, RUNNERS
from yagent.workspace.programs.rating import Write
from yagent.workspace.shell_syntax.words import Word

ARCHIVERS = frozenset({"tar", "gtar", "bsdtar"})
TOLD_BY_ARCHIVERS = (
    *("--to-command", "--checkpoint-action", "--use-compress-program", "--absolute-names"),
    *("--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"),
)
"""Their options that start a program, or write where the archive says."""

_LONGS = ("--output", "--output-file", "--output-document", "--out", "--outfile")
_MORE_LONGS: dict[str, tuple[str, ...]] = {"patch": ("--reject-file",)}
_SPELLED = frozenset({"-o", "-O", "-out", "-output", "-outfile"})
_ATTACHED = re.compile(r"-(?:[oO]=?|out(?:put|file)?=)(?=.)")
_BUNDLED: dict[str, tuple[str, str]] = {
    "git": ("o", ""),
    "patch": ("or", "pdibBYzFDV"),
    "shuf": ("o", "in"),
    "sort": ("o", "ktST"),
    "tree": ("o", "LPIHT"),
}
"""Programs whose letters may stand in one word: those that name an output, and others that take a value."""

_ARCHIVING: dict[str, str] = {**dict.fromkeys(ARCHIVERS, "fbCTXgIFKLNVH"), "jar": "fme"}
"""Their letters that take a value."""
_WRITES_ARCHIVE = ("--create", "--append", "--update", "--catenate", "--concatenate")
_UNPACKS_OVER = ("--overwrite", "--unlink-first", "--recursive-unlink")

_SECOND_OPERAND: dict[str, str] = {"uniq": "fsw", "xxd": "clsgoR"}
"""Programs whose second operand is written, and the letters that take a value."""

_LAST_WORD = frozenset({"convert", "magick", "pdftotext"})
_SUFFIXES: dict[str, str] = {
    **dict.fromkeys(("gzip", "gunzip", "pigz", "unpigz"), ".gz"),
    **dict.fromkeys(("bzip2", "bunzip2"), ".bz2"),
    **dict.fromkeys(("xz", "unxz"), ".xz"),
    **dict.fromkeys(("lzma", "unlzma"), ".lzma"),
    **dict.fromkeys(("zstd", "unzstd"), ".zst"),
    **dict.fromkeys(("lz4", "unlz4"), ".lz4"),
    **dict.fromkeys(("compress", "uncompress"), ".Z"),
}
"""Programs that put a file beside the one they are given, and over what is there when they are forced to."""


def written(name: str, words: Sequence[Word]) -> tuple[Write, ...]:
    """Return what a program that may do anything is known to replace. A directory that is filled is replaced only if files in it are."""
    if name in INTERPRETERS or name in RUNNERS:
        return ()
    places = [*outputs(name, words), *_operands(name, words), *_beside(name, words)]
    return (*(Write(word, "replace", fills=True) for word in places), *(Write(word, "replace") for word in _unpacked_over(name, words)))


def outputs(name: str, words: Sequence[Word]) -> list[Word]:
    """Return the words that options for outputs are given."""
    letters, others = _BUNDLED.get(name, ("", ""))
    found = _values(words, letters, others, (*_LONGS, *_MORE_LONGS.get(name, ())))
    for index, word in enumerate(words):
        if word.text in _SPELLED:
            found += words[index + 1 : index + 2]
        elif attached := _ATTACHED.match(word.text):
            found.append(_behind(word, attached.end()))
    return [*found, *_archives(words, _ARCHIVING[name])] if name in _ARCHIVING else found


def _values(words: Sequence[Word], letters: str, others: str, longs: Iterable[str]) -> list[Word]:
    """The values of options: behind an equals sign or in the next word; of `letters` what follows in the word, else the next one.
    `others` are letters that take a value, too."""
    found: list[Word] = []
    for index, word in enumerate(words):
        following = words[index + 1 : index + 2]
        option, equals, _ = word.text.partition("=")
        bundle = letters_of(word.text, letters + others)
        end = len(option) if abbreviates(option, longs) else len(bundle) if bundle and bundle[-1] in letters else None
        if end is not None:
            attached = bool(equals) if not bundle else len(word.text) > end + 1
            found += [_behind(word, end + 1)] if attached else following
    return found


def _behind(word: Word, start: int) -> Word:
    return Word(word.source, word.text[start:], known=word.known)


def _archives(words: Sequence[Word], valued: str) -> list[Word]:
    """The archive that is written. The first word may be letters without a dash, whose values are the next words, one after the other."""
    options = _options_of_archiver(words, valued)
    if not (options.letter("cruA") or options.long(_WRITES_ARCHIVE)):
        return []
    first = words[0].text
    if first.startswith("-") or "f" not in first:
        return _values(words, "f", valued, ("--file",))
    place = 1 + sum(letter in valued for letter in first[: first.index("f")])
    return list(words[place : place + 1])


def _options_of_archiver(words: Sequence[Word], valued: str) -> Given:
    options = given(words, valued)
    first = words[0].text if words and not words[0].text.startswith("-") else ""
    return Given(options.longs, options.letters | set(first))


def _operands(name: str, words: Sequence[Word]) -> list[Word]:
    if name in _SECOND_OPERAND:
        return _without_values(words, _SECOND_OPERAND[name])[1:2]
    if name == "split":
        prefix = (_without_values(words, "abClnt")[1:2] or [Word("x", "x")])[0]
        return [Word(prefix.source, f"{prefix.text}{first}", known=prefix.known) for first in ("aa", "00")]
    plain = _without_values(words, "")
    if name == "sponge":
        return plain if not given(words).letter("a") else []
    if name in _LAST_WORD or (name == "ffmpeg" and any(word.text == "-y" for word in words)):
        return plain[1:][-1:]
    return []


def _without_values(words: Sequence[Word], valued: str) -> list[Word]:
    """The operands of a program whose letters `valued` take a value."""
    result: list[Word] = []
    waiting = False
    for word in words:
        bundle = letters_of(word.text, valued)
        if not waiting and (not word.text.startswith("-") or word.text == "-"):
            result.append(word)
        waiting = not waiting and bundle[-1:] in tuple(valued) and len(word.text) == 1 + len(bundle)
    return result


def _beside(name: str, words: Sequence[Word]) -> list[Word]:
    suffix = _SUFFIXES.get(name, "")
    options = given(words, "S")
    if not suffix or not (options.letter("f") or options.long(("--force",))):
        return []
    files = [word for word in words if not word.text.startswith("-")]
    unpacked = [Word(word.source, word.text.removesuffix(suffix)) for word in files if word.text.endswith(suffix)]
    return [*unpacked, *(Word(word.source, f"{word.text}{suffix}", known=word.known) for word in files)]


def _unpacked_over(name: str, words: Sequence[Word]) -> list[Word]:
    """The directories whose files an archiver is told to replace, when it is."""
    if name in ARCHIVERS:
        options = _options_of_archiver(words, _ARCHIVING[name])
        unpacks = options.letter("x") or options.long(("--extract", "--get"))
        replaces = unpacks and (options.letter("U") or options.long(_UNPACKS_OVER))
        into = _values(words, "C", _ARCHIVING[name], ("--directory",))
    elif name == "unzip":
        replaces = given(words, "dxP").letter("o")
        into = _values(words, "d", "xP", ())
    else:
        return []
    return (into or [Word(".", ".")]) if replaces else []
