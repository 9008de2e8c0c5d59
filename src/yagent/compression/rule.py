"""The first tier: tool results are shortened to their first line and their end, lowest priority first, oldest first (L-06, L-07).

The conversation keeps its shape. What the model has not seen yet goes last, and then keeps as much as there is room for.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count as numbers

from yagent.compression.compaction import Dropped
from yagent.compression.cutting import first_part, last_part
from yagent.compression.measure import Counter
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message, ToolResult
from yagent.records import dataclass

PROTECTED = 100  # priority of results that are never shortened
HEAD = 60  # tokens kept of a first line: what a result is, and how it ended, often stands there
_NOTICE = 40  # tokens the notice in a shortened result takes, generously


@dataclass(frozen=True, slots=True)
class Rule:
    """How results are shortened. `keep` in tokens; `id` is the compaction's."""

    counter: Counter
    prompts: Prompts
    priority: Callable[[str], int]
    keep: int
    id: str


@dataclass(frozen=True, slots=True)
class Shortened:
    """The conversation after the first tier. `changed` is the number of messages up to the last that differs, 0 for none."""

    messages: tuple[Message, ...]
    saved: int
    changed: int
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    message: int
    part: int
    result: ToolResult
    rank: tuple[bool, int]  # unseen ones last, then by priority


def shorten(messages: Sequence[Message], excess: int, rule: Rule) -> Shortened:
    """Take at least `excess` tokens out of the tool results, or as much as there is. Each result is counted at most once."""
    kept, dropped, changed, saved = list(messages), [], 0, 0
    identifiers = numbers(1)
    for candidate in sorted(_candidates(messages, rule), key=lambda each: each.rank):
        if saved >= excess:
            break
        is_unseen, _ = candidate.rank
        total = rule.counter.count(candidate.result.text)
        keep = max(rule.keep, total - (excess - saved) - _NOTICE) if is_unseen else rule.keep
        if total <= max(keep, rule.keep * 3 // 2) + _NOTICE:  # what little is saved is not worth what is lost
            continue
        identifier = f"{rule.id}.{next(identifiers)}"
        shorter = _ending(candidate.result, total, keep, rule, identifier)
        before = kept[candidate.message]
        kept[candidate.message] = replace(before, parts=(*before.parts[: candidate.part], shorter, *before.parts[candidate.part + 1 :]))
        saved += total - rule.counter.count(shorter.text)
        dropped.append(Dropped(identifier, candidate.result.call_id, candidate.result.text))
        changed = max(changed, candidate.message + 1)
    return Shortened(tuple(kept), saved, changed, tuple(dropped))


def _candidates(messages: Sequence[Message], rule: Rule) -> list[_Candidate]:
    newest = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=-1)
    return [
        _Candidate(index, place, part, (index > newest, rule.priority(part.name)))
        for index, message in enumerate(messages)
        if message.role == "tool"
        for place, part in enumerate(message.parts)
        if isinstance(part, ToolResult) and len(part.text) > rule.keep and rule.priority(part.name) < PROTECTED
    ]


def _ending(result: ToolResult, total: int, keep: int, rule: Rule, identifier: str) -> ToolResult:
    notice = rule.prompts.text("compression/rule.md", kept=str(keep), total=str(total), id=identifier)
    head = first_part(result.text.partition("\n")[0], min(HEAD, keep // 2), rule.counter.count)
    rest = result.text[len(head) :].removeprefix("\n")
    tail = last_part(rest, keep - rule.counter.count(head), rule.counter.count)
    return replace(result, text="\n".join(filter(None, (head, notice, tail))).rstrip())
