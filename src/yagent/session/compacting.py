"""Compresses the Director's conversation between two tasks, when the user asks for it (W-39)."""

import asyncio
from collections.abc import Sequence
from functools import partial

from yagent.agents.loop.frame import Frame
from yagent.agents.loop.stop import Panic, classify
from yagent.agents.loop.task import TaskAccount
from yagent.compression.compaction import Summarise
from yagent.errors import YagentError
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import EXIT_CODES, StopReason
from yagent.runtime.activity import Activity
from yagent.session.consult import SUMMARY, Consultation
from yagent.session.controls import Controls
from yagent.session.runs import Seat
from yagent.session.workshop import Workshop

NOTHING = "There is nothing to compress: what the conversation holds is needed as it is."


async def compacted(
    shop: Workshop, seat: Seat, controls: Controls, account: TaskAccount, *, step: int, changed: Sequence[str]
) -> TaskResult:
    """Compress, and give account of it. `step` and `changed` are those of the task before."""
    control = controls.director
    controls.warn = account.warn
    frame = Frame(seat.recorder, Activity(shop.clock), control.publisher, shop.clock, control.gate, account)
    consult = Consultation(lambda slot: shop.engine(seat.role.name, slot), frame, shop.settings.turn)
    summarise = partial(consult, SUMMARY, shop.prompts.text("compression/summariser.md").strip())
    handle = shop.domain.go("compression", _compressed(seat, frame, summarise, step, changed))
    control.ends_by(handle.cancel)
    outcome = await handle.outcome()
    reason = StopReason.PLAIN_TEXT if outcome.error is None else _reason(outcome.error)
    controls.end()
    return TaskResult(
        answer=outcome.value or "",
        status="ok" if outcome.error is None else "error",
        stop_reason=reason,
        exit_code=EXIT_CODES[reason],
        session=shop.session,
        usage=account.usage,
        cost=account.told_cost(),
        warnings=tuple(account.warnings),
        error="" if outcome.error is None or outcome.cancelled else str(outcome.error),
    )


async def _compressed(seat: Seat, frame: Frame, summarise: Summarise, step: int, changed: Sequence[str]) -> str:
    """What came of it, in words, once it is safely on the record."""
    before = seat.fitting.size
    if not await seat.fitting.fit(frame, step, changed, summarise, is_forced=True):
        return NOTHING
    await frame.recorder.barrier()
    return f"The conversation was compressed: about {before:,} tokens before, {seat.fitting.size:,} now."


def _reason(error: BaseException) -> StopReason:
    if isinstance(error, asyncio.CancelledError | YagentError):
        return classify(error)
    raise Panic(f"The compression stopped on an unexpected {type(error).__name__}: {error}.") from error
