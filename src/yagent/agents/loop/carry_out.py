"""Carries out a run from its opening to its terminal record, whatever ends it. Who opened the record closes it."""

from collections.abc import Sequence

from yagent.agents.loop.frame import Frame
from yagent.agents.loop.loop import AgentLoop
from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.result import RunResult
from yagent.agents.loop.resumption import Resumption
from yagent.errors import YagentError
from yagent.protocol.messages import Message
from yagent.protocol.result import DeniedAccount
from yagent.protocol.stop import StopReason
from yagent.rollout.records import EventMessage
from yagent.rollout.writer import WRITE_SECONDS
from yagent.runtime.activity import TotalTimeoutError
from yagent.runtime.supervise import shielded

CLOSING_SECONDS = 4 * WRITE_SECONDS  # it takes three writes, and reading back


async def carry_out(loop: AgentLoop, opening: Sequence[Message], frame: Frame, resumption: Resumption | None = None) -> RunResult:
    """Run, from its opening or from where it was stopped, to the end under the frame's timers and seal the record.

    `loop.result` is set in every case.
    A run whose total time is over gets one last step to hand over. Raises CancelledError when it was cancelled, nothing else.
    """
    try:
        with frame.account.last_word_reserved(frame.activity):
            loop.result = await _timed(loop, opening, frame, resumption)
    except BaseException as end:
        loop.result = loop.ended(end)
        if not isinstance(end, Exception):
            raise
    finally:
        if loop.result is not None:
            denials = frame.denials if loop.role.is_delegated else frame.account.denials
            await _sealed(frame, loop.result, denials)
    return loop.result


async def _timed(loop: AgentLoop, opening: Sequence[Message], frame: Frame, resumption: Resumption | None) -> RunResult:
    try:
        with frame.activity.follow(frame.gate):
            return await frame.activity.run(loop.run(opening, resumption))
    except TotalTimeoutError as over:
        if not loop.role.is_delegated:
            return loop.ended(over)
        try:
            async with frame.clock.timeout(frame.activity.last_step()):
                return await loop.time_is_up(over)
        except (TimeoutError, YagentError):
            return loop.ended(over)


async def _sealed(frame: Frame, result: RunResult, denials: Sequence[DeniedAccount]) -> None:
    """See to the checkpoint and the terminal record, also while the run is being cancelled. What cannot be kept is told with the task's
    result."""
    try:
        await shielded(_closed(frame, result, denials), timeout=CLOSING_SECONDS, clock=frame.clock, name="seal record")
    except (TimeoutError, YagentError) as failure:
        if result.error is not failure:
            frame.account.warn(f"The end of the record is missing: {str(failure) or 'the disk does not answer'}")


async def _closed(frame: Frame, result: RunResult, denials: Sequence[DeniedAccount]) -> None:
    """Write where a later run could go on, then how this one ended, also where the first cannot be told."""
    checkpoint = await frame.checkpoint(result)
    try:
        if checkpoint is not None:
            await frame.recorder.finalize_checkpoint(checkpoint)
    finally:
        await seal(frame.recorder, result, denials, alone=frame.ended_alone())


async def seal(recorder: Recorder, result: RunResult, denials: Sequence[DeniedAccount] = (), *, alone: bool = False) -> None:
    """Write the terminal record: how the run ended, how many of its calls nobody could be asked about, and whether the user ended it alone:
    such a run does not go on with the rest."""
    name = "task_complete" if result.is_finished else "turn_aborted"
    data: dict[str, str | int] = {
        "stop_reason": result.stop_reason.value,
        "status": result.status,
        "steps": result.steps,
        "error": str(result.error or ""),
    }
    if result.stop_reason is StopReason.AGENT_EXIT and result.handoff is not None:
        data["conclusion"] = result.handoff.conclusion
    denied = sum(each.answered_by == "nobody" for each in denials)
    if denied:
        data["denied"] = denied
    if alone:
        data["alone"] = True
    recorder.append(EventMessage(name, data))
    await recorder.barrier()
