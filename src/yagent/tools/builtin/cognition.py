"""Thinking with a second mind: isolated questions to a model that sees nothing of the conversation."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Final, TypeVar

from yagent.records import dataclass
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Spec

P = TypeVar("P")

CONSULT_LIMIT: Final = 900.0  # seconds; a model call has 15 minutes in all
PROTECTED: Final = 100  # never shortened

_CONTEXT: Final = Describe("Everything it must know. It sees no file and nothing of this conversation: quote the code it needs.")


_HEADINGS: Final = {"deepthinking_explore": "Answers found", "deepthinking_challenge": "Objections"}  # what a later step reads them under


@dataclass(frozen=True, slots=True)
class Thinking:
    """Parameters of `thinking`."""

    thought: Annotated[str, Describe("Your reasoning so far, and the facts it rests on.")]


@dataclass(frozen=True, slots=True)
class MicroAgent:
    """Parameters of `micro_agent`."""

    task: Annotated[str, Describe("One self-contained task, and the form the answer must have.")]
    context: Annotated[str, _CONTEXT] = ""


@dataclass(frozen=True, slots=True)
class DeepThinking:
    """Parameters of `deepthinking`."""

    question: Annotated[str, Describe("The question to decide, and what a good answer must satisfy.")]
    context: Annotated[str, _CONTEXT] = ""


@dataclass(frozen=True, slots=True)
class Design:
    """Parameters of `design`."""

    requirement: Annotated[str, Describe("What must be true when the change is done.")]
    context: Annotated[str, _CONTEXT] = ""


def cognition(prompt: Callable[[str], str]) -> tuple[AnySpec, ...]:
    """The four cognition tools. `prompt(name)` gives the text of a system prompt in `prompts/cognition/`; it is read when first needed."""

    def consulting(name: str, parameters: type[P], question: Callable[[P], str], steps: tuple[str, ...]) -> Spec[P]:
        async def execute(given: P, call: CallContext) -> Output:
            asked, answer = question(given), ""
            for step in steps:
                answer = await call.scope.consult(name, prompt(step), asked)
                asked += f"\n\n# {_HEADINGS.get(step, 'Answer')}\n\n{answer}"
            return Output(answer)

        return Spec(name, Effect.REFLECTION, parameters, execute, timeout=CONSULT_LIMIT * len(steps))

    deep_steps = ("deepthinking_explore", "deepthinking_challenge", "deepthinking_conclude")
    deepthinking = consulting("deepthinking", DeepThinking, lambda it: _question(it.question, it.context), deep_steps)
    micro_agent = consulting("micro_agent", MicroAgent, lambda it: _question(it.task, it.context), ("micro_agent",))
    design = consulting("design", Design, lambda it: _question(it.requirement, it.context), ("design",))
    return (
        replace(deepthinking, effect=Effect.COGNITION, priority=PROTECTED),
        consulting("thinking", Thinking, lambda it: it.thought, ("thinking",)),
        replace(micro_agent, frequency="cold"),
        replace(design, frequency="cold", priority=PROTECTED),
    )


def _question(question: str, context: str) -> str:
    """A question with its context."""
    return f"{question}\n\n# Context\n\n{context}" if context.strip() else question
