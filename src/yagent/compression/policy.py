"""Whether and how a conversation is compressed before its next request: the cheapest tier that makes room (L-01).

Room is what the threshold leaves beside system prompt and tools. The first tier aims at half of it, the others stay below six tenths, and a
tier that leaves less than a quarter free gives way to the next. What leaves no more is tried twice in a row; then `ContextFull` ends it.
"""

from collections.abc import Callable
from typing import ClassVar

from yagent.compression.compaction import Compaction, Facts, Summarise
from yagent.compression.measure import over_threshold
from yagent.compression.state import TRIES, CompressionState
from yagent.errors import YagentError


class ContextFull(YagentError):
    """What has to stay in the conversation leaves the model no room to work."""

    exit_code: ClassVar[int] = 3


async def policy(state: CompressionState, priority: Callable[[str], int], facts: Facts, summarise: Summarise) -> Compaction | None:
    """The compression the next request needs, None when it needs none.

    Raises:
        ContextFull: no tier makes the conversation fit, or two in a row left no room to work.
    """
    needed = over_threshold(state.messages, state.prefix, state.threshold)
    if not state.settings.enable_context_compression or not state.messages or not (needed or state.is_forced):
        return None
    from yagent.compression.tiers import Attempt

    attempt = Attempt(state, facts)
    found = attempt.rule(priority) or await attempt.emergency(summarise) or attempt.ultimate() or attempt.best
    if found is None and not needed:
        return None
    if found is None or (not found.has_room and state.streak.cramped >= TRIES):
        raise ContextFull(_no_room(state))
    return attempt.accounted(found)


def _no_room(state: CompressionState) -> str:
    window = "a window of unknown size" if state.window.total is None else f"the window of {state.window.total} tokens"
    return (
        f"The conversation no longer fits {window}: it is compressed above {state.threshold} tokens, system prompt and tools take"
        f" {state.prefix.head} of them, and what has to stay leaves no room to work. Choose a model with a larger window, declare fewer"
        " tools, or start a new session."
    )
