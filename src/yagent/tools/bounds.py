"""Keep a result within what a model can use, and say what was left out."""

from typing import Final

from yagent.patterns import pattern

MAX_BYTES: Final = 34_000  # room for the 32 kB that a command may print, and remarks
MAX_LINES: Final = 2_000
NOTHING: Final = "(no output)"
_HEAD_SHARE: Final = 0.6
_SURROGATES: Final = pattern("[\ud800-\udfff]")


def sayable(text: str) -> str:
    """The text as UTF-8 can carry it: lone surrogates (bytes of a file name that are no characters) become \ufffd."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def bounded(text: str, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES) -> str:
    """The text when it fits, else its head and tail with a line between them that counts what is missing; "(no output)" when it is blank.

    Sizes are of UTF-8. Lines are kept whole; one that is longer than its part is cut between characters.
    """
    if not text.strip():
        return NOTHING
    size = len(text.encode(errors="replace"))
    lines = text.splitlines(keepends=True)
    if size <= max_bytes and len(lines) <= max_lines:
        return text
    head = _leading(lines, int(max_bytes * _HEAD_SHARE), int(max_lines * _HEAD_SHARE))
    tail = _trailing(lines, max_bytes - int(max_bytes * _HEAD_SHARE), max_lines - int(max_lines * _HEAD_SHARE))
    missing = size - len((head + tail).encode(errors="replace"))
    left_out = max(0, len(lines) - len(head.splitlines()) - len(tail.splitlines()))
    what = f"{left_out} lines ({missing} bytes)" if left_out else f"{missing} bytes of a long line"
    newline = "" if head.endswith("\n") else "\n"
    advice = "To see them, ask for less at once: a range, a narrower pattern, a filter."
    return f"{head}{newline}[... {what} left out here. {advice} ...]\n{tail}"


def _leading(lines: list[str], max_bytes: int, max_lines: int) -> str:
    """Whole lines from the start, or the start of the first line when that alone is too long."""
    taken, size = [], 0
    for line in lines[:max_lines]:
        size += len(line.encode(errors="replace"))
        if size > max_bytes:
            break
        taken.append(line)
    return "".join(taken) or lines[0].encode(errors="replace")[:max_bytes].decode(errors="ignore")


def _trailing(lines: list[str], max_bytes: int, max_lines: int) -> str:
    """Whole lines up to the end, or the end of the last line when that alone is too long."""
    taken, size = [], 0
    for line in reversed(lines[-max_lines:]):
        size += len(line.encode(errors="replace"))
        if size > max_bytes:
            break
        taken.append(line)
    return "".join(reversed(taken)) or lines[-1].encode(errors="replace")[-max_bytes:].decode(errors="ignore")
