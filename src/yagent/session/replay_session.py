"""Opens the replay of a recorded session: finds the record, makes the place, and puts the recording before the models."""

import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from yagent.records import dataclass
from yagent.runtime.clock import Clock
from yagent.runtime.left_behind import is_private
from yagent.runtime.paths import DataHome, project_id
from yagent.runtime.supervise import in_thread
from yagent.session.build import open_session, user_home
from yagent.session.replay import Recording, ReplayRefused, find_recording, read_recording
from yagent.session.replay_place import ReplayPlace, copied, here
from yagent.session.replaying import Replay, ReplayClient, ReplayOptions
from yagent.session.request import RunFlags, SessionRequest
from yagent.workspace.git import Git

KEPT_AS: Final = "replays"  # records of replays are kept apart from those of the user's own work
USUAL_STEPS: Final = 99  # of the Director; a recording that is longer may take as many as it took


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What is asked for. `record` is a file or (the beginning of) a session's id; `until` a number of steps of the Director, None for all;
    `model` goes on live after them, "" for none; `strict` stops at the first divergence. With `in_place` the replay works in `directory`
    itself, else in a copy of the recorded repository."""

    record: str
    directory: Path
    environ: Mapping[str, str]
    until: int | None = None
    model: str = ""
    strict: bool = False
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class OpenReplay:
    """A replay ready to begin: `recording` is what will be played, `remarks` what to know before it is judged."""

    recording: Recording
    client: ReplayClient
    replay: Replay
    place: ReplayPlace
    remarks: tuple[str, ...]


@asynccontextmanager
async def open_replay(request: ReplayRequest, clock: Clock) -> AsyncIterator[OpenReplay]:
    """Open a replay; leaving the block ends everything it started and removes the copy.

    Rights are those of `--yolo`, and nobody is asked. Without a `model` no configuration is read and no provider is needed.
    Raises ReplayRefused when the record cannot be replayed, and as `open_session` does.
    """
    whole = await in_thread(_read, request)
    recording = whole
    if request.until is not None or request.model:
        recording = whole.until(request.until or 0, goes_on=bool(request.model))
    async with AsyncExitStack() as stack:
        git = Git(clock, request.environ)
        if request.in_place:
            place = await in_thread(here, whole, request.directory)
        else:
            place = await stack.enter_async_context(copied(whole, git))
        replay = Replay(recording, clock, ReplayOptions(strict=request.strict, places=place.places))
        wanted = SessionRequest(workspace=place.workspace, environ=request.environ, flags=_flags(recording, request.model), kept_as=KEPT_AS)
        opening = open_session(wanted, clock, around=replay.following) if request.model else open_session(wanted, clock, source=replay)
        session = await stack.enter_async_context(opening)
        yield OpenReplay(recording, replay.client(session), replay, place, (*place.remarks, *recording.remarks))


def _flags(recording: Recording, model: str) -> RunFlags:
    """The limit of steps is the recorded one where it ended a task, and never ends one that was longer; a live model has the user's own."""
    limits = [task.steps for task in recording.tasks if task.stop_reason == "max_steps"]
    longest = max(task.steps for task in recording.tasks)
    steps = None if model else min(limits) if limits else longest + 1 if longest > USUAL_STEPS else None
    return RunFlags(mode="yolo", model=model or None, max_steps=steps)


def _read(request: ReplayRequest) -> Recording:
    """Blocks."""
    try:
        path = find_recording(request.record, _places(request))
        return read_recording(path)
    except OSError as failure:
        where = f"File: {failure.filename or request.record}"
        fix = "Look at its rights, and whether the disk is there."
        raise ReplayRefused(f"The record cannot be read: {failure.strerror}.", where=where, fix=fix) from failure


def _places(request: ReplayRequest) -> Sequence[Path]:
    """The directories with records: that of the current directory first."""
    home = DataHome.from_environment(request.environ, user_home(request.environ))
    if home.root != home.asked:
        if is_private(home.root):
            shutil.rmtree(home.root, ignore_errors=True)
        home = replace(home, root=home.asked)
    own = home.rollout_dir(project_id(str(request.directory)))
    return [own, *(sorted(own.parent.iterdir()) if own.parent.is_dir() else ())]
