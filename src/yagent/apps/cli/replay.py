"""`yagent replay …`: a recorded session carried out again, with the model's words from the record and everything else real."""

import os
from typing import Annotated

import typer

from yagent.apps.cli.current_directory import current_directory
from yagent.apps.cli.one_shot import OneShot, run_one_shot
from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.run import UnusableOption
from yagent.protocol.stop import FAILED, INTERRUPTED, PIPE_CLOSED, SUCCESS, TERMINATED
from yagent.protocol.visible import visible
from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.runtime.clock import SystemClock
from yagent.session.replay_session import OpenReplay, ReplayRequest, open_replay


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """Options of a replay."""

    record: Annotated[str, typer.Argument(metavar="FILE|ID", help="The record of a session, its id, or the first characters of the id.")]
    until: Annotated[int | None, typer.Option("--until", metavar="N", min=1, help="Only the first N steps of the Director.")] = None
    model: Annotated[
        str | None, typer.Option("-m", "--model", metavar="NAME", help="This model goes on live after --until, else from the start.")
    ] = None
    check: Annotated[bool, typer.Option("--check", help="Stop at the first divergence; the exit code says whether there was one.")] = False
    here: Annotated[bool, typer.Option("--here", help="Work in this directory as it is, not in a copy of the repository.")] = False


def command(context: typer.Context, options: ReplayOptions) -> None:
    """Carry out a recorded session again.

    It says where it first parts from its record. The model's words come from there; tools, edits and commands are real, in a copy of
    the repository at the recorded commit. What -y would ask for is refused.
    """
    if options.model is not None and not options.model.strip():
        raise UnusableOption("-m is empty. Name the model that is to go on, or leave it out.")
    request = ReplayRequest(
        record=options.record,
        directory=current_directory(),
        environ=dict(os.environ),
        until=options.until,
        model=options.model or "",
        strict=options.check,
        in_place=options.here,
    )
    raise SystemExit(supervise.run(_replay(request)))


async def _replay(request: ReplayRequest) -> int:
    clock = SystemClock()
    async with open_replay(request, clock) as opened:
        _tell(*_introduction(opened, request))
        run = OneShot(prompt=opened.recording.tasks[0].prompt, quiet=request.strict)
        code = await run_one_shot(opened.client, run, clock)
        if code in (INTERRUPTED, TERMINATED, PIPE_CLOSED):  # what was stopped differs from what was recorded, as it should
            return code
        _tell(*_account(opened))
        if request.strict:
            return FAILED if opened.replay.divergences else SUCCESS
        return code


def _introduction(opened: OpenReplay, request: ReplayRequest) -> list[str]:
    """What is about to happen, and what to know of it."""
    recording = opened.recording
    tasks = f"{len(recording.tasks)} tasks" if len(recording.tasks) > 1 else "1 task"
    until = "" if request.until is None else f", up to step {request.until}"
    live = f"; then {request.model} goes on" if request.model else ""
    return [
        f"Replay of session {recording.session}: {tasks}, {recording.steps} steps{until}{live}. It works in {opened.place.workspace}.",
        *(f"Note: {remark}" for remark in opened.remarks),
    ]


def _account(opened: OpenReplay) -> list[str]:
    """Where the replay and its record part."""
    lines = [f"Note: {remark}" for remark in opened.replay.session.remarks]
    divergences = opened.replay.divergences
    if not divergences:
        return [*lines, "No divergence from the record."]
    lines.append(f"First divergence: {divergences[0]}")
    more = len(divergences) - 1
    return [*lines, f"{more} more followed."] if more else lines


def _tell(*lines: str) -> None:
    for line in lines:
        write_to_standard_error(visible(line))
