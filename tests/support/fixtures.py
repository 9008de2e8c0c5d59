"""Fixtures of several rooms."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine
from tests.support.model_server import ModelServer
from tests.support.session import Sessions

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")


@pytest.fixture
async def model_server() -> AsyncIterator[ModelServer]:
    """A strict model server without a script; every rule a request broke fails the test when it ends."""
    server = ModelServer()
    async with server:
        yield server
    server.check()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A git repository with one committed file, `notes.txt`."""
    place = tmp_path / "project"
    place.mkdir()
    (place / "notes.txt").write_text("first line\nsecond line\n")
    commit(place, "init", "-q")
    commit(place, "add", "-A")
    commit(place, "commit", "-q", "-m", "start")
    return place


@pytest.fixture
def yagent(workspace: Path, isolated_home: Path, model_server: ModelServer) -> CommandLine:
    """The program, in `workspace`, talking to `model_server`."""
    line = CommandLine(isolated_home, workspace)
    line.talks_to(model_server.url)
    return line


@pytest.fixture
def sessions(workspace: Path, isolated_home: Path, model_server: ModelServer) -> Sessions:
    """Sessions of the test's own process, in `workspace`, talking to `model_server`."""
    return Sessions(isolated_home, workspace, model_server.url)


def commit(place: Path, *arguments: str) -> str:
    """Run git in a repository; what it printed."""
    return subprocess.run([*GIT, *arguments], cwd=place, check=True, capture_output=True, text=True).stdout
