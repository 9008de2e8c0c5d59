"""Lists of models as servers really give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.raw_server import RawServer, says, whole
from tests.support.model_server import ModelServer
from tests.support.model_server.connection import HttpRequest as Seen
from tests.support.virtual_time import VirtualClock
from yagent.llm.dialects.table import dialect_for
from yagent.llm.endpoint import Endpoint
from yagent.llm.engine import ModelConfigurationError, TransientModelError
from yagent.llm.model_list import MOST_MODELS, ListedModel, list_models
from yagent.llm.quirks_table import quirks_for
from yagent.llm.transport.http import HttpClients, HttpSettings

KEY = "sk-canary-0123"


async def listed(url: str, clock: VirtualClock, api_format: str = "openai", key: str = KEY) -> tuple[ListedModel, ...]:
    """The list of a server."""
    endpoint = Endpoint("p", url, api_format, lambda: key)
    async with HttpClients(HttpSettings(), clock) as clients:
        return await list_models(endpoint, dialect_for(api_format), quirks_for(api_format, "h", "m"), clients=clients, clock=clock)


@pytest.mark.parametrize(
    ("body", "models"),
    [
        ({"object": "list", "data": [{"id": "a"}, {"id": "b", "context_length": 8192}]}, [("a", None), ("b", 8192)]),
        ({"data": [{"id": "a", "max_model_len": 4096}, {"id": "a"}]}, [("a", 4096)]),
        ({"models": [{"name": "x", "model": "x"}], "data": [{"id": "x", "meta": {"n_ctx": 2048}}]}, [("x", 2048)]),
        ({"data": [{"key": "lm", "loaded_context_length": 4096, "max_context_length": 32768}]}, [("lm", 4096)]),
        ({"models": ["a", " b ", "", 3, None, {"id": 5}, {"no": "name"}]}, [("a", None), ("b", None)]),
        (["a", {"id": "b"}], [("a", None), ("b", None)]),
        ({"data": {"models": [{"id": "deep"}]}}, [("deep", None)]),
        ({"data": [{"id": "a", "context_length": "many", "max_model_len": True}]}, [("a", None)]),
        ({"data": []}, []),
        ({"data": None}, []),
        ("words", []),
    ],
)
async def test_lists_of_many_forms_are_read(body: Any, models: list[tuple[str, int | None]], clock: VirtualClock) -> None:
    async with RawServer(says(whole(json.dumps(body).encode()))) as server:
        found = await listed(f"http://127.0.0.1:{server.port}/v1", clock)
    assert [(model.name, model.context_window) for model in found] == models


async def test_each_dialect_asks_with_its_own_headers(model_server: ModelServer, clock: VirtualClock) -> None:
    model_server.key = KEY
    for api_format in ("openai", "responses", "anthropic"):
        assert [model.name for model in await listed(model_server.url, clock, api_format)] == ["played-model"]
    assert model_server.exchanges[2].headers["anthropic-version"]
    assert [exchange.path for exchange in model_server.exchanges] == ["/v1/models"] * 3


async def test_pages_are_followed_and_their_number_is_bounded(clock: VirtualClock) -> None:
    async def answer(request: Seen, _reader: object, writer: Any) -> bool:
        start = int(request.path.partition("after_id=m")[2] or "-1") + 1
        page = [{"id": f"m{number}"} for number in range(start, start + 2)]
        writer.write(whole(json.dumps({"data": page, "has_more": True, "last_id": page[-1]["id"]}).encode()))
        return True

    async with RawServer(answer) as server:
        found = await listed(f"http://127.0.0.1:{server.port}", clock, "anthropic")
    assert [model.name for model in found] == [f"m{number}" for number in range(40)]


async def test_a_list_without_end_is_cut(clock: VirtualClock) -> None:
    body = json.dumps([f"m{number}" for number in range(MOST_MODELS + 100)]).encode()
    async with RawServer(says(whole(body))) as server:
        assert len(await listed(f"http://127.0.0.1:{server.port}/v1", clock)) == MOST_MODELS


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (whole(b"<html>", "200 OK"), ModelConfigurationError, "web page"),
        (whole(b"not json", "200 OK"), TransientModelError, "no list"),
        (whole(b"[" * 100_000, "200 OK"), TransientModelError, "no list"),
        (whole(b'{"error":{"message":"bad key"}}', "401 No"), ModelConfigurationError, "bad key"),
        (whole(b"", "404 No"), ModelConfigurationError, "404"),
        (whole(b"", "500 No"), TransientModelError, "500"),
    ],
)
async def test_what_is_no_list_says_so(answer: bytes, kind: type[Exception], words: str, clock: VirtualClock) -> None:
    async with RawServer(says(answer)) as server:
        with pytest.raises(kind, match=words):
            await listed(f"http://127.0.0.1:{server.port}/v1", clock)


async def test_a_silent_server_is_left_after_twenty_seconds(clock: VirtualClock) -> None:
    async def silent(_request: object, reader: Any, _writer: object) -> None:
        await reader.read(1)

    started = clock.now()
    async with RawServer(silent) as server:
        with pytest.raises(TransientModelError, match="time limit"):
            await listed(f"http://127.0.0.1:{server.port}/v1", clock)
    assert clock.now() - started == pytest.approx(20)
