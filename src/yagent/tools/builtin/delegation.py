"""Handing a task to another agent. What runs it is bound by `session`; here are only the calls."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Final

from yagent.records import dataclass
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, DelegationRequest, Effect, Output, Spec
from yagent.workspace.actions import Delegate as DelegateAction

ROLES: Final[Mapping[str, str]] = MappingProxyType(
    {"delegate_repo": "repo", "delegate_coding": "coding", "delegate_chat": "chat", "delegate_devops": "devops"}
)  # tool → role
MAX_REFERENCES: Final = 10  # F-24


@dataclass(frozen=True, slots=True)
class Delegation:
    """Parameters of every `delegate_*`."""

    task: Annotated[str, Describe("Goal, known paths and facts, limits, what to report. It sees nothing said here.")]
    context_refs: Annotated[tuple[str, ...], Describe("Earlier results to add whole: agent:repo#2; agent:repo is the newest.")] = ()


def delegations(roles: Mapping[str, str] = ROLES) -> tuple[AnySpec, ...]:
    """One tool for each role."""
    return tuple(_delegation(name, role) for name, role in roles.items())


def _delegation(name: str, role: str) -> Spec[Delegation]:
    """The call that starts one role."""

    async def execute(parameters: Delegation, call: CallContext) -> Output:
        if not parameters.task.strip():
            return Output(f"{name} was not executed: the task is empty. Say what to do and what to hand back.", is_error=True)
        references = tuple(dict.fromkeys(each.strip() for each in parameters.context_refs if each.strip()))
        kept, dropped = references[:MAX_REFERENCES], references[MAX_REFERENCES:]
        output = await call.scope.delegate(DelegationRequest(role, parameters.task, kept), call)
        if not dropped:
            return output
        note = f"at most {MAX_REFERENCES} context_refs are given; left out: {', '.join(dropped)}"
        return replace(output, text=f"{output.text}\n[note: {note}]")

    return Spec(
        name,
        Effect.DELEGATE,
        Delegation,
        execute,
        actions=lambda parameters: (DelegateAction(role),),
        serial=True,
        timeout=None,
        priority=80,
        delegates_to=role,
    )
