"""Asks of a one-shot run, answered on the controlling terminal.

A person can answer when the terminal device opens, we are in its foreground, and `CI` is unset; standard input and output may be pipes all
the same (`git diff | yagent -p …`). What was typed before a question appeared never answers it.
"""

import asyncio
import os
import termios
from collections.abc import Mapping

from yagent.patterns import pattern
from yagent.protocol.asks import Answer, Ask, AskKind, Offer
from yagent.protocol.visible import has_hidden, visible

TERMINAL = "/dev/tty"
LONG_LINES, LONG_TEXT = 15, 1500
_BLANKS = pattern(r"[ \t]{20,}")
_EMPTY_LINES = pattern(r"\n(?:[ \t]*\n){3,}")
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
    try:
        if os.tcgetpgrp(descriptor) == os.getpgrp():
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


class TerminalAsks:
    """Puts one ask at a time on the terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()

    async def answer(self, ask: Ask, waiting: int = 0) -> Answer:
        """Show the ask and wait for a valid answer. A closed terminal denies, and says that nobody answered."""
        async with self._turn:
            self._write(question(ask, waiting))
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
            self._write(PROMPTS[ask.kind])  # from here on, keys count
            while True:
                line = await self._line()
                if line is None:
                    return Answer(granted=False, answered_by="nobody")
                answer = interpret(ask, line.strip())
                if answer is not None:
                    return answer
                self._write("Please choose one of the letters or numbers shown: ")

    def _write(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def _line(self) -> str | None:
        """One line as the terminal hands it over; None when it is gone or at its end."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._descriptor, _settle, ready)
        try:
            await ready
            data = os.read(self._descriptor, 65536)
        except OSError:
            return None
        finally:
            loop.remove_reader(self._descriptor)
        return data.decode("utf-8", "replace") if data else None


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
    lines += [f"- {visible(reason)}" for reason in ask.reasons]
    return "".join(f"{line}\n" for line in [*lines, *_choices(ask)])


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
    letters = {"once": "y", "session": "s", "project": "p"}
    names = {"once": "yes, once", "session": "yes, this session", "project": "yes, in this project"}
    return [f"[{letters[offer.scope]}] {names[offer.scope]}" + (f": {visible(offer.rule)}" if offer.rule else "") for offer in ask.offers]


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
        return Answer(granted=True, text="yes") if word.lower() in ("y", "yes") else None
    offers: dict[str, Offer] = {{"once": "y", "session": "s", "project": "p"}[offer.scope]: offer for offer in ask.offers}
    offer = offers.get(word.lower()[:1]) if word.lower() in ("y", "yes", "s", "p") else None
    return None if offer is None else Answer(granted=True, offer=offer)
