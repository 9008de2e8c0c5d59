"""Asks of a one-shot run, answered on the controlling terminal.

A person can answer when the terminal device opens, we are in its foreground, and `CI` is unset; standard input and output may be pipes all
the same (`git diff | yagent -p …`). What was typed before a question appeared never answers it.
"""

import asyncio
import os
import termios
from collections.abc import Mapping, Sequence

from yagent.apps.cli.progress import one_line
from yagent.apps.cli.suspension import is_in_foreground
from yagent.errors import YagentError
from yagent.patterns import pattern
from yagent.protocol.asks import Answer, Ask, AskKind, Offer, Scope
from yagent.protocol.visible import has_hidden, visible

TERMINAL = "/dev/tty"
LONG_LINES, LONG_TEXT = 15, 1500
LONG_REASON, LONG_RULE, RULE_END = 240, 100, 20  # characters; the subject above them is shown whole
_BLANKS = pattern(r"[ \t]{20,}")
_EMPTY_LINES = pattern(r"\n(?:[ \t]*\n){3,}")
SCOPES: Mapping[Scope, str] = {"once": "yes, once", "session": "yes, this session", "project": "yes, in this project"}
PROMPTS: Mapping[AskKind, str] = {
    "approval": "[n] no   [n because …] no, and say why: ",
    "confirm": "[y] yes  [n] no: ",
    "select": "Number: ",
    "input": "Your answer: ",
}


def open_terminal(environ: Mapping[str, str]) -> int | None:
    """A descriptor of the terminal on which somebody can answer, None when nobody can."""
    if environ.get("CI", ""):
        return None
    try:
        descriptor = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    if is_in_foreground(descriptor):
        return descriptor
    os.close(descriptor)
    return None


class TerminalClosed(YagentError):
    """The terminal is gone, or its input at an end: nobody has answered. That is no denial."""


class TerminalAsks:
    """Puts one ask at a time on the terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()
        self._open = ""  # the question that waits for its answer

    def put_again(self) -> None:
        """Show the question again that waits for its answer, if one does. Raises OSError."""
        if self._open:
            self._write(self._open)

    async def answer(self, ask: Ask, waiting: int = 0) -> Answer:
        """Show the ask and wait for a valid answer. Raises `TerminalClosed`."""
        async with self._turn:
            try:
                return await self._answer(ask, waiting)
            except (OSError, termios.error) as failure:
                raise TerminalClosed("The terminal is closed.") from failure
            finally:
                self._open = ""

    async def _answer(self, ask: Ask, waiting: int) -> Answer:
        asked = question(ask, waiting)
        self._write(asked)
        termios.tcflush(self._descriptor, termios.TCIFLUSH)
        self._open = asked + PROMPTS[ask.kind]
        self._write(PROMPTS[ask.kind])  # from here on, keys count
        while True:
            line = await self._line()
            answer = interpret(ask, line.strip())
            if answer is not None:
                return answer
            self._write(f"{one_line(line, 40) or 'An empty line'} is no answer here. {valid_answers(ask)}: ")

    def _write(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def _line(self) -> str:
        """One line as the terminal hands it over. Raises OSError and `TerminalClosed`."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._descriptor, _settle, ready)
        try:
            await ready
            data = os.read(self._descriptor, 65536)
        finally:
            loop.remove_reader(self._descriptor)
        if not data:
            raise TerminalClosed("The terminal's input is at an end.")
        return data.decode("utf-8", "replace")


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def question(ask: Ask, waiting: int = 0) -> str:
    """The whole question as text, up to the prompt: who asks, exactly what would run, why it is asked, and the ways to answer."""
    more = f" ({waiting} more waiting)" if waiting else ""
    lines = ["", f"── {ask.origin.label} {'asks for permission' if ask.kind == 'approval' else 'asks'}{more} ──", visible(ask.prompt)]
    if ask.subject:
        lines += ["", *(f"  {line}" for line in _whole(ask.subject)), ""]
        if has_hidden(ask.subject):
            lines.append("! It holds hidden or misleading characters, shown above as escapes.")
    lines += [f"- {_shortened(reason, ask.subject)}" for reason in ask.reasons]
    return "".join(f"{line}\n" for line in [*lines, *_choices(ask)])


def _shortened(reason: str, subject: str) -> str:
    """A reason on one line. What stands whole above is not said twice."""
    if len(subject) > LONG_RULE:
        reason = reason.replace(subject, "this")
    return one_line(reason, LONG_REASON)


def _whole(subject: str) -> list[str]:
    """All of the subject as lines, in such a form that nothing of it is pushed out of sight by blanks; its size where it is long."""
    text = _BLANKS.sub(lambda found: f" [… {len(found[0])} blanks …] ", visible(subject))
    text = _EMPTY_LINES.sub(lambda found: f"\n[… {found[0].count(chr(10)) - 1} empty lines …]\n", text)
    lines = text.splitlines()
    if len(lines) > LONG_LINES or len(text) > LONG_TEXT:
        lines.append(f"[the end of {len(lines)} lines, {len(subject)} characters]")
    return lines


def _choices(ask: Ask) -> list[str]:
    if ask.kind == "select":
        return [f"[{number}] {visible(option)}" for number, option in enumerate(ask.options, 1)]
    return [f"[{number}] {SCOPES[offer.scope]}{_of_rule(offer.rule)}" for number, offer in enumerate(ask.offers, 1)]


def _of_rule(rule: str) -> str:
    """What an offer would store. A long rule keeps its end, where wildcards stand."""
    if not rule:
        return ""
    shown = visible(rule).replace("\n", "\\n")
    left = len(shown) - LONG_RULE
    return f": {shown}" if left <= 0 else f": {shown[: LONG_RULE - RULE_END]}[… {left} characters …]{shown[-RULE_END:]}"


def valid_answers(ask: Ask) -> str:
    """What to type, in words."""
    match ask.kind:
        case "select":
            return f"Type a number from 1 to {len(ask.options)}"
        case "input":
            return "Type your answer"
        case "confirm":
            return "Type y or n"
    numbers = [str(number) for number in range(1, len(ask.offers) + 1)]
    return f"Type {', '.join(numbers)}{' or ' if numbers else ''}n"


def interpret(ask: Ask, line: str) -> Answer | None:
    """The answer a line stands for; None when it is none of those offered."""
    if ask.kind == "input":
        return Answer(granted=True, text=line) if line else None
    if ask.kind == "select":
        chosen = int(line) if line.isascii() and line.isdigit() else 0
        return Answer(granted=True, text=ask.options[chosen - 1]) if 1 <= chosen <= len(ask.options) else None
    word, _, rest = line.partition(" ")
    word = word.rstrip(",.:;!")
    if word.lower() in ("n", "no"):
        return Answer(granted=False, text=rest.removeprefix("because").strip())
    if ask.kind == "confirm":
        return Answer(granted=True, text=rest.strip()) if word.lower() in ("y", "yes") else None
    offer = _chosen(ask.offers, word.lower())
    return None if offer is None else Answer(granted=True, offer=offer)


def _chosen(offers: Sequence[Offer], word: str) -> Offer | None:
    """The one offer that a word names: its number, or `y` for the only one that is not remembered."""
    if word in ("y", "yes"):
        once = [offer for offer in offers if offer.scope == "once"]
        return once[0] if len(once) == 1 else None
    return offers[int(word) - 1] if word in {str(number) for number in range(1, len(offers) + 1)} else None
