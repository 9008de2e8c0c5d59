"""A board in a temporary directory, with a workspace whose files its notes can cite."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.virtual_time import VirtualClock
from yagent.blackboard.board import Board, Draft
from yagent.blackboard.evidence import Evidence, Look
from yagent.blackboard.settings import BlackboardSettings
from yagent.protocol.handoff import Fact, Handoff

HANDOFF = Handoff("Login is checked in auth.py.", (Fact("it compares hashes", "auth.py:2"), Fact("said so")), ("other branches?",), "ok")


class Workspace:
    """Real files; counts how often they are read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reads = 0
        root.mkdir(exist_ok=True)

    def put(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def read(self, path: str) -> bytes | None:
        self.reads += 1
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def stamp(self, path: str) -> object:
        try:
            status = (self.root / path).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def evidence(self, symbols: Mapping[str, int] | None = None) -> Evidence:
        return Evidence(Look(self.read, self.stamp, lambda path: symbols))


def draft(agent: str = "repo", delegation_id: str = "d1", **more: Any) -> Draft:
    """What a delegation leaves that went well."""
    given: dict[str, Any] = {"status": "ok", "body": "All of it.\n", "handoff": HANDOFF, "task": "Where is login checked?", **more}
    return Draft(agent=agent, delegation_id=delegation_id, **given)


class Desk:
    """A board and all it stands on."""

    def __init__(self, place: Path, clock: VirtualClock, **settings: Any) -> None:
        self.notes = place / "notes"
        self.clock = clock
        self.workspace = Workspace(place / "work")
        self.evidence = self.workspace.evidence()
        self.board = self.another("s1", **settings)

    def another(self, board_id: str, **settings: Any) -> Board:
        return Board(self.notes, board_id, self.clock, BlackboardSettings(**settings), self.evidence)

    async def write(self, *args: Any, **more: Any) -> str:
        """Keep a note a second after the last; gives its id."""
        await self.clock.sleep(1)
        head = await self.board.write(draft(*args, **more))
        assert head is not None
        return head.id
