"""The port through which the loop keeps its record; `rollout` implements it, structurally."""

from typing import Protocol

from yagent.rollout.records import AgentCheckpoint, Record


class Recorder(Protocol):
    """What an agent's loop needs from its record."""

    def append(self, record: Record) -> None:
        """Keep a record; returns at once."""
        ...

    async def barrier(self) -> None:
        """Wait until everything appended so far is written. Raises when it cannot be: what is not recorded must not take effect."""
        ...

    async def finalize_checkpoint(self, checkpoint: AgentCheckpoint) -> None:
        """Complete a checkpoint from what is really on the record, and write it. Raises as `barrier` does."""
        ...

    async def close(self) -> None:
        """Write what is left and release the file."""
        ...
