"""A desk: one agent with an empty workspace, everything inside it allowed."""

from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from tests.tools.scopes import Desk


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty directory to work in."""
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def coding(workspace: Path, clock: VirtualClock, isolated_home: Path) -> Desk:
    """The Coding agent at work under -y."""
    return Desk(workspace, clock, home=isolated_home)
