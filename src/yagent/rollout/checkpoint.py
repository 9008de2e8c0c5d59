"""Whether a stopped agent can go on with the conversation its record holds, and if not, why."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolResult
from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.records import message_to_json
from yagent.rollout.replay import Replayed

TIMEOUTS = (StopReason.IDLE_TIMEOUT, StopReason.TOTAL_TIMEOUT, StopReason.TIME_LIMIT)
BROWSER = "browser"  # the role whose pages are gone with the process
BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Replaying:
    """What a replay may need and where it takes place. `token_budget` and `max_messages` 0: no limit. `head` is the workspace's commit now,
    "" when it has none or nobody knows."""

    token_budget: int = 0
    max_messages: int = 0
    head: str = ""
    block_on_change: bool = False


def digest(messages: Iterable[Message]) -> str:
    """SHA-256 over the canonical JSON of a conversation, one line a message; hexadecimal."""
    found = sha256()
    for message in messages:
        line = json.dumps(message_to_json(message), sort_keys=True, separators=(",", ":"), default=dict)
        found.update(line.encode("ascii") + b"\n")
    return found.hexdigest()


def moved(past: Replayed, head: str) -> bool:
    """Whether the workspace stands at another commit than where the agent stopped; False where either is not known."""
    return past.checkpoint is not None and bool(head) and bool(past.checkpoint.head) and past.checkpoint.head != head


def degraded(past: Replayed | Exception | None, replaying: Replaying) -> tuple[str, ...]:
    """The reasons, in the specification's order (I-24), why a delegation cannot go on with what was read of it; empty when it can.

    `past` is None where there is no record, the error where it could not be read. A process that was killed has left no checkpoint and no
    terminal record; what it wrote ahead is then as good as a checkpoint.
    """
    if past is None:
        return ("no_rollout",)
    if isinstance(past, Exception):
        return ("unreadable",)
    criteria = {
        **_against_checkpoint(past),
        "over_budget": _over_budget(past.messages, replaying),
        "workspace_moved": replaying.block_on_change and moved(past, replaying.head),
        "browser": past.meta is not None and past.meta.agent == BROWSER,
        "max_steps": past.stop_reason == StopReason.MAX_STEPS,
        "timeout": past.stop_reason in TIMEOUTS,
    }
    return tuple(code for code, holds in criteria.items() if holds)


def _against_checkpoint(past: Replayed) -> Mapping[str, bool]:
    mark = past.checkpoint
    if mark is None:
        return {"no_checkpoint": past.stop_reason != ""}
    return {"digest_mismatch": mark.digest != digest(past.messages), "message_count_mismatch": mark.messages != len(past.messages)}


def _over_budget(messages: tuple[Message, ...], replaying: Replaying) -> bool:
    if 0 < replaying.max_messages < len(messages):
        return True
    return 0 < replaying.token_budget < sum(_bytes(part) for message in messages for part in message.parts) // BYTES_PER_TOKEN


def _bytes(part: Text | Reasoning | ToolCall | ToolResult) -> int:
    """The size of what a model reads of a part."""
    words: Any = part.name + part.arguments if isinstance(part, ToolCall) else part.text
    return len(words.encode("utf-8", "surrogatepass"))
