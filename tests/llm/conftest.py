"""Engines against the strict server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

import pytest

from tests.support.model_server import ModelServer
from tests.support.virtual_time import VirtualClock
from yagent.llm.dialects.port import WireModel, WireSettings
from yagent.llm.dialects.table import dialect_for
from yagent.llm.endpoint import Endpoint
from yagent.llm.engine import CallOptions, Completed, Dialogue, Head, StreamEvent
from yagent.llm.http_engine import EngineServices, EngineSettings, HttpEngine
from yagent.llm.inflight import InFlightGate
from yagent.llm.quirks import Quirks
from yagent.llm.quirks_table import quirks_for
from yagent.llm.transport.http import HttpClients, HttpSettings
from yagent.protocol.messages import ModelIdentity, ToolDeclaration, user_message

FORMATS = ("openai", "responses", "anthropic")
SYSTEM = "You are the Director.\nBe brief."
READ = ToolDeclaration("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
EngineMaker: TypeAlias = Callable[..., HttpEngine]


def head(conversation: str = "c1") -> Head:
    """A small head."""
    return Head(conversation, SYSTEM, (READ,))


def dialogue(engine: HttpEngine, task: str = "hello") -> Dialogue:
    """A dialogue with one user message."""
    opened = engine.open(head())
    opened.append(user_message(task))
    return opened


async def events_of(opened: Dialogue, options: CallOptions | None = None) -> list[StreamEvent]:
    """All events of one call."""
    return [event async for event in opened.stream(options or CallOptions())]


async def ask(engine: HttpEngine, task: str = "hello") -> Completed:
    """One call, its reply."""
    last = (await events_of(dialogue(engine, task)))[-1]
    assert isinstance(last, Completed)
    return last


@pytest.fixture
def gate() -> InFlightGate:
    """The process's gate."""
    return InFlightGate(8)


@pytest.fixture
async def services(gate: InFlightGate, clock: VirtualClock) -> AsyncIterator[EngineServices]:
    """What engines share, without chance."""
    async with HttpClients(HttpSettings(), clock) as clients:
        yield EngineServices(clients, gate, clock, random=lambda: 0.0)


@pytest.fixture(params=FORMATS)
def api_format(request: pytest.FixtureRequest) -> str:
    """Each dialect in turn."""
    return str(request.param)


@pytest.fixture
def make_engine(services: EngineServices, model_server: ModelServer) -> EngineMaker:
    """Engines for the strict server."""

    def make(
        api_format: str = "openai",
        settings: EngineSettings | None = None,
        *,
        wire: WireSettings | None = None,
        quirks: Quirks | None = None,
        key: str = "sk-canary-0123",
        base_url: str = "",
    ) -> HttpEngine:
        identity = ModelIdentity("played", "played-model", api_format)
        model = WireModel(identity, wire or WireSettings(), quirks or quirks_for(api_format, "127.0.0.1", "played-model"))
        endpoint = Endpoint("played", base_url or model_server.url, api_format, lambda: key, "the variable PLAYED_API_KEY")
        return HttpEngine(model, dialect_for(api_format), endpoint, settings or EngineSettings(), services)

    return make
