"""Names and ids of tool calls in the forms servers accept, and back again."""

import hashlib
from collections.abc import Iterable

from yagent.llm.quirks import CallIdRule
from yagent.patterns import pattern

_ILLEGAL = pattern(r"[^A-Za-z0-9_-]")
_LIMIT = 64
_UNNAMED = "unnamed_tool"


def legal_name(name: str) -> str:
    """`name` in the form every provider accepts: at most 64 of A-Z a-z 0-9 _ -, beginning with a letter or underscore."""
    cleaned = _ILLEGAL.sub("_", name)
    if not cleaned:
        return _UNNAMED
    if not (cleaned[0].isalpha() or cleaned[0] == "_"):
        cleaned = f"_{cleaned}"
    return cleaned if len(cleaned) <= _LIMIT else _with_hash(cleaned, name)


def _with_hash(cleaned: str, name: str) -> str:
    suffix = "_" + hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return cleaned[: _LIMIT - len(suffix)] + suffix


class ToolNames:
    """A reversible mapping between the names of declared tools and their names on the wire (W-06).

    A name that had to change and would then equal another one carries a hash of itself, so the mapping depends on the set of names, not
    on their order. Names that were never declared are made legal one way only.
    """

    def __init__(self, names: Iterable[str]) -> None:
        declared = tuple(dict.fromkeys(names))
        candidates = [legal_name(name) for name in declared]
        self._wire = {
            name: candidate if name == candidate or [*candidates, *declared].count(candidate) == 1 else _with_hash(candidate, name)
            for name, candidate in zip(declared, candidates, strict=True)
        }
        self._original = {wire: name for name, wire in self._wire.items()}

    def wire(self, name: str) -> str:
        """The name as the server gets it."""
        return self._wire.get(name) or legal_name(name)

    def original(self, wire: str) -> str:
        """The declared name behind what the server sent; a name that was never declared stays as it came."""
        return self._original.get(wire, wire)


class CallIds:
    """Tool call ids of one dialogue (A36).

    An id goes back unchanged to the model that made it. An id from elsewhere that the server would refuse, an empty one and one that was
    used before are replaced; the result follows its call.
    """

    def __init__(self, rule: CallIdRule) -> None:
        self._rule = rule
        self._legal = pattern(rule.pattern)
        self._wire: dict[str, str] = {}
        self._used: set[str] = set()
        self.seen: set[str] = set()

    def of_call(self, call_id: str, *, own: bool) -> str:
        """The id a call goes out with."""
        self.seen.add(call_id)
        wire = call_id if call_id and (own or self._legal.fullmatch(call_id)) else self._replacement(call_id)
        if wire in self._used:
            wire = self._replacement(f"{call_id}#{len(self._used)}")
        self._used.add(wire)
        self._wire[call_id] = wire
        return wire

    def of_result(self, call_id: str) -> str:
        """The id its call went out with."""
        return self._wire.get(call_id, call_id)

    def _replacement(self, text: str) -> str:
        return self._rule.prefix + hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[: self._rule.digits]
