"""Opens files of ours for reading, whatever somebody put in their place: a pipe would be waited for, a device read without end."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from yagent.runtime.atomic import NotRegularFileError


def open_regular(path: Path) -> BinaryIO:
    """Open what `path` leads to, without waiting. Raises NotRegularFileError where it is no regular file, else OSError as the system."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise NotRegularFileError(f"{path} is not a regular file, so it is not read; move it away")
