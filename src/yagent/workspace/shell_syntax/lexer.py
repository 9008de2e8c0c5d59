"""Finds where the words, operators, quoted parts and substitutions of a bash line begin and end.

One pass, by bash's own rules (Bash Reference Manual, 3.1 and 3.6.6), independent of the grammar that gives the structure: a line is
only trusted when both see the same words. Whatever shells read in different ways, or is not certain to be read here as bash reads
it, raises NotUnderstoodError: the caller then treats the line as one that cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from yagent.errors import YagentError
from yagent.records import dataclass

MAX_NESTING = 16
MAX_TOKENS = 6000

OPERATORS = (
    *("&>>", ";;&", "<<<"),
    *("&&", "||", ";;", ";&", "|&", "&>", "<&", ">&", "<>", ">|", ">>"),
    *(";", "&", "|", "(", ")", "<", ">", "\n"),
)
METACHARACTERS = frozenset(" \t\n;&|()<>")

_OPERATOR = re.compile("|".join(re.escape(operator) for operator in OPERATORS))
_PLAIN = re.compile(r"[^\\'\"$`\s;&|()<>]+")
_CASE = re.compile(r"case[ \t\n]")


class NotUnderstoodError(YagentError):
    """A line whose structure is not certain. The text says what is in the way."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or an operator, as a slice of the text."""

    kind: Literal["word", "operator"]
    start: int
    end: int


class Lexer:
    """Reads one text. Positions are indices into it; each `end_of_…` takes the position of the first character inside."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._depth = 0

    def tokens(self) -> Iterable[Token]:
        """Return the words and operators of the whole text, comments left out."""
        position = 0
        count = 0
        while position < len(self.text):
            skipped = self._after_blank(position)
            if skipped != position:
                position = skipped
                continue
            operator = self.operator_at(position)
            if operator is not None:
                token = Token("operator", position, position + len(operator))
            elif self.text[position] == "#":
                position = self.end_of_comment(position)
                continue
            else:
                token = Token("word", position, self.end_of_word(position))
            count += 1
            if count > MAX_TOKENS:
                raise NotUnderstoodError("the line has too many words to be judged")
            yield token
            position = token.end

    def operator_at(self, position: int) -> str | None:
        """Return the operator that starts here; a process substitution is no operator."""
        if self.text.startswith(("<(", ">("), position):
            return None
        if self.text.startswith("<<", position) and not self.text.startswith("<<<", position):
            raise NotUnderstoodError("a here-document stands where none is expected")
        match = _OPERATOR.match(self.text, position)
        return match[0] if match else None

    def end_of_comment(self, position: int) -> int:
        """Return the position of the newline that ends a comment."""
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end

    def end_of_word(self, position: int) -> int:
        """Return where the word that starts here ends."""
        while position < len(self.text):
            if self.text.startswith(("<(", ">("), position):
                position = self.end_of_commands(position + 2) + 1
            elif self.text[position] in METACHARACTERS:
                break
            else:
                position = self.end_of_piece(position)
        return position

    def end_of_piece(self, position: int) -> int:
        """Return where one piece of an unquoted word ends: plain characters, an escape, a quoted part, an expansion."""
        character = self.text[position]
        if character == "\\":
            return self._after_escape(position)
        if character == "'":
            return self.end_of_single(position + 1)
        if character == '"':
            return self.end_of_double(position + 1)
        if character == "`":
            return self.end_of_backticks(position + 1)
        if character == "$":
            return self._end_of_dollar(position, in_double=False)
        match = _PLAIN.match(self.text, position)
        return match.end() if match else position + 1

    def end_of_single(self, position: int) -> int:
        """Return the position after the closing quote."""
        return self._after("'", position)

    def end_of_escaped(self, position: int) -> int:
        """Return the position after the closing quote of `$'…'`."""
        while position < len(self.text):
            if self.text[position] == "'":
                return position + 1
            position += 2 if self.text[position] == "\\" else 1
        raise NotUnderstoodError("a quotation mark is not closed")

    def end_of_double(self, position: int) -> int:
        """Return the position after the closing quote of `"…"`."""
        while position < len(self.text):
            character = self.text[position]
            if character == '"':
                return position + 1
            position = self.end_of_double_piece(position)
        raise NotUnderstoodError("a quotation mark is not closed")

    def end_of_double_piece(self, position: int) -> int:
        """Return where one piece inside double quotes ends."""
        character = self.text[position]
        if character == "\\":
            return self._after_escape(position)
        if character == "`":
            return self.end_of_backticks(position + 1)
        if character == "$":
            return self._end_of_dollar(position, in_double=True)
        return position + 1

    def end_of_backticks(self, position: int) -> int:
        """Return the position after the closing backtick."""
        while position < len(self.text):
            if self.text[position] == "`":
                return position + 1
            position += 2 if self.text[position] == "\\" else 1
        raise NotUnderstoodError("a backtick is not closed")

    def end_of_braces(self, position: int, *, in_double: bool) -> int:
        """Return the position after the brace that closes `${…}`."""
        with self._deeper():
            while position < len(self.text):
                character = self.text[position]
                if character == "}":
                    return position + 1
                if character in "'{" or (character == '"' and in_double):
                    raise NotUnderstoodError("a quotation mark or brace stands inside ${…}, which shells read in different ways")
                position = self.end_of_piece(position) if character in '\\"`$' else position + 1
        raise NotUnderstoodError("${ is not closed")

    def end_of_commands(self, position: int) -> int:
        """Return the position of the bracket that closes `$(…)`, `<(…)` or `>(…)`."""
        open_brackets = 0
        with self._deeper():
            while position < len(self.text):
                character = self.text[position]
                if character == "#":
                    position = self.end_of_comment(position)
                    continue
                if character == ")" and open_brackets == 0:
                    return position
                position, change = self._one_token(position)
                open_brackets += change
        raise NotUnderstoodError("a bracket is not closed")

    def _one_token(self, position: int) -> tuple[int, int]:
        """Skip one blank, operator or word inside brackets; the second number counts brackets opened."""
        skipped = self._after_blank(position)
        if skipped != position:
            return skipped, 0
        operator = self.operator_at(position)
        if operator is not None:
            return position + len(operator), {"(": 1, ")": -1}.get(operator, 0)
        if _CASE.match(self.text, position):
            raise NotUnderstoodError("case stands inside a substitution, where its brackets are not certain")
        return self.end_of_word(position), 0

    def _end_of_dollar(self, position: int, *, in_double: bool) -> int:
        following = self.text[position + 1 : position + 2]
        if following == "(":
            return self.end_of_commands(position + 2) + 1
        if following == "{":
            return self.end_of_braces(position + 2, in_double=in_double)
        if following == "'" and not in_double:
            return self.end_of_escaped(position + 2)
        if following == "[":
            raise NotUnderstoodError("$[…] is an old form of arithmetic; write $((…))")
        return position + 1

    def _after_blank(self, position: int) -> int:
        if self.text[position] in " \t":
            return position + 1
        return position + 2 if self.text.startswith("\\\n", position) else position

    def _after_escape(self, position: int) -> int:
        if position + 2 > len(self.text):
            raise NotUnderstoodError("the line ends in a backslash")
        return position + 2

    def _after(self, closing: str, position: int) -> int:
        end = self.text.find(closing, position)
        if end < 0:
            raise NotUnderstoodError("a quotation mark is not closed")
        return end + 1

    def _deeper(self) -> _Depth:
        return _Depth(self)

    def enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise NotUnderstoodError("the line is nested too deeply to be judged")

    def leave(self) -> None:
        self._depth -= 1


class _Depth:
    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer

    def __enter__(self) -> None:
        self._lexer.enter()

    def __exit__(self, *_: object) -> None:
        self._lexer.leave()
