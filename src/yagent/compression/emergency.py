"""The second tier: the conversation becomes one message of facts, a summary and the last messages (L-10, W-40)."""

import logging
from collections.abc import Sequence

from yagent.compression.compaction import Facts, Summarise
from yagent.compression.cutting import first_part
from yagent.compression.facts import fit
from yagent.compression.frame import NOTHING, Frame
from yagent.compression.transcript import digest, last_messages, recent
from yagent.llm.engine import ModelError
from yagent.protocol.messages import Message, user_message
from yagent.records import dataclass

logger = logging.getLogger(__name__)

KEPT_MESSAGES = 3
_TEMPLATE = "compression/emergency.md"
_SUMMARY = 2000  # tokens a summary has at most
_WORDS_PER_TOKEN = 0.6  # cautious: the summary is cut at its end when it is too long


@dataclass(frozen=True, slots=True)
class Summarised:
    """The message, None when there is none; how many requests were made for it; what went wrong."""

    message: Message | None
    requests: int
    notes: tuple[str, ...] = ()


async def emergency(
    messages: Sequence[Message], facts: Facts, frame: Frame, *, summarise: Summarise, largest: int, tries: int
) -> Summarised:
    """Rewrite the conversation. `largest` is what a request for a summary may take in tokens, `tries` how many may be made: each sends half
    of what the one before sent. Without a summary there is no message."""
    room = frame.room(_TEMPLATE)
    if not room:
        return Summarised(None, 0)
    start = last_messages(messages, KEPT_MESSAGES)
    limit = min(room // 5, _SUMMARY)
    asked = _Request(facts.goal, limit, frame)
    requests, notes = 0, []
    summary = "" if start else NOTHING
    while not summary and requests < tries:
        prompt = asked.prompt(messages[:start], largest >> requests)
        if not prompt:
            break
        requests += 1
        try:
            summary = first_part((await summarise(prompt)).strip(), limit, frame.counter.count)
        except ModelError as failure:
            logger.warning("no summary for compression %s: %s", frame.id, failure)
            notes.append(f"The conversation could not be summarised: {failure}")
    if not summary:
        return Summarised(None, requests, tuple(notes))
    return Summarised(_message(messages[start:], facts, frame, summary, room), requests, tuple(notes))


def _message(last: Sequence[Message], facts: Facts, frame: Frame, summary: str, room: int) -> Message:
    left = room - frame.counter.count(summary)
    fitted = fit(facts, left * 3 // 5, frame)
    newest = facts.user_inputs[-1].strip() if facts.user_inputs else ""
    shown = [message for message in last if message.role != "user" or message.text.strip() != newest]  # those stand at the end
    text = frame.prompts.text(
        _TEMPLATE,
        id=frame.id,
        rules=fitted.rules,
        goal=fitted.goal,
        earlier=fitted.earlier,
        summary=summary,
        recent=recent(shown, left - fitted.size, frame) or NOTHING,
        open_items=fitted.open_items,
        files_changed=fitted.files_changed,
        running=fitted.running,
        newest=fitted.newest,
    )
    return user_message(text)


class _Request:
    """Asks for a summary."""

    def __init__(self, goal: str, limit: int, frame: Frame) -> None:
        self._goal = goal
        self._words = max(int(limit * _WORDS_PER_TOKEN), 10)
        self._frame = frame

    def prompt(self, messages: Sequence[Message], largest: int) -> str:
        """The request in at most `largest` tokens; "" when not even its instruction fits."""
        cost = self._frame.counter.count
        goal = first_part(self._goal, largest // 8, cost) or NOTHING
        left = largest - cost(self._filled(goal, ""))
        conversation = digest(messages, left, self._frame) if left > 0 else ""
        filled = self._filled(goal, conversation)
        return filled if conversation and cost(filled) <= largest else ""

    def _filled(self, goal: str, conversation: str) -> str:
        return self._frame.prompts.text("compression/summary.md", limit=str(self._words), goal=goal, conversation=conversation)
