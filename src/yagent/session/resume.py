"""Going on with a session that was stopped."""

from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.stop import USAGE
from yagent.records import dataclass


class ResumeRefused(YagentError):
    """A recorded session cannot go on so."""

    exit_code: ClassVar[int] = USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeSettings:
    """How a stopped session goes on. `token_budget` 0: what the model's window allows; `max_messages` 0: no limit."""

    enable: bool = True
    token_budget: int = 0
    max_messages: int = 2000
    block_on_change: bool = False
    checkpoint_workspace: bool = True


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the workspace stands: its commit ("" for none, or unknown) and whether it has uncommitted changes (None for unknown)."""

    head: str = ""
    dirty: bool | None = None
