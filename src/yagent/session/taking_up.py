"""What becomes of what was under way when a session was stopped: decided by the program from the record, never by a model.

An agent goes on at the point where it stood. Its newest reply may have calls without a result; of these a delegation goes on by itself
where it may (and so on below it), or is answered with a report of what the record tells of it; every other call has an unknown outcome.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from yagent.agents.delegation.report import NEVER_BEGUN, NOTHING_RECORDED, report
from yagent.agents.delegation.spawn import Commission, Stopped
from yagent.agents.loop.resumption import Resumption
from yagent.agents.loop.role import Role
from yagent.errors import YagentError
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import Message, ModelIdentity, ToolCall, ToolResult
from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.checkpoint import Replaying, degraded, moved
from yagent.rollout.marks import Segment, unknown_outcome
from yagent.rollout.records import TurnContext
from yagent.rollout.replay import Replayed, replay
from yagent.rollout.scan import SessionRecords
from yagent.runtime.supervise import in_thread
from yagent.session.fitting import most_tokens
from yagent.session.resume import ResumeSettings, Standing
from yagent.tools.teaching import cancelled_output

MAY_GO_ON = ("", StopReason.PAUSED, StopReason.CANCELLED)  # "": no terminal record, the process was killed (I-32, decisions)
MOVED = "The workspace stands at another commit than when this session was stopped; its agents go on with what they knew then."
DONE = (StopReason.AGENT_EXIT, StopReason.PLAIN_TEXT)


@dataclass(frozen=True, slots=True)
class TakenUp:
    """Where an agent goes on, the delegations it had under way by the id of their call, the files of its record, and the model, tools and
    prompt it worked with last. `goes_on`: it is not told anything new; `was_killed`: nothing on the record says how it ended."""

    resumption: Resumption
    stopped: Mapping[str, Stopped] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    context: TurnContext | None = None
    goes_on: bool = True
    was_killed: bool = False
    said: tuple[tuple[bool, str], ...] = ()
    compactions: int = 0
    has_meta: bool = True

    def answers(self) -> tuple[ToolResult, ...]:
        """The results that close its newest reply, where it is told something new instead of going on."""
        newest = self.resumption.messages[-1] if self.resumption.messages else None
        if newest is None or not newest.calls:
            return ()
        return tuple(_answer(call, self) for call in newest.calls)


@dataclass(frozen=True, slots=True)
class Reopening:
    """What opening a session again takes beside its files. `standing()` tells where the workspace stands now, `model(role)` who answers an
    agent."""

    workspace: Path
    roster: Mapping[str, Role]
    settings: ResumeSettings
    standing: Callable[[], Awaitable[Standing]]
    model: Callable[[str], ModelIdentity]


class TakingUp:
    """The stopped agents of one session."""

    def __init__(self, records: SessionRecords, how: "Reopening") -> None:
        self._records = records
        self._how = how
        self._taken: dict[str, TakenUp] = {}
        self.notes: dict[str, None] = {}  # what the user has to know of what was found, once each

    def of(self, delegation_id: str) -> TakenUp:
        """A delegation that was found to go on."""
        return self._taken[delegation_id]

    def unknown(self) -> Iterator[ToolCall]:
        """The calls of all agents found so far whose outcome nobody knows."""
        for taken in self._taken.values():
            yield from (call for call in taken.resumption.unanswered if call.id not in taken.stopped)

    async def agent(self, identity: AgentIdentity, past: Replayed, segments: tuple[Segment, ...], *, goes_on: bool = True) -> TakenUp:
        """Where an agent goes on, or (`goes_on` false) is told something new."""
        messages, settled, delegated = self._under_way(identity, past)
        if goes_on and _has_left(past):
            messages = past.messages[:-1]  # only that it has said it is done is heard again
        resumption = Resumption(
            messages,
            past.step,
            settled,
            changed=past.changed,
            ran=past.ran,
            is_over=past.stop_reason == "plain_text",
            closing=StopReason(past.closing) if past.closing in set(StopReason) else None,
        )
        after = past.asked_at
        stopped = {call.id: await self._delegation(identity, call, after, past.begun) for call in delegated}
        taken = self._taken[identity.delegation_id] = TakenUp(
            resumption,
            stopped,
            segments,
            past.context,
            goes_on=goes_on,
            was_killed=not past.stop_reason,
            said=past.said,
            compactions=past.compactions,
            has_meta=past.meta is not None,
        )
        return taken

    def _under_way(self, identity: AgentIdentity, past: Replayed) -> tuple[tuple[Message, ...], Mapping[str, ToolResult], list[ToolCall]]:
        """The conversation up to the newest reply whose calls are not all answered for good, its known results, its open delegations."""
        if past.open_calls:
            return past.messages, past.settled, [call for call in past.open_calls if self._role(call) is not None]
        if len(past.messages) < 2 or not past.messages[-1].results:
            return past.messages, {}, []
        reply, results = past.messages[-2], {result.call_id: result for result in past.messages[-1].results}
        stopped = past.stop_reason in MAY_GO_ON[1:]
        again = [call for call in reply.calls if stopped and self._is_unheard(identity, call, results.get(call.id), past.asked_at)]
        if not again:
            return past.messages, {}, []
        return past.messages[:-1], {name: result for name, result in results.items() if name not in {call.id for call in again}}, again

    def _is_unheard(self, parent: AgentIdentity, call: ToolCall, result: ToolResult | None, after: int) -> bool:
        """Whether what a delegation came to has not been heard: it was stopped together with its parent, and the result it has is only
        that it was, or it had just ended by itself when its parent was stopped."""
        child = self._records.find_child(parent.delegation_id, call.id, after) if self._role(call) is not None else None
        if child is None or child.alone:
            return False
        return child.stop_reason in MAY_GO_ON or (result is not None and result.text == cancelled_output(call).text)

    def _role(self, call: ToolCall) -> Role | None:
        return self._how.roster.get(call.name.removeprefix("delegate_")) if call.name.startswith("delegate_") else None

    async def _delegation(self, parent: AgentIdentity, call: ToolCall, after: int, begun: frozenset[str]) -> Stopped:
        """A delegation that was under way: it goes on, or its parent gets a report and the reasons (I-24, I-25)."""
        role = self._role(call)
        if role is None:
            raise AssertionError("only calls of delegations are looked at")
        child = self._records.find_child(parent.delegation_id, call.id, after)
        if child is None:
            reasons: tuple[str, ...] = ("no_rollout",) if call.id in begun else ()
            commission = Commission(role, AgentIdentity(role.name), role.name, call.id, "")
            return Stopped(commission, reasons=reasons, report=NOTHING_RECORDED if reasons else NEVER_BEGUN)
        identity = AgentIdentity(role.name, child.meta.delegation_id, parent.depth + 1)
        commission = Commission(role, identity, child.meta.name or role.name, call.id, child.meta.task)
        try:
            past = await in_thread(replay, child.segments)
        except (OSError, YagentError):
            return Stopped(commission, reasons=("unreadable",), report=NOTHING_RECORDED)
        if not past.messages:  # killed before the first word of its task was on the record, so nothing was asked of any model
            return Stopped(commission, report=NEVER_BEGUN)
        taken = await self.agent(identity, past, child.segments)
        reasons = await self._reasons(past, role)
        if reasons:
            return Stopped(commission, reasons=reasons, report=report(taken.resumption))
        return Stopped(commission, taken.resumption)

    async def _reasons(self, past: Replayed, role: Role) -> tuple[str, ...]:
        """Why a delegation cannot go on; empty when it can, or when it was done already."""
        if past.stop_reason in DONE:
            return ()
        settings, head = self._how.settings, (await self._how.standing()).head
        budget = settings.token_budget or most_tokens(self._how.model(role.name))
        found = degraded(past, Replaying(budget, settings.max_messages, head, settings.block_on_change))
        if not settings.block_on_change and moved(past, head):
            self.notes[MOVED] = None
        if not found and past.stop_reason not in MAY_GO_ON:
            return (past.stop_reason,)
        return found


def _has_left(past: Replayed) -> bool:
    """Whether the newest step is a call of `agent_exit` that was accepted."""
    if len(past.messages) < 2 or past.open_calls:
        return False
    calls, results = past.messages[-2].calls, past.messages[-1].results
    return [call.name for call in calls] == ["agent_exit"] and len(results) == 1 and not results[0].is_error


def _answer(call: ToolCall, taken: TakenUp) -> ToolResult:
    settled, stopped = taken.resumption.settled.get(call.id), taken.stopped.get(call.id)
    if settled is not None:
        return settled
    if stopped is None:
        return unknown_outcome(call)
    if stopped.reasons:
        return ToolResult(call.id, call.name, stopped.told)
    told = stopped.report or report(stopped.resumption or Resumption(()))
    return ToolResult(call.id, call.name, f"[{stopped.commission.name} · stopped]\n{told}")
