"""Asks on their way: from any agent to whoever can answer, and back to the one that asked."""

import asyncio

from yagent.agents.loop.frame import EventPublisher
from yagent.protocol.asks import Answer, Ask
from yagent.protocol.events import UserHelpNeeded, UserHelpResponse
from yagent.runtime.activity import Activity
from yagent.runtime.pending import Pending
from yagent.tools.spec import Asker

NOBODY = Answer(granted=False, answered_by="nobody")


class AskDesk:
    """All open asks of a session. `can_ask`: somebody is there; otherwise each ask is denied at once, and says so."""

    def __init__(self, can_ask: bool) -> None:
        self._can_ask = can_ask
        self._pending: Pending[Answer] = Pending()

    def answer(self, ask_id: str, answer: Answer) -> bool:
        """Deliver an answer; False when nobody waits for it."""
        return self._pending.answer(ask_id, answer)

    def asker(self, publisher: EventPublisher, activity: Activity) -> Asker:
        """The way of one agent to the user; its timers stand still while it waits."""

        async def put(ask: Ask) -> Answer:
            publisher.publish(_needed(ask))
            answer = NOBODY
            try:
                if self._can_ask:
                    future = self._pending.open(ask.id)
                    with activity.frozen():
                        answer = await future
            except asyncio.CancelledError:
                answer = Answer(granted=False, answered_by="cancelled")
                raise
            finally:
                publisher.publish(_response(ask, answer))
            return answer

        return put


def _needed(ask: Ask) -> UserHelpNeeded:
    return UserHelpNeeded(
        request_id=ask.id,
        kind=ask.kind,
        prompt=ask.prompt,
        subject=ask.subject,
        reasons=ask.reasons,
        options=ask.options,
        offers=ask.offers,
        origin=ask.origin.label,
        tool=ask.tool,
    )


def _response(ask: Ask, answer: Answer) -> UserHelpResponse:
    scope = None
    if ask.kind == "approval":
        scope = answer.offer.scope if answer.granted and answer.offer is not None else "deny"
    return UserHelpResponse(request_id=ask.id, answer=answer.text, scope=scope, answered_by=answer.answered_by)
