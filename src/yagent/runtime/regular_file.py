"""Opens files of ours, whatever somebody put in their place: a pipe would be waited for, a device read or written without end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from yagent.runtime.atomic import NotRegularFileError

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def open_regular(path: Path) -> BinaryIO:
    """Open what `path` leads to, without waiting. Raises NotRegularFileError where it is no regular file, else OSError as the system."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise NotRegularFileError(f"{path} is not a regular file, so it is not read; move it away")


def append_to_regular(path: Path) -> int:
    """A descriptor that appends to `path`, without waiting; a missing file is made, readable by the user alone. A link is not followed.
    Raises NotRegularFileError where it is no regular file, else OSError as the system."""
    problem = NotRegularFileError(f"{path} is not a regular file, so nothing is written to it; move it away")
    try:
        descriptor = os.open(path, _APPEND, 0o600)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe that nobody reads, or a socket
            raise problem from error
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise problem
