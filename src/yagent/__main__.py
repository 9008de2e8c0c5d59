"""Entry point. The exact question for the version is answered without importing anything of weight."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

YOUNG_OBJECTS = 20_000  # between two looks for garbage: most of what a task makes lives long, and a look at every 700 finds nothing
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def main() -> None:
    """Run yagent with the arguments of the process; does not return, except for `--version`."""
    try:
        if sys.argv[1:] in (["--version"], ["-V"]) and _told_version():
            return
        run = _imported()
        run()
    except KeyboardInterrupt:
        _interrupted()


def _imported() -> Callable[[], NoReturn]:
    """The whole program. Whoever interrupts while it is imported ends it at once: there is nothing yet that would need an orderly end."""
    import signal

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else whoever started us wants it ignored
        signal.signal(signal.SIGINT, _interrupted)
    gc.disable()  # nothing that is imported is garbage; looking for some takes a tenth of the start
    from yagent.apps.cli.main import main as run

    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()
    signal.signal(signal.SIGINT, before)
    return run


def _interrupted(*_: object) -> NoReturn:
    """End as a shell expects after Ctrl-C. An exception would be told of, or be lost in the import machinery."""
    with suppress(OSError):
        os.write(2, b"yagent: stopped.\n")
    os._exit(130)


def _told_version() -> bool:
    """Whether the version could be told; where not, the whole program says why."""
    from yagent._version import VERSION

    try:
        return os.write(1, f"yagent {VERSION}\n".encode()) > 0
    except OSError:
        return False


if __name__ == "__main__":
    main()
