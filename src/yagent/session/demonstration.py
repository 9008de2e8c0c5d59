"""The demonstration: a recorded session as a source of engines, and the small repository it was recorded in."""

import os
from pathlib import Path
from typing import Final

from yagent.llm.engine import Engine
from yagent.llm.playback import Playback
from yagent.llm.recorded import Divergence, RecordedEngine
from yagent.prompts.text import Prompts, resource_directory
from yagent.protocol.messages import ModelIdentity
from yagent.rollout.reader import read
from yagent.rollout.records import SessionMeta
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread
from yagent.session.replay import recorded_turns
from yagent.workspace.processes import Program, capture

SETTINGS: Final = (
    "user.name=demo",
    "user.email=demo@example.invalid",
    "commit.gpgsign=false",
    "core.hooksPath=/dev/null",
    "init.defaultBranch=main",
)
GIT_SECONDS: Final = 30.0


class Demonstration:
    """An `EngineSource`. `pace` is the time before each word in seconds; `divergences` collects where the replay left its recording."""

    def __init__(self, clock: Clock, *, pace: float) -> None:
        self.divergences: list[Divergence] = []
        self.prompt = ""
        self._clock = clock
        self._pace = pace
        self._engine: RecordedEngine | None = None

    async def lay_out(self, workspace: Path) -> None:
        """Copy the repository to `workspace`, commit it, and read the recording."""
        await in_thread(_copy, resource_directory("demo/repository"), workspace)
        for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "A shopping cart")):
            await self._git(workspace, *arguments)
        await in_thread(self._read, resource_directory("demo/recording"))

    async def prepare(self) -> None:
        """See `EngineSource.prepare`: a recording is read before the session begins."""

    def engine(self, agent: str, tool: str | None = None) -> Engine:
        """See `EngineSource.engine`: one recording serves everybody."""
        if self._engine is None:
            raise AssertionError("lay_out comes first")
        return self._engine

    def _read(self, recording: Path) -> None:
        prompts = Prompts()

        def agent_line(role: str) -> str:
            name = f"{role}.prompt.md"
            return prompts.text(name, **dict.fromkeys(prompts.variables(name), "")).partition("\n")[0]

        paths = sorted(recording.glob("*.jsonl"))
        metas = [entry.record for path in paths for entry in read(path) if isinstance(entry.record, SessionMeta)]
        self.prompt = next(meta.task for meta in metas if not meta.delegation_id)
        identity = ModelIdentity("recording", "recorded", "openai")
        playback = Playback(self._clock, self._pace)
        self._engine = RecordedEngine(recorded_turns(paths, agent_line), playback, identity=identity, report=self.divergences.append)

    async def _git(self, workspace: Path, *arguments: str) -> None:
        flags = [part for setting in SETTINGS for part in ("-c", setting)]
        program = Program(("git", *flags, *arguments), workspace, os.environ)
        await capture(program, clock=self._clock, timeout=GIT_SECONDS)


def _copy(source: Path, target: Path) -> None:
    """Blocking. Regular files only; caches of a checkout stay behind."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
