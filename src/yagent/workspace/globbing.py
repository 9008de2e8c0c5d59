"""The files a shell pattern stands for, found the way bash finds them (no `**`, hidden names only when asked for)."""

from __future__ import annotations

import fnmatch
import re

from yagent.patterns import pattern
from yagent.workspace.file_system import FileSystem

MAX_MATCHES = 300

SET = r"\[[!^]?\]?(?:\[:\w*:\]|\[=.=\]|\[\..*?\.\]|[^\]])*\]"
"""A set in brackets, with the classes, equivalents and collating symbols that may stand in one (Bash Reference Manual, 3.5.8.1)."""

_SET = pattern(SET)
_CERTAIN_SET = pattern(r"\[(?:[*?\[]|!?(?:[A-Za-z0-9_.](?:-[A-Za-z0-9_.])?)+)\]")


def expand(pattern: str, directory: str, file_system: FileSystem) -> tuple[str, ...] | None:
    """Return the matches of a pattern (literal wildcards bracketed) as bash would write them, None when there are too many.

    No match gives nothing; bash then passes the pattern itself.
    """
    parts = pattern.split("/")
    found = ["/"] if pattern.startswith("/") else [""]
    for index, part in enumerate(parts):
        if part == "":
            continue
        last = index == len(parts) - 1
        found = [match for base in found for match in _matches(base, part, directory, file_system)]
        if len(found) > MAX_MATCHES:
            return None
        if not last:
            found = [f"{match}/" for match in found]
    return tuple(sorted(found))


def _matches(base: str, part: str, directory: str, file_system: FileSystem) -> list[str]:
    where = base if base.startswith("/") else f"{directory}/{base}"
    part = _SET.sub(lambda found: found[0] if _CERTAIN_SET.fullmatch(found[0]) else "?", part)  # which may be too many, never too few
    if not re.search(r"[*?\[]", part):
        return [f"{base}{part}"] if part in (".", "..") or file_system.look(f"{where.rstrip('/')}/{part}") is not None else []
    plain = re.sub(r"\[([*?\[])\]", r"\1", part)
    if not re.search(r"[*?]|\[.+\]", re.sub(r"\[[*?\[]\]", "", part)):
        return [f"{base}{plain}"] if file_system.look(f"{where.rstrip('/')}/{plain}") is not None else []
    names = [name for name in file_system.names(where) if part.startswith(".") or not name.startswith(".")]
    return [f"{base}{name}" for name in names if fnmatch.fnmatchcase(name, part)]
