"""`yagent resume [ID]`: go on with a session exactly where it stood; without an id, say which there are and ask."""

import os
from typing import Annotated

import typer

from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.run import UnusableOption, WorkOptions, carry_out, check
from yagent.apps.cli.sessions.finding import print_lines, records
from yagent.apps.cli.sessions.listing import aligned, cells, recorded_here
from yagent.apps.cli.terminal_asks import open_terminal
from yagent.apps.cli.terminal_line import ask_line
from yagent.protocol.stop import SUCCESS
from yagent.protocol.visible import visible
from yagent.records import dataclass
from yagent.rollout.index import SessionSummary
from yagent.session.request import Resume

SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions(WorkOptions):
    """Options of `resume`."""

    session: Annotated[str | None, typer.Argument(metavar="[ID]", help="The session's id, or its first characters.")] = None


def command(context: typer.Context, options: ResumeOptions) -> None:
    """Go on with a session that was stopped, exactly where it stood."""
    check(options)
    session = _chosen() if options.session is None else options.session.strip()
    if session is None:
        raise SystemExit(SUCCESS)
    if not session:
        raise UnusableOption("The id is empty. Leave it out to see which sessions there are.")
    raise SystemExit(carry_out(None, options, Resume(session)))


def _chosen() -> str | None:
    """The id of the session that somebody at the terminal chooses, None for none; without a terminal only the list is written."""
    with records() as home:
        found = recorded_here(home, SHOWN)
    if not found:
        return None
    rows = aligned([[str(number), *cells(summary)] for number, summary in enumerate(found, 1)])
    terminal = open_terminal(os.environ)
    if terminal is None:
        print_lines(rows)
        write_to_standard_error(f"yagent: go on with one of them: yagent resume {visible(found[0].session)}")
        return None
    try:
        return _asked(terminal, [*rows], found)
    finally:
        os.close(terminal)


def _asked(terminal: int, rows: list[str], found: list[SessionSummary]) -> str | None:
    """What is answered, a number of the list or an id; None when nothing is."""
    question = "\n".join([*rows, f"Go on with (1 to {len(rows)}, or an id; empty for none): "])
    while answer := ask_line(terminal, question):
        if not answer.isdecimal() or any(summary.session == answer for summary in found) or len(answer) > len(str(len(found))):
            return answer
        if 1 <= int(answer) <= len(found):
            return found[int(answer) - 1].session
        question = f"{answer} is not in the list (1 to {len(rows)}; empty for none): "
    return None
