"""What a search that found nothing says of the files it passes over: those that hold NUL bytes, some of which are text all the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from yagent.workspace.encoding import recognise
from yagent.workspace.named_path import NamedPath, printable
from yagent.workspace.reading import FileError, open_regular

_NAMED = 5
_LOOKED_INTO = 500
_HEAD = 4096


def said_of(directory: Path, listed: bytes, may_read: Callable[[Path], bool]) -> str:
    """How many files these are, and which are text, from their paths below a directory, each with a NUL behind it; "" for none.

    What may not be read is counted, and neither opened nor named. Blocks.
    """
    files = [os.fsdecode(piece).removeprefix("./") for piece in listed.split(b"\0")[:-1]]
    if not files:
        return ""
    texts = _texts(directory, files, may_read)
    more = ", …" if len(texts) > _NAMED else ""
    named = f", of which read_file reads: {', '.join(map(printable, texts[:_NAMED]))}{more}" if texts else ""
    return f"{len(files)} binary {'file was' if len(files) == 1 else 'files were'} not searched{named}"


def _texts(directory: Path, files: Sequence[str], may_read: Callable[[Path], bool]) -> list[str]:
    """Those of the first files that may be read and begin like text."""
    found = []
    for name in files[:_LOOKED_INTO]:
        if not may_read(directory / name):
            continue
        try:
            with open_regular(NamedPath(directory / name)) as file:
                head = file.read(_HEAD)
        except (OSError, FileError):
            continue
        if recognise(head or b"\0", partial=True) is not None:
            found.append(name)
    return found
