"""The isolated questions of the cognition tools: one system prompt, one question, one reply, on the account of the task."""

from collections.abc import Callable

from yagent.agents.loop.frame import Frame
from yagent.agents.loop.turn import Turn, TurnSettings
from yagent.llm.engine import CallOptions, Engine, Head, ModelGaveUp
from yagent.protocol.messages import user_message

SUMMARY = "summary"  # the slot in which a conversation is summarised


def summariser(engine: Callable[[str | None], Engine]) -> Engine:
    """The model that summarises an agent's conversations: the one that is chosen for its tools, or, where nobody knows how much that can
    read, the agent's own, `engine(None)`, which has read the conversation so far."""
    own, chosen = engine(None), engine(SUMMARY)
    is_known = chosen.identity == own.identity or chosen.identity.context_window is not None
    return chosen if is_known else own


class Consultation:
    """The `Consult` of one run. `engine(slot)` gives the model of a tool, `engine(None)` the agent's own; `settings` are those of the run's
    own model calls."""

    def __init__(self, engine: Callable[[str | None], Engine], frame: Frame, settings: TurnSettings) -> None:
        self._engine = engine
        self._frame = frame
        self._settings = settings
        self._asked = 0

    async def __call__(self, slot: str, system: str, question: str) -> str:
        """The reply's words. Raises `ModelError` when there is none."""
        self._asked += 1
        engine = summariser(self._engine) if slot == SUMMARY else self._engine(slot)
        dialogue = engine.open(Head(f"{slot}-{self._asked}", system))
        dialogue.append(user_message(question))
        reply = await Turn(lambda: dialogue, engine.identity, self._frame, self._settings).query(CallOptions())
        if not reply.message.text.strip():
            raise ModelGaveUp(f"{slot}: the model gave no answer in words.")
        return reply.message.text
