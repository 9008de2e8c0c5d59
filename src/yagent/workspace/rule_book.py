"""All rules that hold for one agent, asked in one place: deny beats ask beats allow, whoever gave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yagent.records import dataclass
from yagent.workspace.actions import Decision, Reason
from yagent.workspace.guard import Location
from yagent.workspace.rules import Anchors, Match, Rule, RuleKind, could_match_below, matches_name, matches_path, matches_words


@dataclass(frozen=True, slots=True)
class Finding:
    """What one part of a call came to.

    `rule` is the narrow rule that would allow it in future ("" when none is offered), `lasting` whether it may outlive the session.
    """

    decision: Decision
    reason: Reason | None = None
    rule: str = ""
    lasting: bool = True

    def stricter(self, other: Finding) -> Finding:
        return self if self.decision.rank >= other.decision.rank else other


ALLOWED = Finding(Decision.ALLOW)


def asks(code: str, text: str, rule: str = "", *, lasting: bool = True, instead: str = "") -> Finding:
    """A part that asks."""
    return Finding(Decision.ASK, Reason(code, text, instead), rule, lasting)


def denies(code: str, text: str) -> Finding:
    """A part that is refused."""
    return Finding(Decision.DENY, Reason(code, text))


@dataclass(frozen=True, slots=True)
class RuleBook:
    """`deny`, `ask` and `allow` are the user's; `granted` returns what was granted meanwhile, shared by an agent and its children."""

    anchors: Anchors
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()
    granted: Callable[[], Sequence[Rule]] = tuple

    def has_deny(self, kind: RuleKind) -> bool:
        """Say whether anything of this kind is denied or must ask."""
        return any(rule.kind == kind for rule in (*self.deny, *self.ask))

    def path(self, kind: RuleKind, location: Location) -> Finding | None:
        """Return what the rules say about a location, None when they say nothing. A rule that allows is in `Finding.rule`."""
        for rules, judged in ((self.deny, denies), (self.ask, asks)):
            for rule in rules:
                if rule.kind == kind and matches_path(rule, location.names, self.anchors, towards_matching=True):
                    return judged("rule", f"{location.requested}: your rule {rule.text} says so")
        for rule in self._allowing(kind):
            if matches_path(rule, (location.named, location.resolved), self.anchors, towards_matching=False):
                return Finding(Decision.ALLOW, None, rule.text)
        return None

    def denied_below(self, location: Location) -> Rule | None:
        """Return a deny rule for reading that may match something below a directory."""
        return next((rule for rule in self.deny if rule.kind == "read" and could_match_below(rule, location.resolved, self.anchors)), None)

    def tool(self, name: str) -> Finding | None:
        """Return what the rules say about a tool by its name."""
        for rules, judged in ((self.deny, denies), (self.ask, asks)):
            for rule in rules:
                if rule.kind == "tool" and matches_name(rule, name):
                    return judged("rule", f"{name}: your rule {rule.text} says so")
        if any(matches_name(rule, name) for rule in self._allowing("tool")):
            return ALLOWED
        return None

    def restrict_words(self, words: Sequence[str | None]) -> Finding | None:
        """Return what the deny and ask rules say about a command, None when they say nothing."""
        found: Finding | None = None
        for rules, judged in ((self.deny, denies), (self.ask, asks)):
            for rule in rules:
                match = matches_words(rule, words) if rule.kind == "shell" else Match.NO
                if match is Match.YES:
                    return judged("rule", f"your rule {rule.text} says so")
                if match is Match.MAYBE:
                    found = asks("rule", f"words that are only known when the line runs could make it {rule.body}")
        return found

    def allow_words(self, words: Sequence[str | None], escalating: Sequence[str]) -> bool:
        """Say whether an allow rule covers a command whose every word is known.

        `escalating` words must be spelled out in the rule: a `*` does not cover them.
        """
        if None in words:
            return False
        return any(
            matches_words(rule, words) is Match.YES and all(word in rule.words for word in escalating) for rule in self._allowing("shell")
        )

    def _allowing(self, kind: RuleKind) -> list[Rule]:
        return [rule for rule in (*self.allow, *self.granted()) if rule.kind == kind]
