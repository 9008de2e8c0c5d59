"""The isolated questions of a run keep to the configuration, as its own model calls do."""

from __future__ import annotations

import pytest

from tests.support.model_server import Agent, ModelServer, Reply, status
from tests.support.session import Sessions


@pytest.mark.parametrize("retries", [0, 1, 4])
async def test_a_question_that_fails_is_asked_again_as_often_as_configured(
    sessions: Sessions, model_server: ModelServer, retries: int
) -> None:
    async def director(agent: Agent) -> Reply:
        return Reply(await agent.call("deepthinking", question="which way?"))

    model_server.play({"are the Director": director, "first of three": [Reply(text="never", chaos=[status(500)] * 99)]})
    sessions.configure(f"[llm]\nmax_retries = 0\nstep_retries = {retries}\n")
    async with sessions.open() as opened:
        await opened.do("go")
    directors = 2  # one that asks, one with what came of it
    assert len(model_server.exchanges) - directors == 1 + retries
