"""`yagent sessions list`: what was recorded, in lines."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import typer

from yagent.apps.cli.current_directory import current_directory
from yagent.apps.cli.progress import one_line, write_to_standard_error
from yagent.apps.cli.sessions.finding import moment, print_lines, records
from yagent.protocol.visible import visible
from yagent.records import dataclass
from yagent.rollout.index import GONE, IN_USE, SessionSummary, list_sessions
from yagent.rollout.reader import Account
from yagent.runtime.paths import DataHome, project_id

PROMPT_WIDTH = 80
UNFINISHED = "unfinished"
NOT_NOW: Mapping[str, str] = {IN_USE: "open elsewhere", GONE: "directory is gone"}
ENDS: Mapping[str, str] = {
    "agent_exit": "answered",
    "plain_text": "answered",
    "cancelled": "stopped",
    "paused": "paused",
    "max_steps": "step limit",
    "cost_limit": "cost limit",
    "time_limit": "time limit",
    "total_timeout": "time limit",
    "idle_timeout": "failed: idle",
    "llm_error": "failed: model",
    "circuit_breaker_open": "failed: model unavailable",
    "context_overflow": "failed: context full",
    "loop_detected": "failed: in a loop",
    "panic": "failed: defect",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Options of `sessions list`."""

    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many sessions at most.")] = 20
    all: Annotated[bool, typer.Option("--all", help="Those of all directories, not only of this one.")] = False
    json: Annotated[bool, typer.Option("--json", help="One JSON document, for programs.")] = False


def list_command(context: typer.Context, options: ListOptions) -> None:
    """List the recorded sessions.

    Those of this directory, newest first: how each ended, and whether it can go on.
    """
    with records() as home:
        found = _everywhere(home, options.limit) if options.all else recorded_here(home, options.limit)
    if options.json:
        print_lines([json.dumps([_data(summary) for summary in found], indent=1)])
        return
    print_lines(aligned([cells(summary, with_place=options.all) for summary in found]))


def recorded_here(home: DataHome, limit: int) -> list[SessionSummary]:
    """The newest sessions of this directory; what is left out, and that there are none, is said on standard error."""
    account = Account()
    found = list_sessions(home.rollout_dir(project_id(str(current_directory()))), limit, account)
    _tell(account, f" for {visible(str(current_directory()))}" if not found else None)
    return found


def _everywhere(home: DataHome, limit: int) -> list[SessionSummary]:
    account = Account()
    above = home.rollout_dir("any").parent
    places = sorted(above.iterdir()) if above.is_dir() else []
    found = [summary for place in places for summary in list_sessions(place, limit, account)]
    _tell(account, "" if not found else None)
    return sorted(found, key=lambda summary: summary.updated, reverse=True)[:limit]


def _tell(account: Account, nowhere: str | None) -> None:
    for text in account.skipped:
        write_to_standard_error(f"yagent: {visible(text)}")
    if nowhere is not None:
        write_to_standard_error(f"yagent: no session is recorded{nowhere}.")


def cells(summary: SessionSummary, *, with_place: bool = False) -> list[str]:
    """The cells of one session, as a screen may show them."""
    place = [summary.project_dir] if with_place else []
    told = [summary.session, moment(summary.updated or summary.started), how_it_ended(summary), how_it_goes_on(summary), *place]
    return [*map(visible, told), one_line(summary.prompt, PROMPT_WIDTH)]


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of cells as lines with columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(_padded(row, widths)).rstrip() for row in rows)


def _padded(row: Sequence[str], widths: Iterable[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]


def how_it_ended(summary: SessionSummary) -> str:
    """The end of a session in words."""
    if not summary.stop_reason:
        return "at work" if summary.reason == IN_USE else UNFINISHED
    words = ENDS.get(summary.stop_reason, f"failed: {summary.stop_reason}")
    if words == "answered" and summary.status in ("partial", "error"):
        words = "answered in part" if summary.status == "partial" else "failed: gave up"
    return f"{words}, {summary.denied} denied" if summary.denied else words


def how_it_goes_on(summary: SessionSummary) -> str:
    """Whether it can go on, and how, in words."""
    if summary.reason in NOT_NOW:
        return NOT_NOW[summary.reason]
    return "can go on: resume ID" if summary.resumable else "can go on: -r ID -p"


def _data(summary: SessionSummary) -> dict[str, object]:
    return {
        "session": summary.session,
        "started": summary.started,
        "updated": summary.updated,
        "project_dir": summary.project_dir,
        "prompt": summary.prompt,
        "stop_reason": summary.stop_reason or None,
        "status": summary.status or None,
        "denied": summary.denied,
        "resumable": summary.resumable,
        "reason": summary.reason,
        "file": str(summary.path),
    }
