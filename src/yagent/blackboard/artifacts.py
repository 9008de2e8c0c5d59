"""Deliverables too long for a conversation: the whole text on disk, a summary and an id where it was (J-11, J-12)."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from yagent.blackboard.note import beginning
from yagent.blackboard.settings import BlackboardSettings
from yagent.errors import YagentError
from yagent.patterns import pattern
from yagent.protocol.handoff import Handoff
from yagent.records import dataclass
from yagent.runtime.atomic import NotRegularFileError, make_private_directory, write_pieces
from yagent.runtime.clock import Clock
from yagent.runtime.regular_file import open_regular
from yagent.runtime.supervise import in_thread

_ID: Final = pattern(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
_TRIES: Final = 8


class NoSuchArtifact(YagentError):
    """No artifact has this id."""


class ArtifactNotKept(YagentError):
    """An artifact could not be written; its text has to stay where it is."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A deliverable as the conversation has it: the `text` itself, or what stands for it and the id of the artifact that has it whole."""

    text: str
    artifact: str = ""


def is_artifact_id(text: str) -> bool:
    """Whether a text has the form of an id, `20260131-235959-0123abcd`; no other ever becomes part of a path."""
    return _ID.fullmatch(text) is not None


class Artifacts:
    """The artifacts of this machine, in one directory that need not exist yet."""

    def __init__(self, directory: Path, clock: Clock, settings: BlackboardSettings) -> None:
        self._directory = directory
        self._clock = clock
        self._settings = settings

    async def fit(self, text: str, handoff: Handoff | None, count: Callable[[str], int]) -> Kept:
        """Store a text of more tokens than the budget, as `count` has it, and give its summary; a shorter one comes back as it is.

        Raises:
            ArtifactNotKept: it is too long and could not be written.
        """
        if not self._settings.artifacts or count(text) <= self._settings.artifact_tokens:
            return Kept(text)
        identity = await self.store(text)
        shown = f'[{len(text)} characters in all: read_artifact {{"artifact_id": "{identity}"}}]'
        return Kept(f"{summary(text, handoff, self._settings.summary_max_runes)}\n{shown}", identity)

    async def store(self, text: str) -> str:
        """Write a text whole and give its id. Raises ArtifactNotKept."""
        return await in_thread(self._store, text, self._clock.wall())

    async def read(self, artifact_id: str) -> str:
        """The whole text. Raises NoSuchArtifact for an id that is none, or leads nowhere."""
        if not is_artifact_id(artifact_id):
            asked = repr(beginning(artifact_id, 80))
            raise NoSuchArtifact(f"{asked} is not the id of an artifact; ids look like 20260131-235959-0123abcd, copy one from a result.")
        return await in_thread(self._read, artifact_id)

    def _store(self, text: str, now: datetime) -> str:
        stamp = now.strftime("%Y%m%d-%H%M%S")
        data = text.encode("utf-8", "surrogatepass")
        try:
            make_private_directory(self._directory)
            for _ in range(_TRIES):
                identity = f"{stamp}-{os.urandom(4).hex()}"
                try:
                    write_pieces(self._directory / identity, (data,))
                except FileExistsError:
                    continue
                return identity
        except (OSError, NotRegularFileError) as failure:
            raise ArtifactNotKept(f"a result of {len(data)} bytes could not be kept in {self._directory} ({failure})") from failure
        raise ArtifactNotKept(f"a result of {len(data)} bytes could not be kept in {self._directory} (every id was taken)")

    def _read(self, artifact_id: str) -> str:
        try:
            with open_regular(self._directory / artifact_id) as stream:
                return stream.read().decode("utf-8", "surrogatepass")
        except FileNotFoundError:
            raise NoSuchArtifact(f"There is no artifact {artifact_id}: it was removed, or the id was not copied exactly.") from None
        except (OSError, NotRegularFileError, UnicodeDecodeError) as failure:
            raise NoSuchArtifact(f"The artifact {artifact_id} cannot be read ({failure}).") from failure


def summary(text: str, handoff: Handoff | None, limit: int) -> str:
    """What stands for a long text: the conclusion of its hand-over, else its own beginning word for word; `limit` code points at most."""
    said = handoff.conclusion.strip() if handoff is not None else ""
    return beginning(said or text.strip(), limit)
