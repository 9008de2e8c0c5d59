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
from dataclasses import dataclass
from typing import Literal, TypeAlias

PlanState: TypeAlias = Literal["done", "current", "pending"]

_BLOCK = re.compile(r"<thought>(.*?)</thought>", re.DOTALL | re.IGNORECASE)
_KEY = re.compile(r"^\s*(?:[-*]\s+|\*\*)?(current goal|plan update|reasoning|goal|step|reason|plan)\**\s*[:：]\**\s*(.*)$", re.IGNORECASE)
_ALIASES = {"current goal": "goal", "reasoning": "reason", "plan update": "plan"}
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])?\s*\[([ xX>~-]?)\]\s*(.+?)\s*$")
_PLAIN_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+?)\s*$")
_STATES: dict[str, PlanState] = {"x": "done", "X": "done", ">": "current", "~": "current", " ": "pending", "": "pending", "-": "pending"}


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
        """Why this is not a complete thought; empty when it is (L-17)."""
        found = [f"{name} is empty" for name in ("goal", "reason") if not getattr(self, name)]
        if sum(item.state == "current" for item in self.plan) > 1:
            found.append("more than one plan item is current")
        return tuple(found)


def parse(text: str) -> Thought | None:
    """The first thought in `text`; None when there is no closed block or nothing in it can be read."""
    block = _BLOCK.search(text)
    if block is None:
        return None
    values: dict[str, list[str]] = {}
    key = ""
    for line in block.group(1).splitlines():
        match = None if _ITEM.match(line) else _KEY.match(line)
        if match is not None:
            name = match.group(1).lower()
            key = _ALIASES.get(name, name)
            values.setdefault(key, []).append(match.group(2))
        elif key:
            values[key].append(line)
    if not values:
        return None
    words = {name: " ".join(part.strip() for part in values.get(name, ()) if part.strip()) for name in ("goal", "step", "reason")}
    return Thought(**words, plan=_plan(values.get("plan", [])))


def strip(text: str) -> str:
    """The text without its thought blocks, for people."""
    return _BLOCK.sub("", text).strip()


def _plan(lines: list[str]) -> tuple[PlanItem, ...]:
    items = []
    for line in lines:
        marked = _ITEM.match(line)
        plain = None if marked else _PLAIN_ITEM.match(line)
        if marked is not None:
            items.append(PlanItem(marked.group(2), _STATES[marked.group(1)]))
        elif plain is not None:
            items.append(PlanItem(plain.group(1), "pending"))
    return tuple(items)
