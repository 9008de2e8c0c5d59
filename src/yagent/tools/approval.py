"""Permission for one tool call: what the rules say, and what a person says when the rules leave it to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from yagent.protocol.asks import Answer, Ask
from yagent.runtime.supervise import in_thread
from yagent.tools.spec import AnySpec, Scope
from yagent.workspace.actions import Decision, Verdict
from yagent.workspace.guard import fingerprint


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that may not be made: the text for the model, what would have been done, and who refused (`user`, `nobody`, `rules`, …)."""

    text: str
    subject: str
    answered_by: str


class Approval:
    """The approval of one call. It holds for the state of the disk in which it was given, and is asked for again when that changed."""

    def __init__(self, spec: AnySpec, parameters: Any, scope: Scope) -> None:
        self._spec = spec
        self._parameters = parameters
        self._scope = scope
        self._seen: Mapping[Path, str] = {}

    async def obtain(self) -> Refused | None:
        """Ask the rules, then, when they say so, the user. None means: go ahead."""
        actions = self._spec.actions(self._parameters)
        if not actions:
            return None
        verdict = self._scope.permissions.judge(actions, declared_dangerous=self._spec.declared_dangerous(self._parameters))
        self._seen = await in_thread(fingerprint, verdict.touches) if verdict.touches else {}
        if verdict.decision is Decision.ALLOW:
            return None
        if verdict.decision is Decision.DENY:
            text = f"{self._spec.name} was refused by the rules: {verdict.explanation()} Nothing was executed. Do not try to get around it."
            return Refused(text, verdict.subject, "rules")
        return await self._ask(verdict)

    async def still_holds(self) -> bool:
        """Whether what the decision rests on is as it was."""
        return not self._seen or await in_thread(fingerprint, tuple(self._seen)) == self._seen

    async def _ask(self, verdict: Verdict) -> Refused | None:
        """Put the question to the user, and keep the grant they chose."""
        answer = await self._scope.ask(
            Ask(
                id=uuid4().hex,
                kind="approval",
                origin=self._scope.agent,
                prompt=f"Allow {self._spec.name}?",
                subject=verdict.subject,
                reasons=tuple(reason.text for reason in verdict.reasons),
                offers=verdict.offers,
                tool=self._spec.name,
            )
        )
        if not answer.granted:
            return Refused(_declined(self._spec.name, verdict, answer), verdict.subject, answer.answered_by)
        if answer.offer in verdict.offers:
            await self._scope.permissions.grant(answer.offer)
        return None


def _declined(name: str, verdict: Verdict, answer: Answer) -> str:
    """What the model reads after a refusal. It says that a person refused only when one did."""
    what = f"{name} ({verdict.subject})"
    if answer.answered_by == "nobody":
        said = f"{what} needs an approval and nobody can give one in this run."
    elif answer.answered_by == "cancelled":
        said = f"{what} needs an approval and the question was cancelled before it was answered."
    else:
        said = f"The user declined {what}." + (f" They said: {answer.text}" if answer.text.strip() else "")
    reasons = _sentences([reason.text for reason in verdict.reasons])
    return f"{said}{reasons} Nothing was executed. Find a way without it, or hand over what is missing."


def _sentences(reasons: Sequence[str]) -> str:
    """The reasons as a clause."""
    return f" Reason: {' '.join(reasons)}" if reasons else ""
