"""What goes down with a delegation and what comes back up."""

from collections.abc import Mapping, Sequence

from yagent.agents.loop.result import RunResult, render_handoff
from yagent.protocol.stop import StopReason
from yagent.records import dataclass

MAX_REFERENCES = 10

_ENDS = {
    StopReason.MAX_STEPS: "it reached its step limit",
    StopReason.IDLE_TIMEOUT: "nothing happened for too long",
    StopReason.TOTAL_TIMEOUT: "its time was over",
    StopReason.LLM_ERROR: "its model failed",
    StopReason.CONTEXT_OVERFLOW: "its conversation no longer fits the model's window",
    StopReason.LOOP_DETECTED: "it was going in circles",
    StopReason.COST_LIMIT: "the cost limit of the task was reached",
    StopReason.TIME_LIMIT: "the time limit of the task was reached",
    StopReason.CANCELLED: "it was cancelled",
    StopReason.PAUSED: "it was stopped while paused",
}


@dataclass(frozen=True, slots=True)
class References:
    """Earlier results a delegation is given in full, and the references that lead nowhere."""

    texts: tuple[tuple[str, str], ...]
    unresolved: tuple[str, ...]


def resolve(references: Sequence[str], results: Mapping[str, str]) -> References:
    """Look up `agent:<role>#<number>`, or `agent:<role>` for the newest, among the results of this task (F-24).

    `agent:<role>_agent` means the same; ten at most are taken, after removing doubles.
    """
    texts, unresolved = [], []
    for reference in list(dict.fromkeys(reference.strip() for reference in references))[:MAX_REFERENCES]:
        kind, _, name = reference.partition(":")
        text = results.get(name.strip().lower().replace("_agent", "")) if kind == "agent" else None
        if text is None:
            unresolved.append(reference)
        else:
            texts.append((reference, text))
    return References(tuple(texts), tuple(unresolved))


def task_message(task: str, references: References, context: str) -> str:
    """The first message of the one who works: where it is, what it is given, what to do."""
    parts = [context] if context else []
    parts += [f'<result of="{reference}">\n{text}\n</result>' for reference, text in references.texts]
    if references.unresolved:
        parts.append(f"There is no result called {', '.join(references.unresolved)}; you were given nothing for it.")
    parts.append(f"<task>\n{task}\n</task>")
    return "\n\n".join(parts)


def render(name: str, result: RunResult, unresolved: Sequence[str] = ()) -> str:
    """The result as its reader sees it: a header that cannot be overlooked, then the hand-over, then what was said at greater length.

    `name` is what the result can be referred to by, `repo#2`.

    Work that did not end by itself is called unfinished, an end without a word is called that: nothing looks completed that is not.
    """
    steps = "1 step" if result.steps == 1 else f"{result.steps} steps"
    header = f"[{name} · {result.status} · {result.stop_reason} · {steps}]"
    if unresolved:
        header += f" [unresolved: {len(unresolved)} ({', '.join(unresolved)})]"
    lines = [header]
    if result.changed:
        lines.append(f"Files it changed with its tools: {', '.join(result.changed)}")
    if not result.calls:
        lines.append("It used no tool: nothing in this result was looked up.")
    if not result.is_finished:
        why = _ENDS.get(result.stop_reason, "something failed in it")
        lines.append(f"It did not finish: {why}." + (f" {result.error}" if result.error else ""))
    if not result.deliverable.strip():
        return "\n".join([*lines, *result.notes, "It left no result."])
    if not result.is_finished:
        lines.append("What follows is unfinished work; check it before you build on it.")
    lines += result.notes
    if result.handoff is not None:
        summary = render_handoff(result.handoff)
        lines += ["", summary]
        if result.deliverable not in summary:
            lines += ["", "In full:", result.deliverable]
    else:
        lines += ["", result.deliverable]
    return "\n".join(lines)
