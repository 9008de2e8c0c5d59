"""A stage whose model is the strict server over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.agents.stage import Rules, Stage
from tests.support.model_server import ModelServer
from tests.support.virtual_time import VirtualClock
from yagent.llm.dialects.port import WireModel, WireSettings
from yagent.llm.dialects.table import dialect_for
from yagent.llm.endpoint import Endpoint
from yagent.llm.http_engine import EngineServices, EngineSettings, HttpEngine
from yagent.llm.inflight import InFlightGate
from yagent.llm.quirks_table import quirks_for
from yagent.llm.retry import RetrySettings
from yagent.llm.transport.http import HttpClients, HttpSettings
from yagent.protocol.messages import ModelIdentity

PRICES = {"input": 1.0, "output": 10.0, "cached": 0.1}  # US dollars per million tokens
StageMaker: TypeAlias = Callable[..., Stage]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A directory with a few files."""
    place = tmp_path / "work"
    place.mkdir()
    for name in "abc":
        (place / f"{name}.txt").write_text(f"this is {name}\n")
    return place


@pytest.fixture
def gate() -> InFlightGate:
    """The process's gate."""
    return InFlightGate(8)


@pytest.fixture
async def services(gate: InFlightGate, clock: VirtualClock) -> AsyncIterator[EngineServices]:
    """What engines share, without chance."""
    async with HttpClients(HttpSettings(), clock) as clients:
        yield EngineServices(clients, gate, clock, random=lambda: 0.0)


@pytest.fixture
def make_stage(workspace: Path, clock: VirtualClock, services: EngineServices, model_server: ModelServer) -> StageMaker:
    """Stages against the strict server; the engine itself does not retry, so that the loop's own policy is seen."""

    def make(rules: Rules | None = None, *, api_format: str = "openai", prices: dict[str, float] | None = None) -> Stage:
        identity = ModelIdentity("played", "played-model", api_format, prices=PRICES if prices is None else prices)
        model = WireModel(identity, WireSettings(), quirks_for(api_format, "127.0.0.1", "played-model"))
        endpoint = Endpoint("played", model_server.url, api_format, lambda: "key", "a test")
        settings = EngineSettings(retry=RetrySettings(max_retries=0))
        return Stage(workspace, clock, HttpEngine(model, dialect_for(api_format), endpoint, settings, services), rules)

    return make
