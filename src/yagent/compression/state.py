"""What is to be compressed, and how often that was done in a row."""

from yagent.compression.compaction import Compaction
from yagent.compression.measure import Prefix
from yagent.compression.threshold import CompressionSettings, Window
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message
from yagent.records import dataclass
from yagent.thoughts.log import ThoughtLog

TRIES = 2


@dataclass(frozen=True, slots=True)
class Streak:
    """Compressions in steps that follow one another directly."""

    cramped: int = 0  # how many made no room
    summaries: int = 0  # how many requests for a summary were made

    def after(self, compaction: Compaction | None) -> "Streak":
        """After a step began; None when it began without a compression."""
        if compaction is None:
            return Streak()
        return Streak(0 if compaction.has_room else self.cramped + 1, self.summaries + compaction.requests)


@dataclass(frozen=True, slots=True)
class CompressionState:
    """What is to be compressed. `id` names this compression in the conversation; `is_forced`: the user asked for it, or the provider found
    the request too long, whatever the estimate says. `summary_limit`: how many tokens a request for a summary may have at most because of
    the model that is asked, which may be another one; None for as many as the conversation."""

    messages: tuple[Message, ...]
    prefix: Prefix
    threshold: int
    window: Window
    id: str
    thoughts: ThoughtLog
    prompts: Prompts
    settings: CompressionSettings = CompressionSettings()
    streak: Streak = Streak()
    is_forced: bool = False
    summary_limit: int | None = None
