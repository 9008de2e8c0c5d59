"""Which models a server offers (`GET /models`), read tolerantly: a listed name is a hint for people, no proof that it works (W-63)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from yagent.llm.dialects.port import Dialect
from yagent.llm.endpoint import Endpoint
from yagent.llm.engine import ModelConfigurationError, TransientModelError
from yagent.llm.quirks import Quirks
from yagent.llm.transport.http import HttpClients, HttpRequest
from yagent.records import dataclass
from yagent.runtime.clock import Clock

LIST_BYTES = 8 * 1024 * 1024
MOST_PAGES = 20
MOST_MODELS = 5_000
_NAMES = ("id", "name", "model", "key", "slug")
_WINDOWS = ("loaded_context_length", "context_length", "context_window", "max_context_length", "max_model_len", "max_input_tokens", "n_ctx")
_LISTS = ("data", "models", "items", "result")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as its server lists it. `context_window` in tokens, None where the server does not say."""

    name: str
    context_window: int | None = None


async def list_models(
    endpoint: Endpoint, dialect: Dialect, quirks: Quirks, *, clients: HttpClients, clock: Clock, timeout: float = 20.0
) -> tuple[ListedModel, ...]:
    """The models of an endpoint in the server's order, each once, at most `MOST_MODELS`.

    Raises:
        ModelError: the server cannot be reached, refuses, or answers something that is no list.
    """
    headers = {"accept": "application/json", **dialect.headers(endpoint.key(), quirks), **endpoint.authorization, **endpoint.headers}
    url, deadline = endpoint.url("/models"), clock.deadline(timeout)
    found: dict[str, ListedModel] = {}
    page = url
    for _ in range(MOST_PAGES):
        async with clients.send(HttpRequest("GET", page, headers), deadline) as reply:
            body = await reply.read_some(LIST_BYTES)
            if not 200 <= reply.status < 300:
                error = dialect.classify(reply.status, reply.headers, body, clock.wall().timestamp())
                error.args, error.detail = (endpoint.without_secrets(str(error)),), ""
                raise error
        document = _parse(body, endpoint.host)
        for model in _models(document):
            found.setdefault(model.name, model)
        following = _following(document)
        if not following or len(found) >= MOST_MODELS:
            break
        page = f"{url}{'&' if '?' in url else '?'}limit=1000&after_id={quote(following, safe='')}"
    return tuple(found.values())[:MOST_MODELS]


def _parse(body: bytes, host: str) -> Any:
    if body.lstrip().startswith(b"<"):
        raise ModelConfigurationError(f"{host} answered the question for its models with a web page: check the base URL.")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TransientModelError(f"{host} answered the question for its models with something that is no list.") from error


def _models(document: Any) -> Iterator[ListedModel]:
    for item in _entries(document):
        if isinstance(item, str) and item.strip():
            yield ListedModel(item.strip())
        elif isinstance(item, Mapping):
            name = next((item[key] for key in _NAMES if isinstance(item.get(key), str) and item[key].strip()), "")
            if name:
                yield ListedModel(name.strip(), _window(item))


def _entries(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if isinstance(document, Mapping):
        for key in _LISTS:
            inner = document.get(key)
            if isinstance(inner, list):
                return inner
            if isinstance(inner, Mapping):
                return _entries(inner)
    return []


def _window(item: Mapping[str, Any]) -> int | None:
    meta = item.get("meta")
    for place in (item, meta if isinstance(meta, Mapping) else {}):
        for key in _WINDOWS:
            value = place.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


def _following(document: Any) -> str:
    """The id after which the next page begins, where the server says there is one."""
    if isinstance(document, Mapping) and document.get("has_more") is True and isinstance(document.get("last_id"), str):
        return str(document["last_id"])
    return ""
