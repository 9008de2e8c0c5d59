"""Identities. All are opaque strings; the aliases say which noun is meant."""

from typing import TypeAlias

from yagent.patterns import pattern
from yagent.records import dataclass

SessionId: TypeAlias = str
DelegationId: TypeAlias = str  # equal to the id of the tool call that started the delegation
CallId: TypeAlias = str
AskId: TypeAlias = str

DIRECTOR = "director"
SESSION_FORM = r"[0-9a-f]{8}"
"""A regular expression: how ids of sessions look, by which their boards and logs are named too."""
_SESSION = pattern(SESSION_FORM)


def is_session_id(text: str) -> bool:
    """Whether a text looks as ids of sessions do."""
    return _SESSION.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """Which agent speaks: its role, the delegation it runs for ("" for the Director) and how deep it is nested (Director 0)."""

    role: str
    delegation_id: DelegationId = ""
    depth: int = 0

    @property
    def label(self) -> str:
        """The name people see: `Director`, `Coding`, …; two of one role are told apart by their delegation."""
        return self.role.capitalize() if self.role != "devops" else "DevOps"
