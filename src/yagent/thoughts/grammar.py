"""The grammar of a thought (L-16…L-18).

    <thought>
    goal: make total() round half up
    step: find where totals are computed
    reason: the failing test names total()
    plan:
    - [x] read the test
    - [>] find the rounding
    - [ ] change it
    </thought>

Keys and markers are English and lower case, values in any language. What models write instead (aliases, capital X, numbered or plain
lists) is understood and normalised.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from yagent.patterns import pattern
from yagent.records import dataclass

PlanState: TypeAlias = Literal["done", "current", "pending"]

# Lines are stripped before they are matched, and no two neighbours in a pattern can take the same characters: time is linear in the text.
_OPEN = pattern(r"(?<!`)<thought>", re.IGNORECASE)  # in backquotes it is talked about, not used
_CLOSE = pattern(r"</thought>", re.IGNORECASE)
_KEY = pattern(r"([-*]\s+|\*\*)?(current goal|plan update|reasoning|goal|step|reason|plan)\**\s*[:：]\**(.*)", re.IGNORECASE | re.DOTALL)
_ALIASES = {"current goal": "goal", "reasoning": "reason", "plan update": "plan"}
_BULLET = r"(?:[-*+]|\d{1,4}[.)])"
_ITEM = pattern(rf"{_BULLET}?\s*\[([ xX✓✔>~-]?)\](.*)", re.DOTALL)
_PLAIN_ITEM = pattern(rf"{_BULLET}\s+(.*)", re.DOTALL)
_STATES: dict[str, PlanState] = {"x": "done", "X": "done", "✓": "done", "✔": "done", ">": "current", "~": "current"}


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One line of a plan."""

    text: str
    state: PlanState


@dataclass(frozen=True, slots=True)
class Thought:
    """What the agent aims at, does now, why, and what is left."""

    goal: str = ""
    step: str = ""
    reason: str = ""
    plan: tuple[PlanItem, ...] = ()

    @property
    def open_items(self) -> tuple[PlanItem, ...]:
        """The plan's items that are not done."""
        return tuple(item for item in self.plan if item.state != "done")

    def problems(self) -> tuple[str, ...]:
        """Why this is not a valid thought; empty when it is (L-17)."""
        found = [f"{name} is empty" for name in ("goal", "reason") if not getattr(self, name)]
        if sum(item.state == "current" for item in self.plan) > 1:
            found.append("more than one plan item is current")
        return tuple(found)


def parse(text: str) -> Thought | None:
    """The first thought in `text`; None when there is no closed block or nothing in any of them can be read."""
    return next((thought for thought, _ in readings(text)), None)


def readings(text: str) -> Iterator[tuple[Thought, str]]:
    """Every thought in `text` that can be read, with its block as it stands there."""
    for start, end in _blocks(text):
        thought = _thought(text[start + len("<thought>") : end - len("</thought>")])
        if thought is not None:
            yield thought, text[start:end]


def strip(text: str) -> str:
    """The text without its thought blocks, for people."""
    kept, position = [], 0
    for start, end in _blocks(text):
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]]).strip()


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where each closed block begins and ends, its tags included."""
    position = 0
    while (opening := _OPEN.search(text, position)) and (closing := _CLOSE.search(text, opening.end())):
        yield opening.start(), closing.end()
        position = closing.end()


def _thought(block: str) -> Thought | None:
    values: dict[str, list[str]] = {}
    key = ""
    for line in map(str.strip, block.splitlines()):
        match = None if _ITEM.match(line) else _KEY.match(line)
        name = "" if match is None else _ALIASES.get(match[2].lower(), match[2].lower())
        if match is not None and not (key == "plan" and match[1] and name in values):  # an item of the plan may begin with such a word
            key = name
            values.setdefault(key, []).append(match[3].strip())
        elif key:
            values[key].append(line)
    if not values:
        return None
    words = {name: " ".join(filter(None, values.get(name, ()))) for name in ("goal", "step", "reason")}
    return Thought(**words, plan=_plan(values.get("plan", [])))


def _plan(lines: list[str]) -> tuple[PlanItem, ...]:
    items: list[tuple[list[str], PlanState]] = []
    has_marks = False
    for line in filter(None, lines):
        marked = _ITEM.match(line)
        plain = None if marked else _PLAIN_ITEM.match(line)
        if marked is not None:
            items.append(([marked[2].strip()], _STATES.get(marked[1], "pending")))
        elif plain is not None:
            items.append(([plain[1]], "pending"))
        elif has_marks:
            items[-1][0].append(line)  # an item that runs on
        else:
            items.append(([line], "pending"))
        has_marks = has_marks or marked is not None or plain is not None
    return tuple(PlanItem(" ".join(words), state) for words, state in items if any(words))
