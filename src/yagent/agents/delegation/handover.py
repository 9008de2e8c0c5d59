"""What goes down with a delegation and what comes back up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from yagent.agents.loop.result import RunResult
from yagent.blackboard.evidence import COMMAND_ID
from yagent.blackboard.note import beginning, handoff_text
from yagent.protocol.handoff import Fact, Handoff
from yagent.protocol.stop import StopReason
from yagent.records import dataclass

MAX_REFERENCES = 10
FACTS_BESIDE = 3_000  # characters of facts, and of open questions, beside the artifact that has all of them
LONGEST_FACT = 400  # characters of one of these
MOST_COMMANDS = 5  # told as they are, of those that ran after the last edit
MOST_NAMED = 20  # of the others
LONGEST_NAME = 40  # characters of one of these

_ENDS = {
    StopReason.MAX_STEPS: "it reached its step limit",
    StopReason.IDLE_TIMEOUT: "nothing happened for too long",
    StopReason.TOTAL_TIMEOUT: "its time was over",
    StopReason.LLM_ERROR: "its model failed",
    StopReason.CONTEXT_OVERFLOW: "its conversation no longer fits the model's window",
    StopReason.LOOP_DETECTED: "it was going in circles",
    StopReason.COST_LIMIT: "the cost limit of the task was reached",
    StopReason.TIME_LIMIT: "the time limit of the task was reached",
    StopReason.CANCELLED: "the user stopped it, so do not begin it again unless the user wants that",
    StopReason.PAUSED: "it was stopped while paused",
}


@dataclass(frozen=True, slots=True)
class References:
    """Earlier results a delegation is given in full, the references that lead nowhere, and where there are any, names that do not."""

    texts: tuple[tuple[str, str], ...]
    unresolved: tuple[str, ...]
    known: tuple[str, ...] = ()


def resolve(references: Sequence[str], results: Mapping[str, str]) -> References:
    """Look up `agent:<role>#<number>`, or `agent:<role>` for the newest, among the results of this task (F-24).

    `agent:<role>_agent` and the bare name mean the same; ten at most are taken, after removing doubles.
    """
    texts, unresolved = [], []
    for reference in list(dict.fromkeys(reference.strip() for reference in references))[:MAX_REFERENCES]:
        kind, _, name = reference.partition(":")
        wanted = name if kind == "agent" else kind if not name else ""
        text = results.get(wanted.strip().lower().replace("_agent", ""))
        if text is None:
            unresolved.append(reference)
        else:
            texts.append((reference, text))
    return References(tuple(texts), tuple(unresolved), tuple(name for name in results if "#" in name) if unresolved else ())


def task_message(task: str, references: References, context: str) -> str:
    """The first message of the one who works: where it is, what it is given, what to do."""
    parts = [context] if context else []
    parts += [f'<result of="{reference}">\n{text}\n</result>' for reference, text in references.texts]
    if references.unresolved:
        parts.append(f"There is no result called {', '.join(references.unresolved)}; you were given nothing for it.")
    parts.append(f"<task>\n{task}\n</task>")
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What else the reader of a result has to know, from what really happened: references that led nowhere and the names `known` instead,
    calls that were denied, background commands the agent left running, and `changes`: files that differ since it began, None where that is
    not known. Of a run that was stopped and went on, `changes` counts from there, and `before` are the files its file tools had changed
    until then. `head` says how the repository's HEAD moved meanwhile, "" where it did not, or where nobody can tell."""

    unresolved: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    changes: tuple[str, ...] | None = None
    before: tuple[str, ...] | None = None
    head: str = ""


@dataclass(frozen=True, slots=True)
class Handed:
    """What became of a result: the words that stand for it where it is too long to be told ("" where it is not), the last line of which
    says where it is whole; whether what was changed is proven (a word of `blackboard.verification`) and why not, one mark for each of its
    facts, what could not be kept, and the id of the artifact that has it whole ("" for none).

    Of recorded commands, by their ids: `proofs` show that the changes are verified, or what a fact says; `checks` could prove something.
    `task` says of a run that changed nothing itself how it stands with what the task changed, "" where that is nothing.
    """

    short: str = ""
    verification: str = "none"
    reason: str = ""
    marks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    artifact: str = ""
    proofs: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    task: str = ""


NOTHING_ELSE: Final = Circumstances()
NOT_KEPT: Final = Handed()


def render(name: str, result: RunResult, found: Circumstances = NOTHING_ELSE, handed: Handed = NOT_KEPT) -> str:
    """The result as its reader sees it: a header that cannot be overlooked, what really happened, then the hand-over at its length.

    `name` is what the result can be referred to by, `repo#2`. Work that did not end by itself is called unfinished, an end without a
    word or a hand-over is called that: nothing looks completed that is not.
    """
    steps = "1 step" if result.steps == 1 else f"{result.steps} steps"
    status = f"{result.status}, no hand-over" if result.is_finished and result.handoff is None else result.status
    proof = [handed.verification] if handed.verification in ("unverified", "stale", "verified") else []
    header = f"[{' · '.join((name, status, result.stop_reason, steps, *proof))}]"
    if found.unresolved:
        wrong = f"context_refs not found: {', '.join(found.unresolved)}; it worked without"
        there = f"there are: {', '.join(found.known)}" if found.known else "there is no earlier result"
        header += f" [unresolved: {len(found.unresolved)} ({wrong}; {there})]"
    lines = [header, *_happened(result, found, handed)]
    if handed.reason:
        lines.append(f"Not verified: {handed.reason}.")
    if handed.task:
        lines.append(f"Changes of this task so far: {handed.task}.")
    if not result.is_finished:
        why = _ENDS.get(result.stop_reason, "something failed in it")
        lines.append(f"It did not finish: {why}." + (f" {result.error}" if result.error else ""))
    if not result.deliverable.strip():
        return "\n".join([*lines, *result.notes, "It left no result."])
    if not result.is_finished:
        lines.append("What follows is unfinished work; check it before you build on it.")
    return "\n".join([*lines, *result.notes, "", *_said(result, handed)])


def _happened(result: RunResult, found: Circumstances, handed: Handed) -> Iterator[str]:
    """What is known of the run without asking the agent."""
    if found.before is not None:
        known = ", ".join(found.before) or "none"
        yield f"It was stopped and went on. Files its file tools had changed until then: {known}; what commands changed is not known."
    changes = result.changed if found.changes is None else found.changes
    if changes or found.changes is not None:
        yield f"Files changed while it worked: {', '.join(changes) or 'none'}"
    if found.head:
        yield f"HEAD moved while it worked: {found.head}"
    if result.ran:
        yield f"Commands it ran{' after its last edit' if result.changed else ''}: {_commands(result.ran, handed)}"
    elif changes:
        yield "Commands it ran after its last edit: none, so nothing is verified"
    if found.denied:
        yield f"Denied to it: {'; '.join(found.denied)}"
    if found.running:
        yield f"Still running in the background, to be ended with the whole task: {'; '.join(found.running)}"
    if not result.calls:
        yield "It used no tool: nothing in this result was looked up."


def _commands(ran: Sequence[str], handed: Handed) -> str:
    """How commands ended: what proves something, then what could, then the newest, as they are; of the rest the beginnings."""
    known = [set(COMMAND_ID.findall(each.rpartition(" → ")[2])) for each in ran]
    weight = [(not each.isdisjoint(handed.proofs), not each.isdisjoint(handed.checks)) for each in known]
    chosen = set(sorted(range(len(ran)), key=lambda at: (weight[at], at))[-MOST_COMMANDS:])
    told = "; ".join(ran[at] for at in sorted(chosen))
    rest = [each.rpartition(" → ") for at, each in enumerate(ran) if at not in chosen]
    if not rest:
        return told
    named = [f"{beginning(command, LONGEST_NAME)} → {end}" for command, _, end in rest[-MOST_NAMED:]]
    return f"{told}; … and {len(rest)} more: {', '.join(named)}{', …' if len(rest) > MOST_NAMED else ''}"


def _said(result: RunResult, handed: Handed) -> Iterator[str]:
    """What the agent says, and the same at greater length where it said more."""
    if result.handoff is None:
        yield handed.short or result.deliverable
        return
    if handed.short:
        yield from _shortened(result.handoff, handed)
        return
    yield handoff_text(result.handoff, handed.marks)
    if result.deliverable not in handoff_text(result.handoff):
        yield from ("", "In full:", result.deliverable)


def _shortened(handoff: Handoff, handed: Handed) -> Iterator[str]:
    """As much of a hand-over as is told where an artifact has it whole."""
    conclusion, _, where = handed.short.rpartition("\n")
    facts = [Fact(beginning(fact.claim, LONGEST_FACT), beginning(fact.where, LONGEST_FACT)) for fact in handoff.facts]
    facts = facts[: _fitting(len(fact.claim) + len(fact.where) for fact in facts)]
    questions = [beginning(question, LONGEST_FACT) for question in handoff.open_questions]
    questions = questions[: _fitting(map(len, questions))]
    yield handoff_text(Handoff(conclusion, tuple(facts), tuple(questions)), handed.marks[: len(facts)])
    left_out = ((len(handoff.facts) - len(facts), "facts"), (len(handoff.open_questions) - len(questions), "open questions"))
    if any(count for count, _ in left_out):
        yield " and ".join(f"… {count} more {what}" for count, what in left_out if count)
    yield from ("", where)


def _fitting(sizes: Iterable[int]) -> int:
    """How many items of these sizes are told."""
    return sum(total <= FACTS_BESIDE for total in accumulate(sizes))
