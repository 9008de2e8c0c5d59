"""What a request says beside the conversation, and only that request: it is neither remembered nor recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.role import Role
from yagent.patterns import pattern
from yagent.session.workshop import Workshop

if TYPE_CHECKING:
    from yagent.session.taking_up import TakenUp

_HEADER = pattern(r"^\[([a-z]+#[0-9]+) · ", re.MULTILINE)  # of a result, as `handover.render` and `note_text` begin it
_TELLS = ("delegate_", "read_note")  # tools whose results begin so; what others bring may be anybody's words
LABEL = "now"  # around what is true of this request alone


class Seated(Protocol):
    """Whose requests they are."""

    @property
    def role(self) -> Role: ...

    @property
    def conversation(self) -> Conversation: ...


class Hints:
    """The hints of one run. `taken`: it goes on with a conversation that may speak of other rights than it has now."""

    def __init__(self, shop: Workshop, seat: Seated, taken: TakenUp | None) -> None:
        self._shop = shop
        self._seat = seat
        self._asked = False
        speaks_of_rights = seat.role.wants_context and taken is not None and taken.goes_on
        self._changed = self._approvals() if speaks_of_rights else ""

    async def hint(self) -> str:
        """What the next request says at its end: the board (to the Director always, to others at their beginning), changed rights."""
        board = "" if self._seat.role.is_delegated and self._asked else await self._shop.desk.index(self._told())
        self._asked = True
        said = "\n\n".join(filter(None, (board, self._changed)))
        return f"<{LABEL}>\n{said}\n</{LABEL}>" if said else ""

    def _told(self) -> frozenset[str]:
        """The results that the newest message has in full already."""
        newest = self._seat.conversation.newest
        if newest is None:
            return frozenset()
        given = _HEADER.findall(newest.text) if self._seat.role.is_delegated else ()  # with its task; to the Director the user speaks
        begun = (_HEADER.match(result.text) for result in newest.results if result.name.startswith(_TELLS))
        return frozenset((*given, *(found[1] for found in begun if found is not None)))

    def _approvals(self) -> str:
        """What runs unasked now, where the conversation says otherwise: it began in another process, with other options."""
        approvals = self._shop.approvals
        told = any(approvals in message.text for message in self._seat.conversation.messages if message.role == "user")
        return "" if told else f"Since this work was stopped, the approvals have changed. {approvals}"
