"""Reasoning and tool calls that a server leaves inside the text: a leading <think> element, and DeepSeek's call markup (DSML)."""

import re
from collections.abc import Iterator

from yagent.llm import json_text
from yagent.llm.dialects.port import Delta
from yagent.llm.engine import ReasoningDelta, TextDelta
from yagent.patterns import pattern

_THINK, _THINK_END = "<think>", "</think>"
_DSML = "<｜DSML｜"
_INVOKE = pattern(r'<｜DSML｜invoke name="([^"]*)">(.*?)</｜DSML｜invoke>', re.DOTALL)
_PARAMETER = pattern(r'<｜DSML｜parameter name="([^"]*)"(?: string="(true|false)")?>(.*?)</｜DSML｜parameter>', re.DOTALL)


class TextMarkup:
    """Takes the text as it streams and gives it back sorted. Text that only might be the start of markup is held back."""

    def __init__(self, *, think_tags: bool, dsml: bool) -> None:
        self._state = "start" if think_tags else "text"
        self._dsml = dsml
        self._held = ""
        self.calls: list[tuple[str, str]] = []  # name, arguments as JSON text

    def feed(self, text: str) -> Iterator[Delta]:
        """What is certain by now."""
        self._held += text
        state = ""
        while self._held and state != self._state:
            state = self._state
            yield from getattr(self, f"_{state}")()

    def end(self) -> Iterator[Delta]:
        """The rest, after the last piece."""
        rest, self._held = self._held, ""
        if self._state == "markup":
            self.calls = [(name, _arguments(inner)) for name, inner in _INVOKE.findall(rest)]
            rest = "" if self.calls else rest
        if rest:
            yield ReasoningDelta(rest) if self._state == "think" else TextDelta(rest)

    def _start(self) -> Iterator[Delta]:
        lead = self._held.lstrip()
        if lead.startswith(_THINK):
            self._state, self._held = "think", lead[len(_THINK) :].lstrip("\n")
        elif not _THINK.startswith(lead):
            self._state = "text"
        yield from ()

    def _think(self) -> Iterator[Delta]:
        inside, found, after = self._held.partition(_THINK_END)
        if found:
            self._state, self._held = "lead", after
        else:
            inside, self._held = _split_possible(self._held, _THINK_END)
        if inside:
            yield ReasoningDelta(inside)

    def _lead(self) -> Iterator[Delta]:
        self._held = self._held.lstrip("\n")
        if self._held:
            self._state = "text"
        yield from ()

    def _text(self) -> Iterator[Delta]:
        before, self._held = self._held, ""
        if self._dsml:
            start = before.find(_DSML)
            if start >= 0:
                self._state = "markup"
                before, self._held = before[:start], before[start:]
            else:
                before, self._held = _split_possible(before, _DSML)
        if before:
            yield TextDelta(before)

    def _markup(self) -> Iterator[Delta]:
        yield from ()


def _split_possible(text: str, marker: str) -> tuple[str, str]:
    """`text` without, and only, the end that might be the beginning of `marker`."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:length]):
            return text[:-length], text[-length:]
    return text, ""


def _arguments(inner: str) -> str:
    values = {}
    for name, is_string, value in _PARAMETER.findall(inner):
        values[name] = value if is_string == "true" else _value(value)
    return json_text.dumps(values)


def _value(text: str) -> object:
    try:
        return json_text.loads(text)
    except ValueError:
        return text
