"""Permission for one tool call: what the rules say, and what a person says when the rules leave it to them."""

import json
import secrets
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from yagent.protocol.asks import Answer, Ask
from yagent.records import dataclass
from yagent.runtime.supervise import in_thread
from yagent.tools.bounds import sayable
from yagent.tools.spec import AnySpec, CallContext
from yagent.workspace.actions import Action, Decision, EditPath, Mode, ShellLine, Verdict
from yagent.workspace.guard import NO_PLACE, GuardError, fingerprint
from yagent.workspace.permissions import Permissions
from yagent.workspace.rules import parse_rule


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that may not be made: the text for the model, what would have been done, and who refused (`user`, `nobody`, `rules`, …).
    `reason` says why in a few words, `advice` what would allow it in a run like this one: both for people."""

    text: str
    subject: str
    answered_by: str
    reason: str
    advice: str = ""


SUBJECT_LENGTH: Final = 120  # characters of a subject in a refusal


class Approval:
    """The approval of one call. It holds for the state of the disk in which it was given; when that changed it has to be obtained anew."""

    def __init__(self, spec: AnySpec, parameters: Any, call: CallContext) -> None:
        self._spec = spec
        self._parameters = parameters
        self._actions = tuple(spec.actions(parameters))
        self._declared_dangerous = spec.declared_dangerous(parameters)
        self._call = call
        self._approved: Verdict | None = None
        self._seen: Mapping[Path, str] = {}

    async def obtain(self) -> Refused | None:
        """Ask the rules, then, when they say so, the user. None means: go ahead.

        Raises the YagentError of a call that cannot succeed, so that nobody need be asked about it.
        """
        verdict = await self._judge()
        self._approved = None
        if verdict.decision is Decision.ALLOW:
            return None
        if verdict.decision is Decision.DENY:
            if all(reason.code == NO_PLACE for reason in verdict.reasons):
                raise GuardError(f"{self._spec.name} was not executed: {verdict.explanation()}")
            text = f"{self._spec.name} was refused by the rules: {verdict.explanation()} Nothing was executed. Do not try to get around it."
            return Refused(text, verdict.subject, "rules", verdict.explanation())
        await self._spec.precheck(self._parameters, self._call)
        self._seen = await in_thread(fingerprint, verdict.touches)
        refused = await self._ask(verdict)
        self._approved = verdict if refused is None else None
        return refused

    async def still_holds(self) -> bool:
        """Whether the call may still be made, after waiting for an answer or for another writer: judged again, on the same content."""
        if self._approved is None and not self._spec.mutates:
            return True  # nobody was waited for
        verdict = await self._judge()
        if verdict.decision is Decision.ALLOW:
            return True
        return verdict == self._approved and await in_thread(fingerprint, verdict.touches) == self._seen

    async def _judge(self) -> Verdict:
        """What the rules say now; beside the event loop where much may have to be looked at."""
        judge = partial(self._call.scope.permissions.judge, self._spec.name, self._actions, declared_dangerous=self._declared_dangerous)
        return await in_thread(judge) if any(map(_takes_time, self._actions)) else judge()

    async def _ask(self, verdict: Verdict) -> Refused | None:
        """Put the question to the user, and keep the grant they chose. What is shown was taken after the fingerprint."""
        shown = sayable(await self._spec.preview(self._parameters, self._call)) or verdict.subject
        answer = await self._call.scope.ask(
            Ask(
                id=secrets.token_hex(16),
                kind="approval",
                origin=self._call.scope.agent,
                prompt=f"Allow {self._spec.name}?",
                subject=shown,
                reasons=tuple(reason.text for reason in verdict.reasons),
                offers=verdict.offers,
                tool=self._spec.name,
            )
        )
        if not answer.granted:
            advice = _advice(verdict, self._call.scope.permissions) if answer.answered_by == "nobody" else ""
            said = _declined(self._spec.name, verdict, answer)
            return Refused(said, verdict.subject, answer.answered_by, _why(verdict, answer), advice)
        if answer.offer is not None and answer.offer in verdict.offers:
            warning = await self._call.scope.grants.add(answer.offer)
            if warning:
                self._call.scope.warn(warning)
        return None


def _takes_time(action: Action) -> bool:
    """Whether judging an action costs more than a look at one path: each word of a line is looked at, and all that is lost with a file."""
    return isinstance(action, ShellLine) or (isinstance(action, EditPath) and action.change in ("replace", "delete", "rename"))


def _declined(name: str, verdict: Verdict, answer: Answer) -> str:
    """What the model reads after a refusal. It says that a person refused only when one did."""
    what = f"{name} ({shortened(verdict.subject)})"
    if answer.answered_by == "nobody":
        said = f"{what} needs an approval and nobody can give one in this run."
    elif answer.answered_by == "cancelled":
        said = f"{what} needs an approval and the question was cancelled before it was answered."
    else:
        said = f"The user declined {what}." + (f" They said: {answer.text}" if answer.text.strip() else "")
    reasons = f" Why it was asked: {verdict.explanation()}" if verdict.reasons else ""
    what_else = f"{verdict.instead} Beyond that try no" if verdict.instead else "Do not try"
    advice = (
        f"{what_else} variants of it; parts of it that need no approval may run alone. What is then still missing, hand over as missing."
    )
    return f"{said}{reasons}\nNothing was executed. {advice}"


def _why(verdict: Verdict, answer: Answer) -> str:
    """Why a call was denied, for a progress line that names the call itself."""
    match answer.answered_by:
        case "nobody":
            return f"nobody could be asked. {verdict.explanation()}".strip()
        case "cancelled":
            return "stopped before it was answered"
    return f"by you: {answer.text}" if answer.text.strip() else "by you"


def _advice(verdict: Verdict, permissions: Permissions) -> str:
    """What would allow a call that nobody could be asked about, and leaves all else as it is in this run."""
    rule, mode = next((offer.rule for offer in verdict.offers if offer.rule), ""), permissions.mode
    allow = f"--allow {shlex.quote(rule)}"
    if mode is Mode.ASK:
        return f"{allow} without -y allows it; -y alone may" if rule else "-y may allow it"
    if rule and parse_rule(rule).kind in permissions.ceiling:
        return f"it is not on the allow list of this run; {allow} beside the others allows it"
    beyond = f"{'-y' if mode is Mode.YOLO else '-Y'} does not cover this"
    if not rule:
        return f"{beyond}; no single rule does: run it yourself, or where you can be asked"
    if mode is Mode.FULL_YOLO:
        return f"{beyond}; {allow} does"
    entry = json.dumps(rule, ensure_ascii=False)  # which is how TOML writes it, too
    return f"{beyond}; in config.toml, [permissions] allow = [{entry}] does (an --allow list would leave nothing else of its kind unasked)"


def shortened(subject: str) -> str:
    """A subject as a reminder of what was meant; who wrote it knows the rest."""
    line = subject.strip().partition("\n")[0]
    return line if line == subject.strip() and len(line) <= SUBJECT_LENGTH else f"{line[:SUBJECT_LENGTH]}…"
