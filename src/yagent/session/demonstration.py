"""The demonstration: a recorded session, and the small repository it was recorded in."""

import os
from pathlib import Path
from typing import Final

from yagent.prompts.text import resource_directory
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread
from yagent.session.replay import read_recording
from yagent.session.replaying import Replay, ReplayOptions
from yagent.workspace.processes import Program, capture

RECORD: Final = "demo/recording"
SETTINGS: Final = (
    "user.name=demo",
    "user.email=demo@example.invalid",
    "commit.gpgsign=false",
    "core.hooksPath=/dev/null",
    "init.defaultBranch=main",
)
GIT_SECONDS: Final = 30.0


async def lay_out(workspace: Path, clock: Clock) -> None:
    """Copy the repository to `workspace` and commit it."""
    await in_thread(_copy, resource_directory("demo/repository"), workspace)
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "A shopping cart")):
        flags = [part for setting in SETTINGS for part in ("-c", setting)]
        await capture(Program(("git", *flags, *arguments), workspace, os.environ), clock=clock, timeout=GIT_SECONDS)


async def demonstration(clock: Clock, *, pace: float) -> Replay:
    """The recording, to be played; `pace` is the time before each word in seconds."""
    director = min(resource_directory(RECORD).glob("*.jsonl"), key=lambda path: len(path.stem))
    return Replay(await in_thread(read_recording, director), clock, ReplayOptions(pace=pace))


def _copy(source: Path, target: Path) -> None:
    """Blocking. Regular files only; caches of a checkout stay behind."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
