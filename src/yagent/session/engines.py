"""Turns provider choices into engines: one engine for each endpoint, made when it is first needed."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Protocol, Self

from yagent.config.problems import ConfigError
from yagent.config.providers import ProviderChoice, Resolution
from yagent.llm.catalog import ModelFacts, known, look_up
from yagent.llm.dialects.port import WireModel, WireSettings
from yagent.llm.dialects.table import dialect_for
from yagent.llm.endpoint import Endpoint
from yagent.llm.engine import Engine, ModelError
from yagent.llm.http_engine import EngineServices, EngineSettings, HttpEngine
from yagent.llm.inflight import InFlightGate
from yagent.llm.model_list import ListedModel, list_models
from yagent.llm.quirks_table import quirks_for
from yagent.llm.retry import RetrySettings
from yagent.llm.transport.http import HttpClients, HttpSettings
from yagent.protocol.messages import ModelIdentity
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread


class EngineSource(Protocol):
    """Where a session gets its models from."""

    async def prepare(self) -> None:
        """Get ready what a first call would wait for; whoever was waiting for a turn gets it first."""
        ...

    def engine(self, agent: str, tool: str | None = None) -> Engine:
        """The engine of an agent, or of one of its tools."""
        ...


class Engines:
    """The engines of a session. Use as `async with Engines(…) as engines`; leaving closes their connections."""

    def __init__(self, resolution: Resolution, environ: Mapping[str, str], clock: Clock) -> None:
        self._resolution = resolution
        self._environ = environ
        self._clock = clock
        self._config = resolution.config.llm
        self._models: dict[str, str] = {}
        self._facts: dict[str, ModelFacts] = {}
        self._engines: dict[str, HttpEngine] = {}
        self._services: EngineServices | None = None
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Self:
        settings = HttpSettings(
            ca_file=self._config.ca_file,
            environ=self._environ,
            header_timeout=self._config.header_timeout,
            chunk_timeout=self._config.chunk_timeout,
        )
        clients = await self._resources.enter_async_context(HttpClients(settings, self._clock))
        gate = InFlightGate(self._config.max_in_flight_requests or 0)
        self._services = EngineServices(clients, gate, self._clock)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._resources.aclose()

    async def prepare(self) -> None:
        """See `EngineSource`."""
        await self._clock.sleep(0)
        try:
            await self._in_use().clients.prepare(self._resolution.default.base_url)
        except ModelError:
            return  # the first call meets the same trouble, and it has somebody to tell

    async def settle_models(self) -> None:
        """Find out the model of every choice that names none. Raises `ConfigError` where the user has to choose."""
        for choice in (self._resolution.default, *self._resolution.others.values()):
            if choice.model is None and choice.name not in self._models:
                self._models[choice.name] = await self._only_model(choice)

    async def settle_prices(self) -> None:
        """Find out what every model costs, for a run with a cost limit. Raises `ConfigError` where nobody knows."""
        for choice in (self._resolution.default, *self._resolution.others.values()):
            model = choice.model or self._models[choice.name]
            facts = await in_thread(look_up, choice.name, model, choice.host)
            self._facts[choice.name] = facts
            own = choice.price_input is not None and choice.price_output is not None
            if not own and not (facts.prices and {"input", "output"} <= facts.prices.keys()):
                key = f"global.llm.providers.{choice.name}.price_input"
                raise ConfigError(
                    f"A cost limit was given, but what {model} costs is not known.",
                    where=f"Configuration: {key} and price_output (US dollars per million tokens)",
                    fix="Set both prices in the configuration file, or run without --max-cost.",
                )

    def engine(self, agent: str, tool: str | None = None) -> Engine:
        """The engine of an agent, or of one of its tools."""
        choice = self._resolution.provider_for(agent, tool)
        if choice.name not in self._engines:
            self._engines[choice.name] = self._made(choice)
        return self._engines[choice.name]

    def _made(self, choice: ProviderChoice) -> HttpEngine:
        model = choice.model or self._models[choice.name]
        facts = self._facts.get(choice.name) or known(choice.name, model, choice.host)
        prices = {
            name: price
            for name, price in (
                ("input", choice.price_input),
                ("output", choice.price_output),
                ("cached", choice.price_cache_read),
                ("cache_written", choice.price_cache_write),
            )
            if price is not None
        }
        identity = ModelIdentity(
            choice.name, model, choice.api_format, choice.context_window or facts.context_window, prices or facts.prices
        )
        settings = WireSettings(choice.max_tokens, choice.temperature, choice.reasoning_effort, facts.output_limit)
        endpoint = _endpoint(choice)
        wire = WireModel(identity, settings, quirks_for(choice.api_format, endpoint.host, model))
        limits = EngineSettings(self._config.timeout, RetrySettings(max_retries=self._config.max_retries))
        return HttpEngine(wire, dialect_for(choice.api_format), endpoint, limits, self._in_use())

    async def _only_model(self, choice: ProviderChoice) -> str:
        """The one model the endpoint lists; of several the vendor's usual one, if it is among them."""
        where = f"Provider: {choice.name} at {choice.host}"
        try:
            models = [each.name for each in await self._listed(choice)]
        except ModelError as failure:
            raise ConfigError(
                f"No model is named, and the endpoint's list cannot be read: {failure}", where=where, fix="Give one with -m."
            ) from failure
        if len(models) == 1:
            return models[0]
        if choice.usual_model in models:
            return str(choice.usual_model)
        shown = ", ".join(models[:20]) + (f" and {len(models) - 20} more" if len(models) > 20 else "")
        raise ConfigError(
            "No model is named, and the endpoint does not list exactly one.",
            where=where,
            fix=f"Give one with -m: {shown or 'its list is empty'}",
        )

    async def _listed(self, choice: ProviderChoice) -> Sequence[ListedModel]:
        services = self._in_use()
        endpoint = _endpoint(choice)
        quirks = quirks_for(choice.api_format, endpoint.host, "")
        return await list_models(endpoint, dialect_for(choice.api_format), quirks, clients=services.clients, clock=self._clock)

    def _in_use(self) -> EngineServices:
        if self._services is None:
            raise AssertionError("engines are used inside the `async with` block")
        return self._services


def _endpoint(choice: ProviderChoice) -> Endpoint:
    """The key stays in its wrapper until a header is made."""
    key = choice.key
    reveal = (lambda: "") if key is None else key.reveal
    return Endpoint(choice.name, choice.base_url, choice.api_format, key=reveal, key_source=choice.key_source)
