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
from typing import Annotated

import typer

from yagent.apps.cli.one_shot import OneShot, run_one_shot
from yagent.apps.cli.progress import write_to_standard_error
from yagent.protocol.stop import INTERRUPTED, PIPE_CLOSED, TERMINATED
from yagent.records import dataclass
from yagent.runtime.clock import SystemClock
from yagent.session.build import open_session
from yagent.session.request import RunFlags, SessionRequest

INTRODUCTION = """This is a demonstration: the model's words are played from a recording, everything else is real.
A small repository was copied to {place}; agents read, change and test it there.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Options of the demonstration."""

    fast: Annotated[bool, typer.Option("--fast", help="Do not imitate a model's pace.")] = False
    keep: Annotated[bool, typer.Option("--keep", help="Keep the copy of the repository.")] = False


def command(context: typer.Context, options: DemoOptions) -> None:
    """Play a whole task, without a key and without a network."""
    place = Path(tempfile.mkdtemp(prefix="yagent-demo-"))
    try:
        code = asyncio.run(_play(place / "cart", fast=options.fast))
    finally:
        if options.keep:
            write_to_standard_error(f"The repository is kept in {place / 'cart'}.")
        else:
            shutil.rmtree(place, ignore_errors=True)
            write_to_standard_error("The repository is removed again; yagent demo --keep keeps it.")
    raise SystemExit(code)


async def _play(workspace: Path, *, fast: bool) -> int:
    from yagent.session.demonstration import demonstration

    clock = SystemClock()
    replay = await demonstration(workspace, clock, pace=0.0 if fast else 0.02)
    prompt = replay.recording.tasks[0].prompt
    write_to_standard_error(INTRODUCTION.format(place=workspace))
    write_to_standard_error(f"Task: {prompt}\n")
    python = str(Path(sys.executable).parent)
    environ = {**os.environ, "PATH": os.pathsep.join((python, os.environ.get("PATH", os.defpath)))}
    request = SessionRequest(workspace=workspace, environ=environ, flags=RunFlags(mode="yolo"))
    async with open_session(request, clock, source=replay) as session:
        code = await run_one_shot(replay.client(session), OneShot(prompt=prompt), clock)
        record = session.snapshot().session
    if code in (INTERRUPTED, TERMINATED, PIPE_CLOSED):  # what was stopped differs from what was recorded, as it should
        return code
    write_to_standard_error(f"What every agent said and did: yagent sessions show {record}")
    for divergence in replay.divergences:
        write_to_standard_error(f"! The replay left its recording: {divergence}")
    return code or (1 if replay.divergences else 0)
