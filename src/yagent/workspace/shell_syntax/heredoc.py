"""Lifts the bodies of here-documents out of a line before it is parsed (the grammar fails on several valid forms).

Each `<<WORD` becomes `<` and a mark that stands for the body, and the lines of the body are cut out. The scan walks the line with the
same lexer that later reads its words, so both agree on what is quoted. Source: Bash Reference Manual, 3.6.6.
"""

from __future__ import annotations

import re

from yagent.records import dataclass
from yagent.workspace.shell_syntax.lexer import Lexer, NotUnderstoodError

MARK = "\ue0f0"
"""A private-use character around the number of a lifted body; a line that contains it itself is not understood."""

_MARKED = re.compile(f"{MARK}(\\d+){MARK}")
_START = re.compile(r"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\\$`\n]*\"|\\[^\n]|[A-Za-z0-9_.,:@%+/=!-])+)(?=[ \t\n;&|()<>]|$)")


@dataclass(frozen=True, slots=True)
class HereDocument:
    """A lifted body. `quoted`: the shell expands nothing in it."""

    body: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class _Start:
    delimiter: str
    quoted: bool
    strip_tabs: bool
    number: int


def body_of(word: str, bodies: list[HereDocument]) -> HereDocument | None:
    """Return the body that a marked word stands for."""
    match = _MARKED.fullmatch(word)
    return bodies[int(match[1])] if match else None


def lift(text: str, bodies: list[HereDocument]) -> str:
    """Return the text without its here-documents; their bodies are appended to `bodies`."""
    if "<<" not in text:
        return text
    return _Lifter(text, bodies).lifted()


class _Lifter(Lexer):
    """A lexer that takes here-documents out on the way."""

    def __init__(self, text: str, bodies: list[HereDocument]) -> None:
        super().__init__(text)
        self._bodies = bodies
        self._edits: list[tuple[int, int, str]] = []
        self._waiting: list[list[_Start]] = [[]]
        self._arithmetic = False

    def lifted(self) -> str:
        position = 0
        while position < len(self.text):
            if self.text[position] == "#":
                position = self.end_of_comment(position)
            else:
                position, _ = self._one_token(position)
        if self._waiting[0]:
            raise NotUnderstoodError(f"the here-document {self._waiting[0][0].delimiter} has no body")
        pieces = []
        done = 0
        for start, end, replacement in sorted(self._edits):
            pieces += [self.text[done:start], replacement]
            done = end
        return "".join([*pieces, self.text[done:]])

    def end_of_commands(self, position: int) -> int:
        self._arithmetic = self._arithmetic or self.text.startswith("(", position)
        self._waiting.append([])
        end = super().end_of_commands(position)
        if self._waiting.pop():
            raise NotUnderstoodError("a here-document begins inside a substitution and has its body outside")
        return end

    def _one_token(self, position: int) -> tuple[int, int]:
        self._arithmetic = self._arithmetic or self.text.startswith("((", position)
        if self.text.startswith("<<", position) and not self.text.startswith("<<<", position):
            return self._begin(position), 0
        if self.text[position] == "\n":
            return self._take_bodies(position + 1), 0
        if len(self._waiting) == 1 and self.text[position] not in " \t\\" and self.operator_at(position) is None:
            return self.end_of_word(position), 0
        return super()._one_token(position)

    def _begin(self, position: int) -> int:
        match = _START.match(self.text, position)
        if match is None or self._arithmetic:
            raise NotUnderstoodError("<< is followed by a word that is not certain to be read as the end of a here-document")
        written = match[2]
        delimiter = re.sub(r"'([^']*)'|\"([^\"]*)\"|\\(.)", lambda part: part[1] or part[2] or part[3] or "", written)
        number = len(self._bodies)
        self._bodies.append(HereDocument("", quoted=True))
        self._waiting[-1].append(_Start(delimiter, delimiter != written, bool(match[1]), number))
        self._edits.append((position, match.end(), f"<{MARK}{number}{MARK}"))
        return match.end()

    def _take_bodies(self, position: int) -> int:
        if any(self._waiting[:-1]):
            raise NotUnderstoodError("a substitution with several lines stands between a here-document and its body")
        start = position
        for waiting in self._waiting[-1]:
            position = self._take_body(position, waiting)
        self._waiting[-1].clear()
        if position > start:
            self._edits.append((start, position, ""))
        return position

    def _take_body(self, position: int, start: _Start) -> int:
        lines: list[str] = []
        continued = False
        while position < len(self.text):
            end = self.text.find("\n", position)
            end = len(self.text) if end < 0 else end
            line = self.text[position:end]
            position = min(end + 1, len(self.text))
            if start.strip_tabs:
                line = line.lstrip("\t")
            if line == start.delimiter and not continued:
                self._bodies[start.number] = HereDocument("".join(f"{kept}\n" for kept in lines), start.quoted)
                return position
            continued = not start.quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
            lines.append(line)
        raise NotUnderstoodError(f"the here-document {start.delimiter} has no end")
