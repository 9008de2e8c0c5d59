"""Entry point. The exact question for the version is answered without importing anything of weight."""

import gc
import os
import sys


def main() -> None:
    """Run yagent with the arguments of the process; does not return, except for `--version`."""
    if sys.argv[1:] in (["--version"], ["-V"]) and _told_version():
        return
    gc.disable()  # nothing that is imported is garbage; looking for some takes a tenth of the start
    from yagent.apps.cli.main import main as run

    gc.freeze()
    gc.enable()
    run()


def _told_version() -> bool:
    """Whether the version could be told; where not, the whole program says why."""
    from yagent._version import VERSION

    try:
        return os.write(1, f"yagent {VERSION}\n".encode()) > 0
    except OSError:
        return False


if __name__ == "__main__":
    main()
