"""The demonstration: a recorded session, and the small repository it was recorded in."""

import os
from pathlib import Path
from typing import Final

from yagent.prompts.text import resource_directory
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread
from yagent.session.replay import Recording, read_recording
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


async def demonstration(workspace: Path, clock: Clock, *, pace: float) -> Replay:
    """Copy the repository to `workspace`, commit it, and read the recording. `pace` is the time before each word in seconds."""
    await in_thread(_copy, resource_directory("demo/repository"), workspace)
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "A shopping cart")):
        flags = [part for setting in SETTINGS for part in ("-c", setting)]
        await capture(Program(("git", *flags, *arguments), workspace, os.environ), clock=clock, timeout=GIT_SECONDS)
    return Replay(await demonstrated(), clock, ReplayOptions(pace=pace))


async def demonstrated() -> Recording:
    """The recording of the demonstration."""
    director = min(resource_directory(RECORD).glob("*.jsonl"), key=lambda path: len(path.stem))
    return await in_thread(read_recording, director)


def _copy(source: Path, target: Path) -> None:
    """Blocking. Regular files only; caches of a checkout stay behind."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
