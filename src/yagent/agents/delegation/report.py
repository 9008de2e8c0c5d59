"""What the record tells of a delegation that does not go on: written by the program, no model is asked (I-25)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from yagent.agents.delegation.spawn import one_line
from yagent.agents.loop.resumption import Resumption
from yagent.protocol.messages import Message
from yagent.rollout.marks import UNKNOWN_OUTCOME
from yagent.thoughts import grammar

MOST_FILES = 20
NEVER_BEGUN = "It had not begun when the run was stopped; nothing happened. Delegate it again if it is still wanted."
NOTHING_RECORDED = "It had begun, but its record cannot be read. It may have changed files: look before you delegate it again."


def report(resumption: Resumption) -> str:
    """Three parts: what was done, what of the plan is not, and what came next."""
    messages = resumption.messages
    thoughts = [thought for message in messages if message.role == "assistant" and (thought := grammar.parse(message.text)) is not None]
    newest = thoughts[-1] if thoughts else grammar.Thought()
    plan = next((thought.plan for thought in reversed(thoughts) if thought.plan), ())
    lines = ["Done before it was stopped:", *(f"- {item.text}" for item in plan if item.state == "done"), *_happened(resumption)]
    unfinished = [item for item in plan if item.state != "done"]
    lines += ["Not finished:", *(f"- {item.text}" for item in unfinished)] if unfinished else ["Not finished: its plan is not known."]
    following = next((item.text for item in unfinished if item.state == "current"), newest.step)
    lines.append(f"Suggested next step: {following or 'look at what it changed, then delegate what is left.'}")
    words = _last_words(messages)
    return "\n".join([*lines, "Its last words:", words] if words else lines)


def _happened(resumption: Resumption) -> Iterator[str]:
    """Steps, calls and changes, counted from the record."""
    calls = Counter(call.name for message in resumption.messages for call in message.calls)
    made = ", ".join(f"{name} {count} times" if count > 1 else name for name, count in calls.items())
    yield f"- {resumption.step} steps with these calls: {made or 'none'}"
    changed = resumption.changed
    if changed:
        more = f" and {len(changed) - MOST_FILES} more" if len(changed) > MOST_FILES else ""
        yield f"- files it changed: {', '.join(changed[:MOST_FILES])}{more}"
    for call in resumption.unanswered:
        yield f"- {UNKNOWN_OUTCOME}: {call.name} {one_line(call.arguments)}"


def _last_words(messages: Sequence[Message]) -> str:
    said = (grammar.strip(message.text) for message in reversed(messages) if message.role == "assistant")
    return next(filter(None, said), "")
