"""The results of the delegations of a session: one name for each, and none for two, from its first task to its last."""

from collections.abc import Mapping
from dataclasses import field

from yagent.records import dataclass


@dataclass(slots=True)
class Results:
    """What the delegations came to, and how they are called. A session has one, whichever of its tasks began them."""

    texts: dict[str, str] = field(default_factory=dict)  # "repo#2" and, for the newest of a role, "repo" -> rendered result
    _begun: dict[str, int] = field(default_factory=dict)  # role -> delegations begun
    _delegations: set[str] = field(default_factory=set)

    def name(self, role: str) -> str:
        """The name of the next result of a role: `repo#1`, `repo#2`, …, in the order in which the delegations began."""
        self._begun[role] = self._begun.get(role, 0) + 1
        return f"{role}#{self._begun[role]}"

    def keep(self, name: str, text: str) -> None:
        """Keep a result under its name, and as the newest of its role."""
        self.texts[name] = self.texts[name.partition("#")[0]] = text

    def new_delegation(self, call_id: str) -> str:
        """The id of the delegation that a call starts: the call's own (F-18), told apart where several calls of a session use the same."""
        found, number = call_id, 1
        while found in self._delegations:
            number += 1
            found = f"{call_id}-{number}"
        self._delegations.add(found)
        return found

    def recall(self, results: Mapping[str, str], delegations: Mapping[str, str]) -> None:
        """Take up what an earlier process of the session had: results by name, and the name of the result of each delegation begun."""
        for name, text in results.items():
            self.keep(name, text)
        for name in delegations.values():
            role, _, number = name.partition("#")
            self._begun[role] = max(self._begun.get(role, 0), int(number) if number.isdecimal() else 0)
        self._delegations.update(delegations)
