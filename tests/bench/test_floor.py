"""The floor does what yagent does: it reads what the script asks for and answers, over one connection."""

import sys
from pathlib import Path

import pytest

from scripts.bench.installation import BLOCK_LINES, Installation
from scripts.bench.measure import Program, programs, run_program


@pytest.fixture
def made(tmp_path: Path) -> Installation:
    """A place to run in that has what is read, and the interpreter of the tests."""
    made = Installation(tmp_path)
    (made.repository / "data").mkdir(parents=True)
    (made.repository / "data" / "blocks.txt").write_text("".join(f"line {number}\n" for number in range(3 * BLOCK_LINES)))
    made.python.parent.mkdir(parents=True)
    made.python.symlink_to(sys.executable)
    return made


def test_the_floor_reads_block_by_block_and_sends_everything_again(made: Installation) -> None:
    floor, _ = programs(made)
    floor = Program(floor.name, (sys.executable, *floor.words[1:]), floor.environment)
    seen = run_program(made, floor, 3).seen
    assert (seen.requests, seen.connections, seen.kept) == (4, 1, 1.0)
    assert seen.last_bytes - seen.first_bytes > 3 * BLOCK_LINES * len("line 1")


def test_a_program_that_does_something_else_is_not_measured(made: Installation) -> None:
    with pytest.raises(RuntimeError, match="ended with 3: no"):
        run_program(made, Program("other", (sys.executable, "-c", "import sys; print('no'); sys.exit(3)")), 0)
