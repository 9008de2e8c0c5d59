"""Entry point. The exact question for the version is answered without importing anything of weight."""

import gc
import sys


def main() -> None:
    """Run yagent with the arguments of the process; does not return, except for `--version`."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from yagent._version import VERSION

        sys.stdout.write(f"yagent {VERSION}\n")
        return
    gc.disable()  # nothing that is imported is garbage; looking for some takes a tenth of the start
    from yagent.apps.cli.main import main as run

    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
