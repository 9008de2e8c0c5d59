"""The command line: parse, then call. One module per command; a command only turns options into a request."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from typer.main import get_command

from yagent.apps.cli.application import application
from yagent.apps.cli.crash import tell_of_crash
from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.standard_output import flush_standard_streams, hold_standard_output, open_standard_descriptors, reader_has_left
from yagent.errors import YagentError
from yagent.protocol.stop import FAILED, INTERRUPTED, PIPE_CLOSED, SUCCESS
from yagent.protocol.visible import visible

PROMPT_OPTIONS = ("-p", "--prompt")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line of the process (or `arguments`) and exit with its code."""
    open_standard_descriptors()
    hold_standard_output()
    sys.excepthook = tell_of_crash
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
    except YagentError as failure:
        for line in str(failure).splitlines():
            write_to_standard_error(f"yagent: {visible(line)}")
        code = failure.exit_code
    except KeyboardInterrupt:
        write_to_standard_error("yagent: stopped.")
        code = INTERRUPTED
    except OSError:
        if not _told_unwritten():
            raise
        code = FAILED
    if _told_unwritten():
        code = code or FAILED
    sys.exit(code)


def _told_unwritten() -> bool:
    """Write out what is held back; whether it could not be written, which then was told."""
    why = flush_standard_streams()
    if why:
        write_to_standard_error(f"yagent: The output could not be written: {why}.")
    return bool(why)


def _run(arguments: Sequence[str]) -> int:
    """Parse and call; the exit code. Whose reader left while help was printed ended quietly, whatever the parser makes of it."""
    try:
        # the application itself would put its own hook for crashes over ours
        get_command(application())(normalised(arguments), prog_name="yagent")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else SUCCESS if end.code is None else FAILED
        return PIPE_CLOSED if code == FAILED and reader_has_left() else code
    return SUCCESS


def normalised(arguments: Sequence[str]) -> list[str]:
    """`-p -- TEXT` means that TEXT is the prompt whatever it begins with; the parser would take `--` itself for it."""
    found = list(arguments)
    for index in range(len(found) - 2):
        if found[index] in PROMPT_OPTIONS and found[index + 1] == "--":
            return [*found[:index], f"--prompt={found[index + 2]}", *found[index + 3 :]]
        if found[index] == "--":
            break
    return found
