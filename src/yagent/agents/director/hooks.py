"""The delegation reminder: when the Director answers in words although there is work to hand out (F-08…F-10 as ruled)."""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from yagent.agents.loop.hooks import Reply
from yagent.patterns import pattern

ReminderPolicy: TypeAlias = Literal["auto", "always", "never"]
MAX_NON_DELEGATION_PROMPTS = 3
FENCE_LINES = 5

_MARK = pattern(r"[ \t]*(`{3,}|~{3,})(.*)")
_PATH = pattern(r"[\w./\\-]+")


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
        blocks = _code_blocks(reply.message.text)
        return any(size >= FENCE_LINES and any(map(self._names_file, _paths(named))) for named, size in blocks)


def _code_blocks(text: str) -> Iterator[tuple[str, int]]:
    """Each fenced block: what it is headed with (the line of words before it and its info string) and how many lines it has."""
    before, named, mark, size = "", "", "", 0
    for line in text.splitlines():
        found = _MARK.fullmatch(line)
        if mark and found is not None and found[1].startswith(mark) and not found[2].strip():
            yield named, size
            before = mark = ""
        elif mark:
            size += 1
        elif found is not None:
            named, mark, size = f"{before} {found[2]}", found[1], 0
        elif line.strip():
            before = line
    if mark:  # a reply that was cut
        yield named, size


def _paths(line: str) -> Iterator[str]:
    """What may be a path in a line of words: it has a dot or a slash inside."""
    words = (word.rstrip(".") for word in _PATH.findall(line))
    return (word for word in words if "." in word or "/" in word)
