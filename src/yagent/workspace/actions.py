"""What a tool call asks to do, and what the permissions say about it.

A tool's spec turns one call into a sequence of actions; `Permissions.judge` answers with one verdict.
Paths and command lines are carried exactly as the model wrote them: resolving them is the judge's work.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Literal

from yagent.protocol.asks import Offer
from yagent.records import dataclass


class Mode(StrEnum):
    """How much runs without asking. Ordered: each mode allows what the one before it allows, and more."""

    ASK = "ask"
    YOLO = "yolo"
    FULL_YOLO = "full-yolo"

    @property
    def rank(self) -> int:
        """0 for the narrowest mode; a child's rank is never above its parent's."""
        return tuple(Mode).index(self)


Change = Literal["create", "edit", "replace", "delete", "rename"]
"""`replace` gives a file other content as a whole, so that what is in it is lost as by deleting it; where there is none it creates one."""


@dataclass(frozen=True, slots=True)
class ReadPath:
    """Read a file, or list a directory; `recursive` when everything below it may be read."""

    path: str
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class EditPath:
    """Change what is at a path. A rename is two of them: `rename` of the old path and `create` of the new one."""

    path: str
    change: Change


@dataclass(frozen=True, slots=True)
class ShellLine:
    """Run a line with bash, starting in `directory`."""

    command: str
    directory: str


@dataclass(frozen=True, slots=True)
class Network:
    """Talk to a host: a URL, or `host[:port]`."""

    target: str


@dataclass(frozen=True, slots=True)
class UseTool:
    """Use a tool whose effect is not known here (a server's, a plug-in's)."""

    name: str


@dataclass(frozen=True, slots=True)
class Delegate:
    """Start another agent of a role. Its rights are never wider than those of the agent that starts it."""

    role: str


Action = ReadPath | EditPath | ShellLine | Network | UseTool | Delegate


class Decision(StrEnum):
    """Ordered from the mildest to the strictest."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def rank(self) -> int:
        return tuple(Decision).index(self)

    def stricter(self, other: Decision) -> Decision:
        """Return the stricter of two decisions."""
        return self if self.rank >= other.rank else other


@dataclass(frozen=True, slots=True)
class Reason:
    """Why: `code` is a stable word for programs, `text` one sentence shown to the user and to the model. `instead` is a sentence for the
    model alone: what to do where nobody allows it."""

    code: str
    text: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one tool call.

    `offers` are the answers the user may give, the rule of each being exactly what would be stored.
    `subject` is what would be done, unaltered: neutralise it with `protocol.visible` when showing it.
    `touches` are resolved paths whose content the decision rests on: take `guard.fingerprint` of them when the ask is shown
    and compare before acting; on a difference ask again.
    """

    decision: Decision
    reasons: tuple[Reason, ...] = ()
    offers: tuple[Offer, ...] = ()
    subject: str = ""
    hidden_characters: bool = False
    touches: tuple[Path, ...] = ()

    @property
    def allowed(self) -> bool:
        return self.decision is Decision.ALLOW

    def explanation(self) -> str:
        """Return the reasons as one sentence, "" when there are none."""
        return f"{'; '.join(reason.text.rstrip('.') for reason in self.reasons)}." if self.reasons else ""

    @property
    def instead(self) -> str:
        """What to do instead, "" where nothing is known."""
        return " ".join(dict.fromkeys(reason.instead for reason in self.reasons if reason.instead))
