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
from yagent.rollout.index import IN_USE, SessionSummary
from yagent.session.request import Resume

SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions(WorkOptions):
    """Options of `resume`."""

    session: Annotated[str | None, typer.Argument(metavar="ID", help="The session's id, or its first characters.")] = None


def command(context: typer.Context, options: ResumeOptions) -> None:
    """Go on with a session that was stopped, exactly where it stood."""
    check(options)
    session = _chosen(options.output) if options.session is None else options.session.strip()
    if session is None:
        raise SystemExit(SUCCESS)
    if not session:
        raise UnusableOption("The id is empty. Leave it out to see which sessions there are.")
    raise SystemExit(carry_out(None, options, Resume(session)))


def _chosen(output: str) -> str | None:
    """The id of the session that somebody at the terminal chooses, None for none. Without a terminal only the list is written, and where
    a document is expected not even that. Raises `UnusableOption`."""
    with records() as home:
        found = recorded_here(home, SHOWN)
    terminal = open_terminal(os.environ)
    if terminal is None and output != "text":
        raise UnusableOption(f"Nobody can be asked which session to go on with. Name it. {_newest_that_can(found)}")
    if not found:
        return None
    rows = aligned([[str(number), *cells(summary)] for number, summary in enumerate(found, 1)])
    if terminal is None:
        print_lines(rows)
        write_to_standard_error(f"yagent: {_newest_that_can(found)}")
        return None
    try:
        return _asked(terminal, [*rows], found)
    finally:
        os.close(terminal)


def _newest_that_can(found: list[SessionSummary]) -> str:
    """How to go on with the newest session that can as it stands, in one sentence."""
    newest = next((summary for summary in found if summary.resumable), None)
    if newest is not None:
        return f"The newest that can go on: yagent resume {visible(newest.session)}"
    free = next((summary for summary in found if summary.reason != IN_USE), None)
    return "None can go on as it stands." + (f' With new words: yagent -r {visible(free.session)} -p "…"' if free is not None else "")


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
