"""`yagent demo`: a recorded session, played against a fresh copy of a small repository.

Only the model's turns come from the recording; planning, delegation, reading, editing, test runs and the record are real. A tool result
that differs from the recorded one is reported, never papered over.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, ClassVar, Final

import typer

from yagent.apps.cli.one_shot import OneShot, run_one_shot
from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.sessions.finding import records
from yagent.errors import YagentError
from yagent.protocol.stop import INTERRUPTED, PIPE_CLOSED, TERMINATED, USAGE
from yagent.records import dataclass
from yagent.rollout.index import SessionSummary, list_sessions
from yagent.runtime.clock import SystemClock
from yagent.session.build import open_session
from yagent.session.request import Resume, RunFlags, SessionRequest

KEPT_AS: Final = "demonstrations"  # their records, apart from those of the user's own work
PLACE: Final = "yagent-demo-"
RECENT: Final = 20

INTRODUCTION = """This is a demonstration: the model's words are played from a recording, everything else is real.
A small repository was copied to {place}; agents read, change and test it there.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Options of the demonstration."""

    fast: Annotated[bool, typer.Option("--fast", help="Do not imitate a model's pace.")] = False
    keep: Annotated[bool, typer.Option("--keep", help="Keep the copy of the repository.")] = False
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the last one that was stopped or killed.")] = False


class NothingToResume(YagentError):
    """No demonstration was stopped on its way."""

    exit_code: ClassVar[int] = USAGE


def command(context: typer.Context, options: DemoOptions) -> None:
    """Play a whole task, without a key and without a network."""
    stopped = _stopped() if options.resume else None
    if options.resume and stopped is None:
        raise NothingToResume("No demonstration was stopped on its way. Begin one: yagent demo")
    place = Path(tempfile.mkdtemp(prefix=PLACE)) if stopped is None else Path(stopped.project_dir).parent
    try:
        code = asyncio.run(_play(place / "cart", stopped, fast=options.fast))
    finally:
        if options.keep:
            write_to_standard_error(f"The repository is kept in {place / 'cart'}.")
        elif (left := _stopped()) is not None and Path(left.project_dir).parent == place:
            write_to_standard_error("Go on with it: yagent demo --resume")
        else:
            shutil.rmtree(place, ignore_errors=True)
            write_to_standard_error("The repository is removed again; yagent demo --keep keeps it.")
    raise SystemExit(code)


def _stopped() -> SessionSummary | None:
    """The newest demonstration that can go on."""
    with records() as home:
        found = list_sessions(home.rollout_dir(KEPT_AS), RECENT)
    return next((each for each in found if each.resumable and _is_laid_out(Path(each.project_dir))), None)


def _is_laid_out(workspace: Path) -> bool:
    """Whether this is the copy of a demonstration, which may be removed."""
    place = workspace.parent
    return place.name.startswith(PLACE) and place.parent == Path(tempfile.gettempdir()) and workspace.is_dir()


async def _play(workspace: Path, stopped: SessionSummary | None, *, fast: bool) -> int:
    from yagent.session.demonstration import demonstration, lay_out

    clock = SystemClock()
    replay = await demonstration(clock, pace=0.0 if fast else 0.02)
    prompt = None if stopped is not None else replay.recording.tasks[0].prompt
    if prompt is not None:
        await lay_out(workspace, clock)
        write_to_standard_error(INTRODUCTION.format(place=workspace))
        write_to_standard_error(f"Task: {prompt}\n")
    python = str(Path(sys.executable).parent)
    environ = {**os.environ, "PATH": os.pathsep.join((python, os.environ.get("PATH", os.defpath)))}
    resume = None if stopped is None else Resume(stopped.session)
    request = SessionRequest(workspace=workspace, environ=environ, flags=RunFlags(mode="yolo"), resume=resume, kept_as=KEPT_AS)
    async with open_session(request, clock, source=replay) as session:
        code = await run_one_shot(replay.client(session), OneShot(prompt=prompt), clock)
        record = session.snapshot().session
    if code in (INTERRUPTED, TERMINATED, PIPE_CLOSED):  # what was stopped differs from what was recorded, as it should
        return code
    write_to_standard_error(f"What every agent said and did: yagent sessions show {record}")
    for divergence in replay.divergences:
        write_to_standard_error(f"! The replay left its recording: {divergence}")
    return code or (1 if replay.divergences else 0)
