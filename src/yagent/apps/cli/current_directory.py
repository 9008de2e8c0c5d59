"""The directory the program was started in: asked for once, here."""

from pathlib import Path
from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.stop import USAGE


class NoDirectoryError(YagentError):
    """The directory the program was started in does not exist any more, or may not be entered."""

    exit_code: ClassVar[int] = USAGE


def current_directory() -> Path:
    """The current directory. Raises `NoDirectoryError` when it was deleted under the shell's feet."""
    try:
        return Path.cwd()
    except OSError as error:
        raise NoDirectoryError(
            f"The current directory cannot be used ({error.strerror}). Change to your project and start again."
        ) from error
