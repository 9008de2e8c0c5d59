"""Who listens to the bus besides the front ends: the logs of model calls, tools and delegations (U-09, C-35, D-24, F-27)."""

import logging
from collections.abc import Mapping

from yagent.agents.loop.turn import CALL_STOPPED
from yagent.protocol.events import (
    DelegationEnded,
    DelegationStarted,
    Event,
    LlmCallEnd,
    LlmCallStart,
    LlmRetry,
    ToolCallResult,
    ToolCallStart,
)
from yagent.protocol.stop import StopReason
from yagent.runtime.bus import Bus
from yagent.runtime.log import lines_belong_to
from yagent.runtime.supervise import Domain, Handle

LLM = logging.getLogger("yagent.llm.calls")
TOOLS = logging.getLogger("yagent.tools.calls")
DELEGATIONS = logging.getLogger("yagent.agents.delegation.runs")
STOPPED: Mapping[str, str] = {StopReason.CANCELLED: "stopped", StopReason.PAUSED: "paused"}  # which is no error
CUT_SHORT: Mapping[str, str] = {"cancelled": "stopped", "not run": "not run"}  # summaries of calls
CLIP = 2000  # characters of an argument or a result in a log line

TYPES = frozenset(
    each.type for each in (DelegationEnded, DelegationStarted, LlmCallEnd, LlmCallStart, LlmRetry, ToolCallResult, ToolCallStart)
)


def attach_logs(bus: Bus[Event], domain: Domain) -> Handle[None]:
    """Write calls and delegations to their logs; the handle ends when the bus is closed and everything was written."""
    return bus.attach(domain, "logs", log_event, types=TYPES)


def log_event(event: Event) -> None:
    """One line for one event, of the task in which it happened: the next one may have begun since."""
    lines_belong_to(event.trace_id or "")
    who = event.delegation_id or "director"
    payload = event.payload
    match payload:
        case LlmCallStart():
            LLM.info("%s call %d to %s", who, payload.call_no, payload.model)
        case LlmCallEnd(error=None):
            LLM.info("%s call %d took %d ms, %s", who, payload.call_no, payload.duration_ms, payload.usage)
        case LlmCallEnd(error=error) if error == CALL_STOPPED:
            LLM.info("%s call %d was stopped after %d ms", who, payload.call_no, payload.duration_ms)
        case LlmCallEnd():
            LLM.error("%s call %d failed after %d ms: %s", who, payload.call_no, payload.duration_ms, payload.error)
        case LlmRetry():
            LLM.warning("%s: %s; attempt %d in %.1f s", who, payload.reason, payload.attempt, payload.delay_seconds)
        case ToolCallStart():
            TOOLS.info("%s %s %s %s", who, payload.call_id, payload.name, payload.arguments[:CLIP])
        case ToolCallResult():
            outcome = "ok" if payload.ok else CUT_SHORT.get(payload.summary, "error")
            TOOLS.info("%s %s %s %s in %d ms: %s", who, payload.call_id, payload.name, outcome, payload.duration_ms, payload.text[:CLIP])
        case DelegationStarted():
            DELEGATIONS.info("%s %s for %s: %s", who, payload.agent, payload.parent_delegation_id or "director", payload.task[:CLIP])
        case DelegationEnded():
            status = STOPPED.get(payload.stop_reason, payload.status)
            DELEGATIONS.info("%s %s %s (%s) after %d steps", who, payload.agent, status, payload.stop_reason, payload.steps)
        case _:
            return
