"""The part of a request body that is not the conversation: limits, effort, switches. Families differ by data only."""

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

from yagent.llm.dialects.port import Rejection, WireModel
from yagent.llm.engine import CallOptions
from yagent.patterns import pattern

_MINIMUM_BUDGET = 1024  # tokens; Anthropic refuses less
_ESSENTIAL = {"stream", "store"}
_CEILING = pattern(
    r"(?:at most|maximum(?: allowed| value| number)?[^0-9]{0,60}|less than or equal to|<=|up to|>)\s*`?(\d{2,7})\b", re.IGNORECASE
)
_RENAME = pattern(r"\buse '?\"?`?([a-z_]+)[`'\"]? instead", re.IGNORECASE)


def build(options: CallOptions, model: WireModel, own: Mapping[str, Any], withheld: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of a request: the dialect's `own`, then limit, temperature and effort (C-04, C-05), as family and server want them.

    `withheld` names what this one request cannot carry.
    """
    quirks, learned = model.quirks, model.learned
    fields: dict[str, Any] = dict(own)
    merge(fields, quirks.always)
    limit = _limit(options, model)
    if limit is not None:
        fields[quirks.limit_parameter] = limit
    temperature = options.temperature if options.temperature is not None else model.settings.temperature or None
    if temperature is not None:
        fields["temperature"] = temperature
    _add_effort(fields, model)
    unwanted = (*quirks.omit, *learned.dropped, *withheld)
    remove_all(fields, unwanted)
    _fit_budget(fields, model)
    remove_all(fields, unwanted)  # what thinking brings along may be unwanted too
    return {learned.renamed.get(name, name): value for name, value in fields.items()}


def _limit(options: CallOptions, model: WireModel) -> int | None:
    quirks, settings = model.quirks, model.settings
    limit = options.max_output_tokens or settings.max_output_tokens or None
    if limit is None and quirks.default_limit is not None:
        limit = min(settings.output_ceiling or quirks.default_limit, quirks.limit_cap)
    ceiling = model.learned.ceilings.get(quirks.limit_parameter)
    return limit if limit is None or ceiling is None else min(limit, ceiling)


def _add_effort(fields: dict[str, Any], model: WireModel) -> None:
    effort, rule = model.settings.reasoning_effort.strip(), model.quirks.effort
    if not effort:
        return
    if effort in rule.levels:
        merge(fields, rule.levels[effort])
    elif rule.verbatim:
        merge(fields, rule.beside)
        _put(fields, rule.verbatim, effort)


def _fit_budget(fields: dict[str, Any], model: WireModel) -> None:
    """A thinking budget needs room below the output limit (C-10); where the server has no room for it, thinking stays off (C-11)."""
    quirks = model.quirks
    thinking = fields.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    if not isinstance(budget, int):
        return
    ceilings = (model.learned.ceilings.get(quirks.limit_parameter), model.settings.output_ceiling)
    limit = max(fields.get(quirks.limit_parameter, 0), budget + quirks.budget_headroom)
    limit = min((limit, *(ceiling for ceiling in ceilings if ceiling)))
    budget = min(budget, limit - quirks.budget_headroom)
    if budget < _MINIMUM_BUDGET:
        del fields["thinking"]
        return
    fields["thinking"] = {**fields["thinking"], "budget_tokens": budget}
    fields[quirks.limit_parameter] = limit
    merge(fields, quirks.thinking_fixes)


def learn(rejection: Rejection, model: WireModel, sent: Mapping[str, Any]) -> str | None:
    """Remember what the server refuses (A32) and say so in one line; None when the complaint is about nothing we could leave out."""
    learned = model.learned
    current = {wire: name for name, wire in learned.renamed.items()}
    path = _complained_about(rejection, sent)
    if path is None:
        return None
    name = current.get(path, path)
    ceiling = _CEILING.search(rejection.message)
    if name == model.quirks.limit_parameter and ceiling is not None and int(ceiling[1]) < sent[path]:
        learned.ceilings[name] = int(ceiling[1])
        return f"The server allows {ceiling[1]} for {path}; the output limit was lowered."
    other = _RENAME.search(rejection.message)
    if other is not None and other[1] not in sent and name not in learned.renamed and "_" in other[1]:
        learned.renamed[name] = other[1]
        return f"The server wants {other[1]} instead of {path}."
    if name == model.quirks.limit_parameter and model.quirks.default_limit is not None:
        return None
    learned.dropped.add(name)
    return f"The server does not accept {path}; it is no longer sent."


def _complained_about(rejection: Rejection, sent: Mapping[str, Any]) -> str | None:
    named = rejection.parameter or ""
    if named and _value_at(sent, named) is not None and named not in _ESSENTIAL:
        return named
    candidates = [name for name in sent if name not in _ESSENTIAL]
    if named:
        root = re.split(r"[.\[]", named)[0]
        return root if root in candidates else None
    mentioned = [name for name in candidates if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", rejection.message)]
    return max(mentioned, key=len, default=None)


def merge(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add `more` to `fields`, objects into objects."""
    for name, value in more.items():
        present = fields.get(name)
        if isinstance(present, dict) and isinstance(value, Mapping):
            merge(present, value)
        else:
            fields[name] = copy.deepcopy(value)


def remove_all(fields: dict[str, Any], paths: Iterable[str]) -> None:
    """Take several fields out."""
    for path in paths:
        remove(fields, path)


def remove(fields: dict[str, Any], path: str) -> None:
    """Take the field at a dotted path out."""
    *parents, leaf = path.split(".")
    holder: Any = fields
    for name in parents:
        holder = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        holder.pop(leaf, None)


def _put(fields: dict[str, Any], path: str, value: Any) -> None:
    name, _, rest = path.partition(".")
    if rest:
        inner = fields.setdefault(name, {})
        _put(inner, rest, value)
    else:
        fields[name] = value


def _value_at(fields: Mapping[str, Any], path: str) -> Any:
    value: Any = fields
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
