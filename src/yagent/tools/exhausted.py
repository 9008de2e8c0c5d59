"""When the machine has no more to give: that is no failure of a tool, and the same call may succeed in a moment."""

import errno
from collections.abc import Mapping
from typing import Final

_LACKING: Final[Mapping[int, str]] = {
    errno.EMFILE: "open files",
    errno.ENFILE: "open files",
    errno.EAGAIN: "processes or threads",
    errno.ENOMEM: "memory",
}


def lacking(error: BaseException) -> str:
    """What there was no more of when this was raised, "" when it tells of something else."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, RuntimeError):
        return "processes or threads" if "can't start new thread" in str(error) else ""
    return _LACKING.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def told(tool: str, what: str) -> str:
    """The sentence for the model."""
    return (
        f"{tool} could not be carried out: a limit of this machine is reached, it has no more {what} to give now. "
        "Nothing is wrong with the call: end background commands that are no longer needed, then make it again, or ask for less at once."
    )
