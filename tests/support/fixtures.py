"""Fixtures of several rooms."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.model_server import ModelServer


@pytest.fixture
async def model_server() -> AsyncIterator[ModelServer]:
    """A strict model server without a script; every rule a request broke fails the test when it ends."""
    server = ModelServer()
    async with server:
        yield server
    server.check()
