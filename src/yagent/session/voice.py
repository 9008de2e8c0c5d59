"""Makes events: gives each payload its frame."""

from itertools import count

from yagent.agents.loop.frame import EventPublisher
from yagent.protocol.events import Event, Payload
from yagent.protocol.ids import SessionId
from yagent.records import dataclass
from yagent.runtime.bus import Bus, Publisher
from yagent.runtime.clock import Clock


@dataclass(slots=True)
class CurrentTask:
    """The task whose events are being published, "" between tasks."""

    id: str = ""


def session_publisher(bus: Bus[Event], session: SessionId, clock: Clock, task: CurrentTask) -> EventPublisher:
    """A publisher for the session itself; agents get theirs by `bound`."""
    numbers = count(1)

    def make_event(payload: Payload, /, *, source: str, delegation_id: str | None) -> Event:
        return Event(
            payload=payload,
            id=f"{session}-{next(numbers)}",
            source=source,
            priority="critical" if payload.critical else "low" if payload.droppable else "normal",
            timestamp=f"{clock.wall():%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z",
            trace_id=task.id or None,
            seq=0,
            delegation_id=delegation_id,
        )

    return Publisher(bus, make_event, "session")
