"""What an agent hands over when it is done."""

from typing import Literal, TypeAlias

from yagent.records import dataclass

HandoffStatus: TypeAlias = Literal["ok", "partial", "error"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim and the place that supports it: `path`, `path:line`, `path:symbol` or a command id; "" when none was given."""

    claim: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Handoff:
    """The result in a form the reader can judge: one conclusion, facts with anchors, what stayed open, and the agent's own verdict."""

    conclusion: str
    facts: tuple[Fact, ...] = ()
    open_questions: tuple[str, ...] = ()
    status: HandoffStatus = "ok"
