"""The one log set-up, with the one redacting filter; crash reports go through it too.

Logger names decide the file: everything goes to `app-`, what comes from the llm, tools and delegation rooms also to a file of its own in
the directory of the task. Files are made when something is first written to them, one per day, readable by the user alone; sessions of
several processes share `app-`, so every line says whose it is. While a session runs, lines are written together a moment after the first of
them; a warning brings all before it to the disk at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import re
import sys
import threading
import traceback
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from contextvars import ContextVar
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path

from yagent.patterns import pattern
from yagent.runtime.atomic import NotRegularFileError, make_private_directory, write_bytes
from yagent.runtime.clock import Clock
from yagent.runtime.regular_file import append_to_regular

ROOT = "yagent"
NOBODY = "-"
LINE = "%(levelname)s %(name)s: %(message)s"
MASK = "[redacted]"
SHORTEST_SECRET = 6
GATHER_SECONDS = 0.2
KEPT_DAYS = 30

_task: ContextVar[str] = ContextVar("task whose lines are logged", default="")

_DIRECTORY_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_OURS = pattern(r"(?:app|llm|llm-error|tool|delegate|crash)-(\d{4}-\d\d-\d\d)[-.].*")

FILES_BY_LOGGER = (
    ("yagent.llm", "llm", logging.NOTSET),
    ("yagent.llm", "llm-error", logging.ERROR),
    ("yagent.tools", "tool", logging.NOTSET),
    ("yagent.agents.delegation", "delegate", logging.NOTSET),
)

SECRET_SHAPES = (
    # what a text must hold in lower case to be worth a search, then what is kept and what is hidden
    ("author", pattern(r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token)\s+)?)([^\s\"',;]+)")),
    ("bearer", pattern(r"(?i)(\bbearer\s+)([A-Za-z0-9._~+/=-]{6,})")),
    ("key", pattern(r"(?i)(api[-_]?key[\"']?\s*[:=]\s*[\"']?)([^\s\"',;&]+)")),
    ("=", pattern(r"(?i)([?&](?:key|token|access_token|api_key)=)([^\s&\"']+)")),
    ("://", pattern(r"(\w://[^\s/:@]*:)([^\s/@]+)(?=@)")),
    ("k-", pattern(r"()((?<![A-Za-z0-9])(?:sk|pk|rk)-[A-Za-z0-9_-]{8,})")),
)


class Redactor:
    """Replaces secrets in text: known values wherever they stand, and what looks like a key or a credential header."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Learn more secret values. Those under six characters are left out: hiding them would hide ordinary words."""
        self._secrets.update(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)
        if self._secrets:
            longest_first = sorted(self._secrets, key=len, reverse=True)
            self._known = re.compile("|".join(re.escape(secret) for secret in longest_first))

    def redact(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        lowered = text.lower()
        for sign, shape in SECRET_SHAPES:
            if sign in lowered:
                text = shape.sub(rf"\g<1>{MASK}", text)
        return text


def lines_belong_to(task: str) -> None:
    """Whose the lines are that the running asyncio task logs from now on, and the tasks and threads it begins."""
    _task.set(task)


class DailyFiles(logging.Handler):
    """Writes redacted lines to one file per kind and day, `app-` for all and the others for each task by itself. Trouble with the disk
    stops the writing, never the run.

    `owner` is the session that lines belong to outside its tasks, "" while there is none.
    """

    def __init__(self, directory: Path, clock: Clock, redactor: Redactor) -> None:
        super().__init__()
        self.problem: str | None = None
        self._is_told = False
        self.owner = ""
        self._directory = directory
        self._clock = clock
        self._redactor = redactor
        self._open: dict[str, tuple[Path, int]] = {}
        self._lines: list[tuple[datetime, str, tuple[str, ...], str]] = []
        self._gathering: tuple[int, asyncio.Event] | None = None

    async def gather(self) -> None:
        """From now on until cancelled, let lines of this thread wait for each other, for `GATHER_SECONDS` at most."""
        arrived = asyncio.Event()
        self._gathering = threading.get_ident(), arrived
        try:
            while True:
                await arrived.wait()
                await self._clock.sleep(GATHER_SECONDS)
                arrived.clear()
                self.flush()
        finally:
            self._gathering = None
            self.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record, and write at once what cannot wait."""
        whose = _task.get() or self.owner or NOBODY
        self._lines.append((self._clock.wall(), whose, _kinds(record.name, record.levelno), self._text(record)))
        if self._gathering is None or self._gathering[0] != threading.get_ident() or record.levelno >= logging.WARNING:
            self.flush()
        else:
            self._gathering[1].set()

    def flush(self) -> None:
        """Write what has gathered, each line to every file it belongs to."""
        self.acquire()
        try:
            lines, self._lines = self._lines, []
            files: dict[tuple[str, Path], list[str]] = defaultdict(list)
            for moment, whose, kinds, text in lines:
                begin = f"{moment.isoformat(timespec='milliseconds')} {whose} "
                told = self._redactor.redact(text).replace("\n", f"\n{begin}| ")
                line = f"{begin}{told}\n"
                name = f"{begin[: len('2026-11-30')]}.log"
                files["app", self._directory / f"app-{name}"].append(line)
                for kind in kinds:
                    files[kind, self._place(whose) / f"{kind}-{name}"].append(line)
            for (kind, path), together in files.items():
                self._append(kind, path, "".join(together).encode("utf-8", "backslashreplace"))
        finally:
            self.release()

    def trouble(self) -> str | None:
        """What kept a line that was logged until now from its file, told once."""
        self.flush()
        told, self._is_told = self._is_told, self._is_told or self.problem is not None
        return None if told else self.problem

    def close(self) -> None:
        """Close the files and stop listening."""
        logging.getLogger(ROOT).removeHandler(self)
        self.flush()
        self.acquire()
        try:
            for _, descriptor in self._open.values():
                os.close(descriptor)
            self._open.clear()
        finally:
            self.release()
        super().close()

    def _text(self, record: logging.LogRecord) -> str:
        try:
            return self.format(record)
        except (TypeError, ValueError, KeyError):
            return f"{record.levelname} {record.name}: {record.msg!r} (its arguments do not fit: {record.pathname}:{record.lineno})"

    def _place(self, whose: str) -> Path:
        """The directory for what one task, or a session outside its tasks, does."""
        return self._directory / whose if _DIRECTORY_NAME.fullmatch(whose) else self._directory

    def _append(self, kind: str, path: Path, lines: bytes) -> None:
        try:
            os.write(self._file(kind, path), lines)
        except (OSError, NotRegularFileError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.problem = self.problem or f"the log in {self._directory} cannot be written ({reason}); this run goes on without it"

    def _file(self, kind: str, path: Path) -> int:
        """The newest file of each kind stays open."""
        opened = self._open.get(kind)
        if opened is None or opened[0] != path:
            if opened is not None:
                del self._open[kind]
                os.close(opened[1])
            make_private_directory(path.parent)
            opened = (path, append_to_regular(path))
            self._open[kind] = opened
        return opened[1]


def configure(directory: Path, *, clock: Clock, level: int = logging.INFO, redactor: Redactor) -> DailyFiles:
    """Send what yagent logs to files in `directory`; a second call replaces the first. `problem` of the result tells of trouble."""
    logger = logging.getLogger(ROOT)
    for handler in [each for each in logger.handlers if isinstance(each, DailyFiles)]:
        logger.removeHandler(handler)
        handler.close()
    files = DailyFiles(directory, clock, redactor)
    files.setFormatter(logging.Formatter(LINE))
    logger.setLevel(level)
    logger.addHandler(files)
    return files


def remove_old(directory: Path, today: date) -> None:
    """Remove what was logged more than `KEPT_DAYS` ago, and the directories of tasks that have nothing left. Blocks.

    Raises OSError when something cannot be removed.
    """
    first_kept = (today - timedelta(days=KEPT_DAYS)).isoformat()
    for place, inner, names in os.walk(directory, topdown=False):
        old = [name for name in names if (ours := _OURS.fullmatch(name)) and ours[1] < first_kept]
        for name in old:
            Path(place, name).unlink(missing_ok=True)
        if old and len(old) == len(names) and not inner:
            with suppress(OSError):  # another process has just logged there
                Path(place).rmdir()


def crash_report(error: BaseException, directory: Path, *, clock: Clock, redactor: Redactor) -> Path | None:
    """Write what is needed to understand a crash, without secrets; the file, or None when it cannot be written. Blocks."""
    now = clock.wall()
    text = "\n".join(
        (
            f"yagent crashed at {now.isoformat(timespec='seconds')}",
            f"python {platform.python_version()} on {platform.platform()}, process {os.getpid()}, {sys.executable}",
            "",
            "".join(traceback.format_exception(error)),
        )
    )
    path = directory / f"crash-{now:%Y-%m-%d-%H%M%S-%f}-{os.getpid()}.txt"
    try:
        make_private_directory(directory)
        write_bytes(path, redactor.redact(text).encode("utf-8", "backslashreplace"))
    except OSError:
        return None
    return path


@cache
def _kinds(logger: str, level: int) -> tuple[str, ...]:
    """The files beside `app-` that a record belongs to."""
    return tuple(kind for name, kind, lowest in FILES_BY_LOGGER if level >= lowest and (logger == name or logger.startswith(name + ".")))
