"""What killed runs leave: private temporary directories, made so that they can be told and removed later, and half-written files.

A run holds a lock on its directory, which the system takes back when it ends in whatever way. What is named like ours, belongs to us, is
locked by nobody and names a process that is gone is left behind.
"""

import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from yagent.patterns import pattern
from yagent.runtime.atomic import TEMPORARY_PREFIX

MOST_AT_ONCE = 8
"""How many directories one call removes; the next one goes on."""

_NAME = pattern(r"yagent-([0-9]+)-[0-9a-f]{8}-[a-z0-9_]{8}")
_HALF_WRITTEN = pattern(re.escape(TEMPORARY_PREFIX) + r"([0-9]+)-[0-9a-f]{16}\.tmp")
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK


def private_prefix() -> str:
    """The beginning of a private directory's name, for `tempfile`. Nobody else would name anything so."""
    return f"yagent-{os.getpid()}-{secrets.token_hex(4)}-"


def is_private(directory: Path) -> bool:
    """Say whether a directory is named as a private one."""
    return _NAME.fullmatch(directory.name) is not None


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Keep a private directory from counting as left behind. Where it cannot be locked, the process in its name does so alone."""
    try:
        descriptor = os.open(directory, _OPEN)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def remove_left_behind(within: Path) -> list[Path]:
    """Remove the private directories that killed runs left in a directory; links are never followed. Returns those removed. Blocks.

    What cannot be looked at, locked or removed stays.
    """
    removed: list[Path] = []
    with suppress(OSError):
        for name in sorted(os.listdir(within)):
            if len(removed) == MOST_AT_ONCE:
                break
            match = _NAME.fullmatch(name)
            if match is not None and not _is_running(int(match[1])) and _removed(within / name):
                removed.append(within / name)
    return removed


def remove_half_written(directory: Path) -> list[Path]:
    """Remove the temporary files that killed processes of ours left beside files they were writing. Returns those removed. Blocks.

    Only looks at the directory itself; what cannot be looked at or removed stays.
    """
    removed: list[Path] = []
    with suppress(OSError):
        for name in sorted(os.listdir(directory)):
            match = _HALF_WRITTEN.fullmatch(name)
            if match is None or _is_running(int(match[1])):
                continue
            status = os.lstat(directory / name)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                os.unlink(directory / name)
                removed.append(directory / name)
    return removed


def _is_running(pid: int) -> bool:
    """Whether there may be such a process; one that got the number later only keeps the directory for another while."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _removed(directory: Path) -> bool:
    try:
        descriptor = os.open(directory, _OPEN)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _open_up(directory)
        shutil.rmtree(directory, ignore_errors=True)
        return not os.path.lexists(directory)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _open_up(directory: Path) -> None:
    """Give ourselves the rights that a command took away from what it made."""
    for root, names, _ in os.walk(directory):
        for name in names:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                with suppress(OSError):
                    os.chmod(path, 0o700)
