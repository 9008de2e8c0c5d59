"""Makes events: gives each payload its frame."""

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

    def make_event(payload: Payload, /, *, seq: int, source: str, delegation_id: str | None) -> Event:
        return Event(
            payload=payload,
            id=f"{session}-{seq}",
            source=source,
            priority="critical" if payload.critical else "low" if payload.droppable else "normal",
            timestamp=clock.wall().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            trace_id=task.id or None,
            seq=seq,
            delegation_id=delegation_id,
        )

    return Publisher(bus, make_event, "session")
