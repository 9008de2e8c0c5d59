"""Pieces of a record in words, the same wherever a record is shown."""

import json

from yagent.protocol.messages import ToolCall, Usage
from yagent.rollout.records import AgentCheckpoint, Compacted, EventMessage

# what the program notes for itself; messages and results say as much to people
BOOKKEEPING = frozenset({"agent_activity", "user_input", "workspace_before", "delegation_begun", "effects"})


def readable(call: ToolCall) -> str:
    """Arguments one to a line, texts as they are; what is not one JSON object exactly as it was sent."""
    if call.malformed is not None:
        return f"malformed: {call.malformed}"
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments
    if not isinstance(arguments, dict):
        return call.arguments
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()
    )


def tokens(usage: Usage) -> str:
    """Only what the provider reported."""
    counts = (
        ("in", usage.total_input),
        ("from cache", usage.cached),
        ("to cache", usage.cache_written),
        ("out", usage.output),
        ("of it reasoning", usage.reasoning),
    )
    return ", ".join(f"{count} {name}" for name, count in counts if count is not None) or "not reported"


def ended(event: EventMessage) -> str:
    """How a run ended, from its terminal record."""
    known = event.data
    said = [str(known.get("stop_reason", "no reason recorded"))]
    said += [str(known["status"])] if "status" in known else []
    said += [f"{known['steps']} steps"] if "steps" in known else []
    said += [f"{known['denied']} denied because nobody could be asked"] if "denied" in known else []
    return ", ".join(said)


def shortened(record: Compacted) -> str:
    """What a compaction did."""
    return f"the first {record.replaces} messages of the conversation became {len(record.messages)}"


def stood(record: AgentCheckpoint) -> str:
    """Where a run stopped."""
    files = "" if not record.head else f", commit {record.head[:12]}{' with changes' if record.dirty else ''}"
    return f"step {record.step}, {record.messages} messages{files}"
