"""The third tier: the conversation is rebuilt from what was said and thought, and cut to the room there is (L-11). No model is asked."""

from collections.abc import Sequence
from dataclasses import replace

from yagent.compression.compaction import Facts
from yagent.compression.facts import fit
from yagent.compression.frame import NOTHING, Frame
from yagent.compression.transcript import last_messages, recent
from yagent.protocol.messages import Message, user_message
from yagent.thoughts.log import ThoughtLog
from yagent.thoughts.rebuild import rebuild_prompt

_TEMPLATE = "compression/ultimate.md"
_LAST_STEP = 2  # the newest reply and its results: without them the agent would take the same step again


def ultimate(messages: Sequence[Message], facts: Facts, frame: Frame, *, log: ThoughtLog, keep: int) -> Message | None:
    """The one message, with the newest `keep` thoughts (0 for all); None when there is no room even for that."""
    room = frame.room(_TEMPLATE)
    if not room:
        return None
    fitted = fit(replace(facts, user_inputs=facts.user_inputs[-1:]), room * 2 // 5, frame)
    left = room - fitted.size
    last = recent(messages[last_messages(messages, _LAST_STEP) :], left * 2 // 5, frame)
    left -= frame.counter.count(last)
    text = frame.prompts.text(
        _TEMPLATE,
        id=frame.id,
        rules=fitted.rules,
        goal=fitted.goal,
        history=rebuild_prompt(log, keep=keep, budget=left, count=frame.counter.count) or NOTHING,
        recent=last or NOTHING,
        open_items=fitted.open_items,
        files_changed=fitted.files_changed,
        running=fitted.running,
        newest=fitted.newest,
    )
    return user_message(text)
