"""`yagent demo`: a recorded session, played against a fresh copy of a small repository.

Only the model's turns come from the recording; planning, delegation, reading, editing, test runs and the record are real. A tool result
that differs from the recorded one is reported, never papered over.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Final

import typer

from yagent.apps.cli.one_shot import OneShot, run_one_shot
from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.sessions.finding import records
from yagent.errors import YagentError
from yagent.protocol.stop import INTERRUPTED, PIPE_CLOSED, TERMINATED, USAGE
from yagent.records import dataclass
from yagent.rollout.index import IN_USE, SessionSummary, list_sessions, resumable
from yagent.runtime import supervise
from yagent.runtime.clock import SystemClock
from yagent.session.build import open_session
from yagent.session.demonstration import demonstration, lay_out
from yagent.session.request import DEMONSTRATIONS, Resume, RunFlags, SessionRequest

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
    """No demonstration can go on."""

    exit_code: ClassVar[int] = USAGE


@dataclass(slots=True)
class _Copy:
    """The copy of the repository that a demonstration works in. `is_ours`: we laid it out, or hold the lock of the session in it; nobody
    else may remove it."""

    place: Path
    is_ours: bool

    @property
    def workspace(self) -> Path:
        return self.place / "cart"

    def leave(self, *, keep: bool) -> None:
        """Remove it where nobody needs it any more, and say what became of it."""
        left = next((each for each in _recorded() if Path(each.project_dir).parent == self.place), None)
        if not self.is_ours or (left is not None and left.reason == IN_USE):
            return
        if keep:
            write_to_standard_error(f"The repository is kept in {self.workspace}.")
        if left is not None and left.resumable:
            write_to_standard_error(f"Go on with it: yagent demo --resume{' --keep' if keep else ''}")
        elif not keep:
            shutil.rmtree(self.place, ignore_errors=True)
            write_to_standard_error("The repository is removed again; yagent demo --keep keeps it.")


def command(context: typer.Context, options: DemoOptions) -> None:
    """Play a whole task, without a key and without a network."""
    stopped = _stopped() if options.resume else None
    place = Path(tempfile.mkdtemp(prefix=PLACE)) if stopped is None else Path(stopped.project_dir).parent
    copy = _Copy(place, is_ours=stopped is None)
    try:
        code = supervise.run(_play(copy, stopped, fast=options.fast))
    finally:
        copy.leave(keep=options.keep)
    raise SystemExit(code)


def _recorded() -> list[SessionSummary]:
    """The newest demonstrations."""
    with records() as home:
        return list_sessions(home.rollout_dir(DEMONSTRATIONS), RECENT)


def _stopped() -> SessionSummary:
    """The newest demonstration that can go on. Raises `NothingToResume`."""
    found = _recorded()
    for each in found:
        if each.resumable and _is_laid_out(Path(each.project_dir)):
            return each
    raise NothingToResume(f"{_why_none(found)} Begin one: yagent demo")


def _why_none(found: Sequence[SessionSummary]) -> str:
    """Why none of these can go on: what became of the newest that was not played to its end, else of the newest."""
    cut_short = [each for each in found if each.reason == IN_USE or resumable(each.stop_reason)[0]]
    newest = next(iter([*cut_short, *found]), None)
    if newest is None or newest.resumable:
        return "No demonstration was stopped on its way."
    if newest.reason == IN_USE:
        return f"The demonstration {newest.session} is open in another process."
    if resumable(newest.stop_reason)[0]:
        return f"The demonstration {newest.session} cannot go on: the copy of the repository it worked in is gone ({newest.project_dir})."
    return f"No demonstration was stopped on its way; what the last one answered is on the record: yagent sessions show {newest.session}."


def _is_laid_out(workspace: Path) -> bool:
    """Whether this is the copy of a demonstration, which may be removed."""
    place = workspace.parent
    return place.name.startswith(PLACE) and place.parent == Path(tempfile.gettempdir()) and workspace.is_dir()


async def _play(copy: _Copy, stopped: SessionSummary | None, *, fast: bool) -> int:
    clock, workspace = SystemClock(), copy.workspace
    replay = await demonstration(clock, pace=0.0 if fast else 0.02)
    prompt = None if stopped is not None else replay.recording.tasks[0].prompt
    if prompt is not None:
        await lay_out(workspace, clock)
        write_to_standard_error(INTRODUCTION.format(place=workspace))
        write_to_standard_error(f"Task: {prompt}\n")
    python = str(Path(sys.executable).parent)
    environ = {**os.environ, "PATH": os.pathsep.join((python, os.environ.get("PATH", os.defpath)))}
    resume = None if stopped is None else Resume(stopped.session)
    request = SessionRequest(workspace=workspace, environ=environ, flags=RunFlags(mode="yolo"), resume=resume, kept_as=DEMONSTRATIONS)
    async with open_session(request, clock, source=replay) as session:
        copy.is_ours = True  # the session's lock is ours
        code = await run_one_shot(replay.client(session), OneShot(prompt=prompt), clock)
        record = session.snapshot().session
    if code in (INTERRUPTED, TERMINATED, PIPE_CLOSED):  # what was stopped differs from what was recorded, as it should
        return code
    write_to_standard_error(f"What every agent said and did: yagent sessions show {record}")
    for divergence in replay.divergences:
        write_to_standard_error(f"! The replay left its recording: {divergence}")
    return code or (1 if replay.divergences else 0)
