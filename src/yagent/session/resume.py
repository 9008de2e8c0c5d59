"""Going on with a session that was stopped."""

from yagent.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeSettings:
    """How a stopped session goes on. `token_budget` 0: what the model's window allows; `max_messages` 0: no limit."""

    enable: bool = True
    token_budget: int = 0
    max_messages: int = 2000
    block_on_change: bool = False
    checkpoint_workspace: bool = True
