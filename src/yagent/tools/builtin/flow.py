"""Ending a run, asking the user, opening a cold tool."""

import json
import secrets
from dataclasses import asdict, field
from typing import Annotated, Any, Final, Literal, TypeAlias

from yagent.protocol.asks import Answer, Ask
from yagent.protocol.handoff import Fact, Handoff, HandoffStatus
from yagent.protocol.messages import JsonObject
from yagent.records import dataclass
from yagent.tools.parameters import Describe, Rest
from yagent.tools.spec import CallContext, Effect, Exit, Output, Spec

Others: TypeAlias = Annotated[JsonObject, Rest()]

_WITHOUT_ANSWER: Final = "Go on with the safest assumption and name it in open_questions."


@dataclass(frozen=True, slots=True)
class FactParameter:
    """One fact of a handoff."""

    claim: Annotated[str, Describe("One checkable statement.")]
    where: Annotated[str, Describe("Its evidence: path:line, or the command that showed it.")] = ""
    others: Others = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandoffParameter:
    """The handoff of `agent_exit`."""

    conclusion: Annotated[str, Describe("The whole answer, for one who saw none of the work.")]
    status: Annotated[HandoffStatus, Describe("ok: done and checked. partial: part, or unchecked. error: not done.", asked_for=True)] = (
        "partial"
    )
    facts: Annotated[tuple[FactParameter, ...], Describe("What the conclusion rests on.")] = ()
    open_questions: Annotated[tuple[str, ...], Describe("What is unchecked or assumed.")] = ()
    others: Others = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentExit:
    """Parameters of `agent_exit`."""

    handoff: Annotated[HandoffParameter, Describe("The result.")]
    reason: Annotated[str, Describe("Why you stop.")] = ""
    others: Others = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskUser:
    """Parameters of `ask_user_for_help`."""

    kind: Annotated[Literal["confirm", "select", "input"], Describe("confirm: yes/no. select: one of options. input: free text.")]
    prompt: Annotated[str, Describe("The question, and what one must know to answer it.")]
    options: Annotated[tuple[str, ...], Describe("For select: two or more.")] = ()


@dataclass(frozen=True, slots=True)
class LoadTool:
    """Parameters of `load_tool`."""

    names: Annotated[tuple[str, ...], Describe("Names of tools to open.", minimum=1)]


def agent_exit() -> Spec[AgentExit]:
    """End the run and hand over its result. The loop ends it; the tool echoes everything it was given (D-17)."""

    async def execute(parameters: AgentExit, call: CallContext) -> Output:
        given = parameters.handoff
        facts = tuple(Fact("; ".join([each.claim, *_additions(each.others)]), each.where) for each in given.facts)
        conclusion = "\n\n".join([given.conclusion, *_additions(given.others), *_additions(parameters.others)])
        handoff = Handoff(conclusion, facts, given.open_questions, given.status)
        echo = json.dumps({"finished": True, **_as_sent(asdict(parameters))}, ensure_ascii=False)
        return Output(echo, summary=given.status, exit=Exit(parameters.reason, handoff))

    return Spec("agent_exit", Effect.FLOW, AgentExit, execute, serial=True, priority=100)


def _additions(others: JsonObject) -> list[str]:
    """What was handed over under names of the model's own, a text for each: the run is over, so nobody can ask for it again."""
    said = ((name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for name, value in others.items() if value)
    return [f"{name}: {text}" for name, text in said]


def _as_sent(value: Any) -> Any:
    """Arguments with other properties among the known ones again."""
    if isinstance(value, dict):
        return {name: _as_sent(inner) for name, inner in value.items() if name != "others"} | value.get("others", {})
    return list(map(_as_sent, value)) if isinstance(value, list | tuple) else value


def ask_user_for_help() -> Spec[AskUser]:
    """Ask a person and wait for the answer."""

    async def execute(parameters: AskUser, call: CallContext) -> Output:
        if not parameters.prompt.strip():
            return Output("Nobody was asked: the question is empty, put it into prompt.", is_error=True)
        if parameters.kind == "select" and len(parameters.options) < 2:
            return Output('Nobody was asked: select needs two or more options. Send them, or use kind "input".', is_error=True)
        options = parameters.options if parameters.kind == "select" else ()
        ask = Ask(secrets.token_hex(16), parameters.kind, call.scope.agent, parameters.prompt, options=options, tool="ask_user_for_help")
        return _told(parameters.kind, await call.scope.ask(ask))

    return Spec("ask_user_for_help", Effect.ASK, AskUser, execute, serial=True, timeout=None, priority=100)


def load_tool() -> Spec[LoadTool]:
    """Show how cold tools are called."""

    async def execute(parameters: LoadTool, call: CallContext) -> Output:
        return call.teach(parameters.names)

    return Spec("load_tool", Effect.FLOW, LoadTool, execute, serial=True, priority=100)


def _told(kind: str, answer: Answer) -> Output:
    """The answer in words."""
    if answer.answered_by != "user":
        why = "nobody can answer in this run" if answer.answered_by == "nobody" else "the question was cancelled"
        text = f"No answer: {why}. {_WITHOUT_ANSWER}"
        return Output(text, is_error=True, summary="no answer")
    if kind == "confirm":
        said = "yes" if answer.granted else "no"
        return Output(f"The user answered: {said}." + (f" They added: {answer.text}" if answer.text.strip() else ""), summary=said)
    if not answer.granted:
        said = f"They said: {answer.text}" if answer.text.strip() else _WITHOUT_ANSWER
        return Output(f"The user closed the question without an answer. {said}", summary="no answer")
    return Output(f"The user answered: {answer.text}")
