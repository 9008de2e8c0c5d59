"""Notices an agent that goes in circles.

A step is its calls (names and arguments, canonical) with their results. The same step over and over, or a few steps in turn, is a circle;
a poll whose result changes is not, because its steps differ. What differs in any two results of the same call says nothing and is left out
of the comparison: how long something took, and the names that only one result has, as its tool declares them.
"""

import hashlib
import json
import re
from collections.abc import Sequence

from yagent.patterns import pattern
from yagent.protocol.messages import ToolCall
from yagent.tools.spec import Output

REMINDER, WARNING, STRONG_WARNING, END = 3, 5, 8, 12
LONGEST_CIRCLE = 4  # steps

# Fractions of a second are measured, whole seconds may be what a poll waits for.
_MEASURED = pattern(r"\b\d+\.\d+(?=\s?(?:ms|s|sec|secs|second|seconds)\b)")

# What every such text holds; looked for first because that is ten times as fast.
_SIGN = pattern(r"\.\d+\s?(?:ms|s|sec|secs|second|seconds)\b")

_TEXTS = {
    REMINDER: "Note: this is the third time with the same call and the same result. Use what you have, or try something else.",
    WARNING: "Warning: the same call gave the same result five times. Repeating it will not change anything. Change your approach.",
    STRONG_WARNING: "Strong warning: eight identical calls. After a few more this run is ended. Do something different now, or finish.",
}


class Repetition:
    """Counts how often the newest step has come round, alone or in turn with a few others."""

    def __init__(self) -> None:
        self._history: list[str] = []

    def observe(self, calls: Sequence[ToolCall], outputs: Sequence[Output]) -> int:
        """Take in one step; returns how many times it has occurred in an unbroken circle, itself included."""
        digest = hashlib.sha256()
        for call, output in zip(calls, outputs, strict=True):
            digest.update(f"{call.name}\0{_canonical(call.arguments)}\0{_lasting(output)}\0".encode("utf-8", "surrogatepass"))
        self._history.append(digest.hexdigest())
        self._history = self._history[-LONGEST_CIRCLE * END :]
        return max(self._rounds(period) for period in range(1, LONGEST_CIRCLE + 1))

    def _rounds(self, period: int) -> int:
        """How often the last step recurs when the history is read backwards in circles of `period` steps."""
        circle = self._history[-period:]
        if len(circle) < period or (period > 1 and len(set(circle)) == 1):
            return 0
        count = 0
        for index, step in enumerate(reversed(self._history)):
            if step != circle[period - 1 - index % period]:
                break
            count += index % period == 0
        return count


def reminder(count: int) -> str:
    """What to tell the agent at this count; "" for most counts."""
    return _TEXTS.get(count, "")


def _lasting(output: Output) -> str:
    """What a result says without what no second one would say."""
    said = output.text
    if output.names:
        names = "|".join(re.escape(name) for name in sorted(output.names, key=len, reverse=True))
        said = re.sub(rf"(?<!\w)(?:{names})(?!\w)", "", said)
    return _MEASURED.sub("", said) if _SIGN.search(said) else said


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
