"""What a run of an agent is made of."""

from dataclasses import field

from yagent.agents.loop.act import Act
from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.fitting import Fitting, no_summary
from yagent.agents.loop.turn import Turn
from yagent.compression.compaction import Summarise
from yagent.records import dataclass
from yagent.thoughts.log import ThoughtLog


@dataclass(frozen=True, slots=True)
class LoopParts:
    """What a run is made of."""

    conversation: Conversation
    turn: Turn
    act: Act
    thoughts: ThoughtLog = field(default_factory=ThoughtLog)
    fitting: Fitting | None = None  # None: the conversation is never rewritten
    summarise: Summarise = no_summary


@dataclass(frozen=True, slots=True)
class LastWords:
    """What an agent is told when it may take one last step: at its step limit, when its time is over, when the money is."""

    step_limit: str
    time_limit: str
    cost_limit: str
