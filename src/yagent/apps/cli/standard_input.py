"""Where a prompt comes from: an option, a file, standard input, or an option with standard input as context.

A prompt given as an option never waits for standard input: it is looked at only when it is a pipe or a file, and for at most 200 ms until
its first byte (decisions, "Standard input").
"""

import os
import select
import stat
from pathlib import Path
from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.stop import USAGE

FIRST_BYTE_SECONDS = 0.2
LIMIT = 10 * 1024 * 1024  # bytes
CHUNK = 1 << 16


class PromptError(YagentError):
    """There is no usable prompt."""

    exit_code: ClassVar[int] = USAGE


def read_prompt(option: str | None, taskfile: Path | None, descriptor: int = 0) -> str:
    """The user's words, whole and unaltered. Blocking; called before the event loop starts. Raises `PromptError`."""
    if option is not None and taskfile is not None:
        raise PromptError("Give the prompt either with -p or with -f, not both.")
    if taskfile is not None:
        return _with_context(_from_file(taskfile), _context(descriptor))
    if option is None or option == "-":
        if option is None and not _is_pipe_or_file(descriptor):
            raise PromptError('There is no prompt. Give one with -p "…", with -f FILE, or through a pipe.')
        return _not_blank(_decoded(_read_to_end(descriptor), "standard input"), "standard input")
    return _with_context(_not_blank(_encodable(option), "the prompt"), _context(descriptor))


def read_further_words(option: str | None, taskfile: Path | None, descriptor: int = 0) -> str | None:
    """What the user says in a session that goes on; None when nothing is said. A pipe or a file without an option is words only when
    something comes from it in time. Blocking. Raises `PromptError`."""
    if option is not None or taskfile is not None:
        return read_prompt(option, taskfile, descriptor)
    words = _context(descriptor)
    return words if words.strip() else None


def _encodable(prompt: str) -> str:
    """An argument as text. Bytes that are none arrive as lone surrogates, which no model could be sent."""
    return _decoded(prompt.encode("utf-8", "surrogateescape"), "the prompt")


def _with_context(prompt: str, context: str) -> str:
    return f"{prompt}\n\n<standard_input>\n{context}\n</standard_input>" if context.strip() else prompt


def _context(descriptor: int) -> str:
    """What was piped in beside the prompt; "" when nothing came in time."""
    if not _is_pipe_or_file(descriptor) or not _has_something(descriptor):
        return ""
    return _decoded(_read_to_end(descriptor), "standard input")


def _is_pipe_or_file(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise PromptError("Standard input is a directory. Redirect a file or a pipe instead.")
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _has_something(descriptor: int) -> bool:
    ready, _, _ = select.select([descriptor], [], [], FIRST_BYTE_SECONDS)
    return bool(ready)


def _read_to_end(descriptor: int) -> bytes:
    parts, size = [], 0
    try:
        while part := os.read(descriptor, CHUNK):
            parts.append(part)
            size += len(part)
            if size > LIMIT:
                raise PromptError(
                    f"Standard input has more than {LIMIT // 1024 // 1024} MiB. Put it into a file and name the file in the prompt."
                )
    except OSError as failure:
        raise PromptError(f"Standard input cannot be read: {failure.strerror}.") from failure
    return b"".join(parts)


def _from_file(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise PromptError(f"{path} is not a regular file.")
        with path.open("rb") as stream:
            data = stream.read(LIMIT + 1)
    except OSError as failure:
        raise PromptError(f"{path} cannot be read: {failure.strerror}.") from failure
    if len(data) > LIMIT:
        raise PromptError(f"{path} has more than {LIMIT // 1024 // 1024} MiB. Name the file in a short prompt instead.")
    return _not_blank(_decoded(data, str(path)), str(path))


def _decoded(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise PromptError(f"{_first_upper(name)} is not UTF-8 text (byte {failure.start}). Convert it first.") from failure
    if "\0" in text:
        raise PromptError(f"{_first_upper(name)} holds binary data (a zero byte), not text.")
    return text


def _not_blank(text: str, name: str) -> str:
    if not text.strip():
        raise PromptError(f"{_first_upper(name)} is empty. Say what you want done.")
    return text


def _first_upper(name: str) -> str:
    """A name at the beginning of a sentence; paths stay as they are."""
    return name[:1].upper() + name[1:]
