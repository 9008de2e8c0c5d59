"""When the machine has no more to give: that is no failure of a tool, and the same call may succeed in a moment."""

import errno
from collections.abc import Mapping
from typing import Final

_LACKING: Final[Mapping[int, str]] = {
    errno.EMFILE: "open files",
    errno.ENFILE: "open files",
    errno.ENOMEM: "memory",
}
_STARTS: Final = "processes or threads"
_STARTER: Final = "subprocess"  # the module of the standard library that starts them


def lacking(error: BaseException) -> str:
    """What there was no more of when this was raised, "" when it tells of something else."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, RuntimeError):
        return _STARTS if "can't start new thread" in str(error) else ""
    if isinstance(error, BlockingIOError):
        return _STARTS if _by_a_start(error) else ""
    return _LACKING.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def _by_a_start(error: BlockingIOError) -> bool:
    """Whether it was raised by starting a process: locks, and files that do not wait, tell of the same number."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == _STARTER


def told(tool: str, what: str) -> str:
    """The sentence for the model."""
    return (
        f"{tool} could not be carried out: a limit of this machine is reached, it has no more {what} to give now. "
        "Nothing is wrong with the call: end background commands that are no longer needed, then make it again, or ask for less at once."
    )
