"""A process that is killed while it writes notes leaves whole notes only."""

import subprocess
import sys
from pathlib import Path

from tests.blackboard.boards import Desk, draft
from tests.support.virtual_time import VirtualClock
from yagent.blackboard.note import decode

WRITER = """
import asyncio, sys
from pathlib import Path
from yagent.blackboard.board import Board, Draft
from yagent.blackboard.evidence import Evidence, Look
from yagent.blackboard.settings import BlackboardSettings
from yagent.runtime.clock import SystemClock

LINES = 50_000

async def write():
    board = Board(Path(sys.argv[1]), "s1", SystemClock(), BlackboardSettings(), Evidence(Look(lambda path: None)))
    number = 0
    while True:
        number += 1
        await board.write(Draft(agent="repo", delegation_id="d", number=1 + number % 2, status="ok", body=f"{number}\\n" * LINES))
        print(number, flush=True)

asyncio.run(write())
"""


def killed_after(notes: Path, writes: int) -> None:
    """Write notes over and over in another process until it is killed in the middle of it."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(notes)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2] / "src"
    ) as child:
        assert child.stdout is not None
        for _ in range(writes):
            assert child.stdout.readline()
        child.kill()


async def test_what_a_killed_process_wrote_is_whole_and_the_board_goes_on(tmp_path: Path, clock: VirtualClock) -> None:
    desk = Desk(tmp_path, clock)
    killed_after(desk.notes, 9)
    found = sorted(desk.board.directory.rglob("*.md"))
    assert [path.name for path in found] == ["0001.md", "0002.md"]
    for path in found:
        lines = decode(path.read_bytes(), "repo", path.stem).body.splitlines()
        assert lines == lines[:1] * 50_000
    listing = await desk.board.notes()
    assert (len(listing.notes), listing.problems) == (2, ())
    head = await desk.board.write(draft(delegation_id="next"))
    assert head is not None
    assert head.id == "repo#3"
