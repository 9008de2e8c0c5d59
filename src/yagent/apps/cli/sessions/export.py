"""`yagent sessions export`: one session in one file, as Markdown for people or as one JSON document for programs.

Records are read one by one and written at once, so the length of a session does not matter.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.sessions.document import as_json
from yagent.apps.cli.sessions.finding import find, of_role, reading, records
from yagent.apps.cli.sessions.markdown import as_markdown
from yagent.apps.cli.standard_output import OutputClosed, StandardOutput
from yagent.errors import YagentError
from yagent.protocol.stop import PIPE_CLOSED, USAGE
from yagent.protocol.visible import visible
from yagent.records import dataclass
from yagent.runtime.atomic import write_pieces

PIECE = 1 << 16  # characters written at a time


class ExportRefused(YagentError):
    """There is no place to export to."""

    exit_code: ClassVar[int] = USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Options of `sessions export`."""

    session: Annotated[str, typer.Argument(metavar="ID", help="The session's id, or its first characters.")]
    format: Annotated[Literal["md", "json"], typer.Option("--format", help="Markdown for people, or one JSON document.")] = "md"
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to; standard output without it.")] = None
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False
    agent: Annotated[str | None, typer.Option("--agent", metavar="ROLE", help="Only what agents of this role did.")] = None


def command(context: typer.Context, options: ExportOptions) -> None:
    """Write what one session recorded as Markdown or JSON."""
    with records() as home:
        found = find(home, options.session)
        files = of_role(found, options.agent)
    pieces = reading(as_json(files) if options.format == "json" else as_markdown(files))
    if options.output is None or str(options.output) == "-":
        _to_standard_output(pieces)
        return
    target = Path(options.output)
    try:
        write_pieces(target, (piece.encode("utf-8") for piece in _gathered(pieces)), overwrite=options.force)
    except FileExistsError:
        raise ExportRefused(f"{target} exists. Name another file, or replace it with --force.") from None
    except OSError as failure:
        raise ExportRefused(f"{target} cannot be written: {failure.strerror}. Nothing was changed.") from failure
    write_to_standard_error(f"yagent: written: {visible(str(target))}")


def _to_standard_output(pieces: Iterable[str]) -> None:
    out = StandardOutput()
    try:
        for piece in _gathered(pieces):
            out.write_now(piece)
    except OutputClosed:
        raise SystemExit(PIPE_CLOSED) from None


def _gathered(pieces: Iterable[str]) -> Iterator[str]:
    """The same text in larger pieces."""
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)
