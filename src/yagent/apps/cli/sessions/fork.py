"""`yagent sessions fork`: begin again after a step of a recorded session."""

from typing import Annotated

import typer

from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.sessions.finding import find, print_lines, records
from yagent.records import dataclass
from yagent.rollout.reader import session_of
from yagent.runtime import supervise
from yagent.runtime.clock import SystemClock
from yagent.session.forking import fork_session


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOptions:
    """Options of `sessions fork`."""

    session: Annotated[str, typer.Argument(metavar="ID", help="The session's id, or its first characters.")]
    at: Annotated[
        int, typer.Option("--at", metavar="STEP", min=1, help="The Director's step after which to begin (sessions show --steps).")
    ]


def command(context: typer.Context, options: ForkOptions) -> None:
    """Begin a new session after a step of an old one.

    The old one stays as it is.
    """
    with records() as home:
        director = find(home, options.session)[0]
        made = supervise.run(fork_session(director.parent, session_of(director), options.at, SystemClock()))
    print_lines([made.session])
    write_to_standard_error("yagent: The conversation is as it was then; the files of the workspace are as they are now.")
    way_on = f"yagent resume {made.session}, or otherwise: " if made.goes_on else ""
    write_to_standard_error(f'yagent: Go on with: {way_on}yagent -r {made.session} -p "…"')
