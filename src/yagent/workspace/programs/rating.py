"""What a command does, as far as its program and arguments tell."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from yagent.records import dataclass
from yagent.workspace.actions import Change
from yagent.workspace.shell_syntax.words import Word


class Nature(Enum):
    """READS: known to read only, with these arguments. CHANGES: changes the files it names and no others. OPAQUE: may do anything
    the user may, by itself. ASKS: reaches beyond the workspace, or loses work, or changes what other programs do."""

    READS = "reads"
    CHANGES = "changes"
    OPAQUE = "opaque"
    ASKS = "asks"


@dataclass(frozen=True, slots=True)
class Read:
    """An operand that is read; `recursive` with everything below, `names_only` without the content of files."""

    word: Word
    recursive: bool = False
    names_only: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """An operand that is changed. `fills`: a directory that is there gets something added, whatever the change. `verb` says in words
    what is done to it ("moving to"), where the kind of change does not."""

    word: Word
    change: Change
    fills: bool = False
    verb: str = ""


@dataclass(frozen=True, slots=True)
class Rating:
    """A judgement on one command.

    `code` and `text` say why it asks. `mentions` are words of an opaque program that may be paths. `inert`: no argument whatever could
    make the program write or run anything, so words that are not known yet do no harm. `pattern` is the narrow rule offered ("" for the
    exact command); `lasting` whether it may be kept beyond the session; `runs` files whose content is executed.
    """

    nature: Nature
    code: str = ""
    text: str = ""
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()
    mentions: tuple[Word, ...] = ()
    runs: tuple[Word, ...] = ()
    inert: bool = False
    pattern: str = ""
    lasting: bool = True


def asking(code: str, text: str) -> Rating:
    """A command that asks in every mode but full-yolo."""
    return Rating(Nature.ASKS, code, text, lasting=False)


def reading(words: Sequence[Word], *, recursive: bool = False, inert: bool = False) -> Rating:
    """A command that reads its operands."""
    return Rating(Nature.READS, reads=tuple(Read(word, recursive) for word in words), inert=inert)


HARMLESS = Rating(Nature.READS, inert=True)
"""Reads no file and changes nothing, whatever its arguments."""
