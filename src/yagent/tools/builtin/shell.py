"""Running commands, in the foreground within a limit or beside the conversation."""

import json
from typing import TYPE_CHECKING, Annotated, Final

from yagent.records import dataclass
from yagent.runtime.supervise import in_thread
from yagent.tools.approval import shortened
from yagent.tools.bounds import NOTHING
from yagent.tools.builtin.places import WORKSPACE, remarks
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Scope, Spec
from yagent.workspace.actions import ShellLine
from yagent.workspace.background import Job, JobOutput
from yagent.workspace.shell import ShellResult, require_runnable

if TYPE_CHECKING:
    from yagent.workspace.exit_codes import ExitCode

DEFAULT_LIMIT: Final = 180  # seconds
HIGHEST_LIMIT: Final = 3600
HANDOVER_RESERVE: Final = 5.0  # seconds of the run's own time that a command leaves for handing over
LITTLE_TIME: Final = 2 * HANDOVER_RESERVE  # with less of it left than this the model is told
_OF_THE_LAST: Final = {
    "": "",
    "pipe": " of the pipe's last command only, which proves nothing of the others (run the check without the pipe)",
    "list": " of the last command only, which proves nothing of the others (join them with &&, or run the check alone)",
}
FIRST_OUTPUT_WAIT: Final = 1.0  # seconds a background command gets to fail at once, or to say something


@dataclass(frozen=True, slots=True)
class RunBash:
    """Parameters of `run_bash`."""

    command: Annotated[str, Describe("The command line.")]
    timeout: Annotated[int, Describe("Limit in seconds.", minimum=1, maximum=HIGHEST_LIMIT)] = DEFAULT_LIMIT
    is_background: Annotated[bool, Describe("Start it and go on at once.")] = False
    is_dangerous: Annotated[bool, Describe("Set true when it deletes, overwrites or publishes what was not made in this run.")] = False


@dataclass(frozen=True, slots=True)
class ReadBackground:
    """Parameters of `read_background`."""

    id: Annotated[str, Describe("Id from run_bash; leave out to list all.")] = ""
    wait: Annotated[int, Describe("Seconds to wait for new output or the end.", minimum=0, maximum=120)] = 5


@dataclass(frozen=True, slots=True)
class StopBackground:
    """Parameters of `stop_background`."""

    id: Annotated[str, Describe("Id from run_bash.")]


def shell() -> tuple[AnySpec, ...]:
    """The tools that run commands."""
    return (_run_bash(), _read_background(), _stop_background())


def _run_bash() -> Spec[RunBash]:
    async def execute(parameters: RunBash, call: CallContext) -> Output:
        if parameters.is_background:
            return await _start(parameters.command, call)
        scope = call.scope
        limit = _limit(parameters.timeout, scope)
        result = await scope.shell.run(parameters.command, scope.workspace, timeout=limit, at_once=scope.at_once)
        from yagent.workspace.exit_codes import exit_code_of

        says = await in_thread(exit_code_of, parameters.command)
        code = None if result.timed_out or says.hides else result.exit_code
        evidence = await scope.ran(parameters.command, code, result.output.encode("utf-8", "surrogatepass"), kind=says.kind)
        is_cut = limit < parameters.timeout
        ended, left = _ended(result, limit, says, is_cut=is_cut), _time_left(result, scope, is_cut=is_cut)
        return _ran(parameters.command, result, ended, left, evidence, says)

    return Spec(
        "run_bash",
        Effect.SHELL,
        RunBash,
        execute,
        actions=_line,
        declared_dangerous=lambda parameters: parameters.is_dangerous,
        mutates=True,
        timeout=None,  # it keeps its own, to return what was printed until then
    )


def _line(parameters: RunBash) -> tuple[ShellLine]:
    """What is judged; one that cannot be run need not be."""
    require_runnable(parameters.command)
    return (ShellLine(parameters.command, WORKSPACE),)


def _read_background() -> Spec[ReadBackground]:
    async def execute(parameters: ReadBackground, call: CallContext) -> Output:
        if not parameters.id.strip():
            jobs = call.scope.jobs.list()
            return Output("\n".join(_described(job) for job in jobs) or "No background command was started in this task.")
        return _told(await call.scope.jobs.read(parameters.id.strip(), wait=parameters.wait))

    return Spec("read_background", Effect.SHELL, ReadBackground, execute, frequency="cold")


def _stop_background() -> Spec[StopBackground]:
    async def execute(parameters: StopBackground, call: CallContext) -> Output:
        return _told(await call.scope.jobs.stop(parameters.id.strip()))

    return Spec("stop_background", Effect.SHELL, StopBackground, execute, serial=True, frequency="cold")


async def _start(command: str, call: CallContext) -> Output:
    """Start a background command and look at it once."""
    job = await call.scope.jobs.start(command, call.scope.workspace, call.scope.agent.delegation_id)
    read = await call.scope.jobs.read(job.id, wait=FIRST_OUTPUT_WAIT)
    if read.job.state != "running":
        return _told(read)
    how = f"{job.id} started and is running; see read_background and stop_background; it is ended when the whole task ends"
    return Output(f"{_printed(read) or '(no output yet)'}\n[{how}]", summary=f"{job.id} started", names=_names(job))


def _limit(wanted: int, scope: Scope) -> float:
    """The limit of a command in whole seconds, never past what is left of the run."""
    left = scope.remaining()
    return float(wanted) if left is None or left - HANDOVER_RESERVE >= wanted else max(1.0, float(int(left - HANDOVER_RESERVE)))


def _time_left(result: ShellResult, scope: Scope, *, is_cut: bool) -> tuple[str, ...]:
    """What to say of the run's own time: nothing while there is enough of it."""
    left = scope.remaining()
    stopped = is_cut and result.timed_out
    if left is None or not (stopped or left < LITTLE_TIME):
        return ()
    why = "no longer limit could be given, " if stopped else ""
    return (f"{why}about {left:.0f} s are left in this run: hand over what you have",)


def _ran(command: str, result: ShellResult, ended: str, time_left: tuple[str, ...], evidence: str, says: "ExitCode") -> Output:
    """Output, then in brackets how it ended and what is worth knowing."""
    kept = f"; {evidence}" if evidence else ""
    said = [f"{ended}; {result.duration:.1f} s in {result.directory}{kept}", *time_left, *result.notes]
    if result.left_behind and not result.timed_out:
        said.append(f"still running at its end and stopped: {', '.join(result.left_behind)}; use is_background for what should go on")
    if result.omitted and result.log is not None:
        call = json.dumps({"path": str(result.log)}, ensure_ascii=False)
        said.append(f"more of the output: read_file {call}")
    text = "\n".join([result.output.rstrip("\n") or NOTHING, *remarks(said)])
    summary = "time limit" if result.timed_out else f"exit {result.exit_code}{' of its last command' if says.hides else ''}"
    names = (*([evidence] if evidence else []), *([] if result.log is None else [str(result.log)]))
    return Output(text, is_error=result.timed_out, summary=summary, ran=f"{shortened(command)} → {summary}", names=names)


def _ended(result: ShellResult, limit: float, says: "ExitCode", *, is_cut: bool) -> str:
    """How a command ended."""
    if result.timed_out:
        more = "" if is_cut else f"; give timeout (up to {HIGHEST_LIMIT}) if it needs longer"
        return f"stopped at its limit of {limit:g} s, with all it had started{more}"
    code = f"exit code {result.exit_code}{_OF_THE_LAST[says.hides]}"
    return f"{code} ({result.signal})" if result.signal else code


def _told(read: JobOutput) -> Output:
    """What a background command printed since it was last looked at, and its state."""
    text = f"{_printed(read) or '(no new output)'}\n[{_described(read.job)}]"
    return Output(text, summary=f"{read.job.id} {_state(read.job)}", names=_names(read.job))


def _names(job: Job) -> tuple[str, ...]:
    """What only this job is called."""
    return (job.id, str(job.log))


def _printed(read: JobOutput) -> str:
    """New output, after a remark on what is left out of it."""
    call = json.dumps({"path": str(read.job.log)}, ensure_ascii=False)
    missing = f"[{read.omitted} earlier bytes are left out; all of it: read_file {call}]\n" if read.omitted else ""
    return f"{missing}{read.text.rstrip()}"


def _state(job: Job) -> str:
    """Running, stopped, or how it exited."""
    return f"exited with code {job.exit_code}" if job.state == "exited" else job.state


def _described(job: Job) -> str:
    """One line about a background command."""
    return f"{job.id}: {_state(job)}: {job.command}"
