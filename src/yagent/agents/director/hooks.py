"""The delegation reminder: when the Director answers in words although there is work to hand out (F-08…F-10 as ruled)."""

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from yagent.agents.loop.hooks import Reply

ReminderPolicy: TypeAlias = Literal["auto", "always", "never"]
MAX_NON_DELEGATION_PROMPTS = 3
FENCE_LINES = 5

_FENCE = re.compile(
    r"(?P<before>[^\n]*)\n?^[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)\n(?P<body>.*?)^[ \t]*(?P=mark)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_PATH = re.compile(r"[\w./\\-]*[\w-]+\.\w+|[\w.-]+/[\w./-]+")


class DelegationReminder:
    """The Director's plain-text policy. `names_file(path)` tells whether a path of the workspace is meant."""

    def __init__(self, policy: ReminderPolicy, first: str, later: str, names_file: Callable[[str], bool]) -> None:
        self._policy = policy
        self._first = first
        self._later = later
        self._names_file = names_file
        self._sent = 0

    def __call__(self, reply: Reply) -> str | None:
        """The reminder to send, None to accept the reply as the answer."""
        if self._policy == "never" or reply.delegated or self._sent >= MAX_NON_DELEGATION_PROMPTS:
            return None
        if self._policy == "auto" and not self._holds_undone_work(reply):
            return None
        self._sent += 1
        return self._first if self._sent == 1 else self._later

    def _holds_undone_work(self, reply: Reply) -> bool:
        """Its own plan has open items, or it shows code for a file of the workspace instead of having it changed."""
        if reply.thought is not None and reply.thought.open_items:
            return True
        return any(self._is_code_for_a_file(match) for match in _FENCE.finditer(reply.message.text))

    def _is_code_for_a_file(self, fence: re.Match[str]) -> bool:
        if fence["body"].count("\n") < FENCE_LINES:
            return False
        named = _PATH.findall(fence["info"]) + _PATH.findall(fence["before"])
        return any(self._names_file(path) for path in named)
