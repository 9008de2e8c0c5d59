"""From a thought log back to a text an agent can go on from (L-11), and which of a user's words stay when not all can."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.thoughts.log import ThoughtLog

Count: TypeAlias = Callable[[str], int]

_AROUND = 5  # tokens of what stands around an entry
_RULE = pattern(
    r"(?i)\b(never|always|must|mustn't|do not|don't|only|avoid|without|instead of|from now on|make sure|no longer|answer in|reply in|keep|"
    r"prefer|require[sd]?|forbidden|allowed)\b|不要|不得|不能|不许|不可|禁止|必须|务必|始终|总是|一律|只能|只用|请用|从现在|以后都|回答|保持|避免|勿"
)


@dataclass(frozen=True, slots=True)
class KeptWords:
    """What stays of a user's words, each with its number in the original order, in that order; `left_out` counts those that do not."""

    words: tuple[tuple[int, str], ...]
    left_out: int


def kept_words(inputs: Sequence[str], budget: int, count: Count) -> KeptWords:
    """As much of what a user said, verbatim, as `budget` tokens hold: explicit rules first, the newest first among equals.

    Of a text that is too long, the lines that state a rule stay.
    """
    kept: dict[int, str] = {}
    rules = [index for index in reversed(range(len(inputs))) if states_rule(inputs[index])]
    others = [index for index in reversed(range(len(inputs))) if not states_rule(inputs[index])]
    for index in (*rules, *others):
        text = inputs[index]
        if count(text) + _AROUND > budget:
            text = _rules_in(text, budget - _AROUND, count)
        if text:
            kept[index] = text
            budget -= count(text) + _AROUND
    return KeptWords(tuple(sorted(kept.items())), len(inputs) - len(kept))


def states_rule(text: str) -> bool:
    """Whether a text tells how things have to be done, as far as words show that."""
    return _RULE.search(text) is not None


def _rules_in(text: str, budget: int, count: Count) -> str:
    """The lines that state a rule, from the first on, as many as fit."""
    kept = []
    for line in filter(states_rule, text.splitlines()):
        budget -= count(line) + 1
        if budget < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def rebuild_prompt(log: ThoughtLog, *, keep: int, budget: int, count: Count) -> str:
    """What the user said and the newest `keep` thoughts (0 for all), in the order of the log, in at most `budget` tokens.

    All words of the user come before any thought; thoughts that do not fit are left out, the oldest first. "" when nothing fits.
    """
    entries = list(log)
    said = [index for index, entry in enumerate(entries) if entry.thought is None]
    thought = [index for index, entry in enumerate(entries) if entry.thought is not None]
    words = kept_words([entries[index].text for index in said], budget, count).words
    chosen = {said[number]: f"[user] {text}" for number, text in words}
    budget -= sum(count(text) + _AROUND for _, text in words)
    for index in reversed(thought[-keep:] if keep > 0 else thought):
        budget -= count(entries[index].text) + _AROUND
        if budget < 0:
            break
        chosen[index] = entries[index].text
    return "\n\n".join(text for _, text in sorted(chosen.items()))
