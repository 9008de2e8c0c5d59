"""What needs an answer from a person, and the answer.

An ask travels as the event `user_help_needed`, its answer as the op `AnswerAsk`; both are matched by the ask's id.
"""

from typing import Literal, TypeAlias

from yagent.protocol.ids import AgentIdentity, AskId
from yagent.records import dataclass

AskKind: TypeAlias = Literal["approval", "confirm", "select", "input"]
Scope: TypeAlias = Literal["once", "session", "project"]


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to say yes: how long it holds, and the exact rule that would be stored ("" for once)."""

    scope: Scope
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the user, with its origin. `subject` is exactly what would run or change; `reasons` name what makes it risky."""

    id: AskId
    kind: AskKind
    origin: AgentIdentity
    prompt: str
    subject: str = ""
    reasons: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    offers: tuple[Offer, ...] = ()
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user said.

    `answered_by` is "nobody" when no one could be asked: such a denial decides the exit code (4) and is never called the user's refusal.
    """

    granted: bool
    offer: Offer | None = None
    text: str = ""
    answered_by: Literal["user", "nobody", "cancelled"] = "user"
