"""Beginning again within a recorded session: a new one that points into the old record. Nothing is copied, nothing is changed there."""

import secrets
from pathlib import Path
from typing import ClassVar

from yagent._version import VERSION
from yagent.errors import YagentError
from yagent.protocol.ids import DIRECTOR, AgentIdentity, SessionId
from yagent.protocol.stop import USAGE
from yagent.records import dataclass
from yagent.rollout.reader import Account
from yagent.rollout.records import EventMessage, SessionMeta
from yagent.rollout.replay import Replayed, StepMark, replay
from yagent.rollout.scan import session_records
from yagent.rollout.writer import Numbers, SessionLog
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain, in_thread
from yagent.session.taking_up import MAY_GO_ON


class NoSuchStep(YagentError):
    """The session has no such step."""

    exit_code: ClassVar[int] = USAGE


@dataclass(frozen=True, slots=True)
class Fork:
    """The new session and where it begins. `goes_on`: something was under way there, so it may go on without new words."""

    session: SessionId
    step: StepMark
    goes_on: bool


async def steps_of(directory: Path, session: SessionId) -> Replayed:
    """A recorded session as its Director knows it. Raises what reading it raises."""
    records = await in_thread(session_records, directory, session, Account())
    return await in_thread(replay, records.director)


async def fork_session(directory: Path, session: SessionId, step: int, clock: Clock) -> Fork:
    """A new session whose conversation is that of `session` up to the end of the Director's step number `step`, counted from 1. After a
    step that ended a task it has that end too: nothing is left to go on with.

    Raises `NoSuchStep`, `RolloutError` when nothing can be written, and what reading the old session raises.
    """
    past = await steps_of(directory, session)
    mark = next((each for each in past.steps if each.step == step), None)
    if mark is None:
        raise NoSuchStep(f"Session {session} has no step {step}: {_how_many(len(past.steps))}. See: yagent sessions show {session} --steps")
    if past.meta is None:
        raise NoSuchStep(f"The beginning of session {session} cannot be read, so nothing can begin in it.")
    new = secrets.token_hex(4)
    meta = SessionMeta(
        new,
        DIRECTOR,
        past.meta.project_dir,
        VERSION,
        board_id=past.meta.board_id or session,
        task=past.meta.task,
        git=past.meta.git,
        forked_from={"session": session, "ordinal": mark.ordinal},
    )
    has_answer = not (set(mark.tools) - {"agent_exit"}) and mark.end.get("stop_reason", "") not in MAY_GO_ON
    async with Domain("fork") as domain:
        started = f"{clock.wall():%Y%m%d-%H%M%S}"
        log = SessionLog(directory, new, started, Numbers(mark.ordinal), clock, domain, make_private_directory)
        writer = log.open(AgentIdentity(DIRECTOR))
        writer.append(meta)
        if has_answer:
            writer.append(EventMessage("task_complete", mark.end))
        await writer.barrier()
        await writer.close()
    return Fork(new, mark, goes_on=not has_answer)


def _how_many(count: int) -> str:
    return "it has none" if not count else f"it has steps 1 to {count}" if count > 1 else "it has one step"
