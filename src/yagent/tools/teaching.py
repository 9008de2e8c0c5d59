"""The texts with which a call is answered that could not be made: each names the fault and the next call to make."""

import json
from collections.abc import Sequence
from typing import Final

from yagent.protocol.messages import ToolCall
from yagent.tools.parameters import form_of
from yagent.tools.spec import Output
from yagent.tools.surface import COLD_ARGUMENT, Surface

NOT_BEGUN: Final = Output("Not run: the run was ended before this call began. Nothing happened.", is_error=True, summary="not run")


def cancelled_output(call: ToolCall) -> Output:
    """The result of a call that was cancelled before it ended."""
    text = f"{call.name or 'The call'} was cancelled before it finished. It may have had part of its effect: look before you repeat it."
    return Output(text, is_error=True, summary="cancelled")


def unknown_tool(surface: Surface, name: str) -> Output:
    """No tool has this name."""
    near = surface.nearest(name)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    called = f"There is no tool called {name!r}." if name else "The call has no tool name."
    text = f"{called}{hint} Nothing was executed. Your tools are: {', '.join(surface.names)}."
    return Output(text, is_error=True, summary="unknown tool")


def malformed_arguments(surface: Surface, call: ToolCall) -> Output:
    """The arguments were not a JSON object."""
    sent = call.arguments if call.malformed is None else call.malformed
    clipped = sent if len(sent) <= 200 else f"{sent[:120]} … {sent[-60:]}"
    spec = surface.find(call.name)
    form = form_of(spec.parameters) if spec else "{…}"
    text = f"The arguments of {call.name} were not one JSON object, so nothing was executed. Received: {clipped!r}. Send: {form}"
    return Output(text, is_error=True, summary="malformed arguments")


def not_executed(name: str, problem: str) -> Output:
    """The call could not be made; the problem says what to send instead."""
    return Output(f"{name} was not executed: {problem}", is_error=True, summary="not executed")


def teach(surface: Surface, names: Sequence[str]) -> Output:
    """Show how the named cold tools are called, and open them for the next message; say what is wrong with names that cannot be shown."""
    wrong = [name for name in names if surface.find(name) is None]
    cold = [name for name in dict.fromkeys(names) if name in surface.cold_names]
    ready = [name for name in dict.fromkeys(names) if name not in cold and name not in wrong]
    surface.show(cold)
    parts = [_lesson(surface, name) for name in cold]
    if ready:
        parts.append(f"Already open, call directly: {', '.join(ready)}.")
    if wrong:
        parts.append(f"No tool is called {', '.join(map(repr, wrong))}. To load: {', '.join(surface.cold_names)}.")
    return Output("\n\n".join(parts), is_error=not cold and not ready, summary=f"{len(cold)} shown" if cold else "")


def receipt(surface: Surface, name: str) -> Output:
    """The answer to a cold tool called before it was loaded: nothing was executed, and here is how to call it."""
    lesson = teach(surface, (name,)).text
    return not_executed(name, f"its arguments had not been shown yet. Here they are; now call it again.\n\n{lesson}")


def _lesson(surface: Surface, name: str) -> str:
    """One cold tool: description, schema, and how to pass the arguments."""
    declaration = surface.full_declaration(name)
    schema = json.dumps(declaration.parameters, ensure_ascii=False)
    return (
        f"# {name}\n{declaration.description}\n\nJSON Schema of its arguments: {schema}\n"
        f'Call {name} with exactly these arguments, or with {{"{COLD_ARGUMENT}": "<the same JSON object as text>"}}.'
    )
