"""Turns a line into the commands it would run.

A recursive descent over our lexer's tokens by bash's grammar (Bash Reference Manual, 3.2), following the working directory on the way.
tree-sitter-bash reads the same line; it counts as understood only when both see the same commands begin at the same places, and when
every construct in it is one of those known here. Everything else raises NotUnderstoodError.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from yagent.workspace.shell_syntax.commands import Assignment, Command, Directories, Outcome, Place, join
from yagent.workspace.shell_syntax.grammar import command_positions
from yagent.workspace.shell_syntax.heredoc import lift
from yagent.workspace.shell_syntax.lexer import NotUnderstoodError
from yagent.workspace.shell_syntax.simple import RESERVED, Line, SimpleParser
from yagent.workspace.shell_syntax.words import Script, Word

MAX_LIKELY = 16
"""For how many values of a loop whose variable may change meanwhile the body is looked at."""

_ARITHMETIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


def run_script(line: Line, script: Script, place: Place) -> Outcome:
    """Parse a script that runs at a place; its commands are added to the line's."""
    line.enter()
    line.budget.characters -= len(script.text)
    if line.budget.characters < 0:
        raise NotUnderstoodError("it is too long to be judged")
    text = script.text if script.lifted else lift(script.text, line.bodies)
    outcome = _Parser(text, line).whole(place)
    line.leave()
    return outcome


class _Parser(SimpleParser):
    """The upper half: lists, pipelines and compound commands."""

    def whole(self, place: Place) -> Outcome:
        outcome = self._list(place, ())
        if self._next != len(self._tokens):
            raise NotUnderstoodError(f"{self._peek()!r} stands where no command can begin")
        if self._heads != command_positions(self._text):
            raise NotUnderstoodError("it can be read in two ways")
        return outcome

    def _list(self, place: Place, closers: Collection[str]) -> Outcome:
        outcome = Outcome(place.directories, place.directories)
        while True:
            while self._peek() in ("\n", ";") and self._next < len(self._tokens):
                if self._peek() == ";" and (self._next == 0 or self._peek(-1) in (";", "&", "\n")):
                    raise NotUnderstoodError("; stands where no command ended")
                self._next += 1
            if self._next == len(self._tokens) or self._peek() in closers:
                return outcome
            before = replace(place, directories=outcome.either)
            outcome = self._and_or(before)
            following = self._peek()
            if following == "&":
                self._next += 1
                outcome = Outcome(before.directories, before.directories)
            elif following not in (";", "\n", "") and following not in closers:
                raise NotUnderstoodError(f"{following!r} stands where a command should end")

    def _and_or(self, place: Place) -> Outcome:
        outcome = self._pipeline(place)
        while self._peek() in ("&&", "||"):
            conjunction = self._peek() == "&&"
            self._next += 1
            self._skip_newlines()
            after = self._pipeline(replace(place, directories=outcome.success if conjunction else outcome.failure))
            if conjunction:
                outcome = Outcome(after.success, join(outcome.failure, after.failure))
            else:
                outcome = Outcome(join(outcome.success, after.success), after.failure)
        return outcome

    def _pipeline(self, place: Place) -> Outcome:
        negated = self._peek() == "!" and self._is_word()
        if negated:
            self._next += 1
        outcome = self._command(place)
        piped = False
        while self._peek() in ("|", "|&"):
            self._next += 1
            self._skip_newlines()
            piped = True
            self._command(place)
        if piped:
            outcome = Outcome(place.directories, place.directories)
        return Outcome(outcome.failure, outcome.success) if negated else outcome

    def _command(self, place: Place) -> Outcome:
        word = self._peek()
        compound = {
            "{": self._group,
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "case": self._case,
            "[[": self._test,
            "function": self._function,
            "(": self._subshell,
        }.get(word)
        if compound is None:
            return self._function_or_simple(place)
        self._line.enter()
        outcome = compound(place)
        self._line.leave()
        around = join(place.directories, outcome.either)
        redirections, stdin, _ = self._redirections(replace(place, directories=around))
        if redirections or stdin is not None:
            self._add(Command((), redirections=redirections, directories=around, stdin=stdin))
        if self._is_word() and self._peek() not in RESERVED:
            raise NotUnderstoodError(f"{self._peek()!r} stands where a command should end")
        return outcome

    def _subshell(self, place: Place) -> Outcome:
        self._next += 1
        if self._peek() == "(" and self._adjacent():
            raise NotUnderstoodError("((…)) is arithmetic, which can run commands hidden in values")
        self._list(place, (")",))
        self._expect(")")
        return Outcome(place.directories, place.directories)

    def _group(self, place: Place) -> Outcome:
        self._next += 1
        outcome = self._list(place, ("}",))
        self._expect("}")
        return outcome

    def _if(self, place: Place) -> Outcome:
        self._next += 1
        condition = self._list(place, ("then",))
        self._expect("then")
        after = self._list(replace(place, directories=condition.success), ("elif", "else", "fi")).either
        otherwise = replace(place, directories=condition.failure)
        if self._peek() == "elif":
            rest = self._if(otherwise).either
            return Outcome(join(after, rest), join(after, rest))
        if self._peek() == "else":
            self._next += 1
            rest = self._list(otherwise, ("fi",)).either
        else:
            rest = condition.failure
        self._expect("fi")
        return Outcome(join(after, rest), join(after, rest))

    def _while(self, place: Place) -> Outcome:
        self._next += 1
        start = self._next
        around = place.directories
        for attempt in (around, None):
            self._next = start
            here = replace(place, directories=attempt)
            condition = self._list(here, ("do",))
            after = join(condition.failure, self._body(replace(here, directories=condition.success)))
            around = join(attempt, after)
            if around == attempt:
                break
        return Outcome(around, around)

    def _body(self, place: Place) -> Directories:
        self._line.spend()
        self._expect("do")
        directories = self._list(place, ("done",)).either
        self._expect("done")
        return directories

    def _for(self, place: Place) -> Outcome:
        self._next += 1
        if not self._is_word() or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self._peek()):
            raise NotUnderstoodError("for is followed by something that is not a name")
        name = self._peek()
        self._next += 1
        self._add(Command((), assignments=(Assignment(name, Word("", "", known=False)),), directories=place.directories))
        values = self._for_values(place)
        self._line.names.loop(name, values, self._known(place), place)
        body = self._next
        directories = place.directories
        known = [word.value for word in values if word.value is not None]
        others = {key: value for key, value in place.variables.items() if key != name}
        if len(known) != len(values) or not known or name in place.variables or not self._line.keeps(name):
            outcome = self._repeated(replace(place, variables=others))
            for value in [word.value or word.guess for word in values if word.value or word.guess][:MAX_LIKELY]:
                self._next = body
                self._body(replace(place, variables=others, likely={**place.likely, name: value}))
            return outcome
        for value in known:
            self._next = body
            here = replace(place, directories=directories, variables={**others, name: value})
            directories = join(directories, self._body(here))
        return Outcome(directories, directories)

    def _repeated(self, place: Place) -> Outcome:
        body = self._next
        directories = join(place.directories, self._body(place))
        if directories != place.directories:
            self._next = body
            self._body(replace(place, directories=None))
            return Outcome(None, None)
        return Outcome(directories, directories)

    def _for_values(self, place: Place) -> list[Word]:
        values: list[Word] = []
        self._skip_newlines()
        if self._peek() == "in":
            self._next += 1
            while self._is_word():
                values += self._word(place)
        if self._peek() in (";", "\n"):
            self._next += 1
            self._skip_newlines()
        return values

    def _case(self, place: Place) -> Outcome:
        self._next += 1
        if not self._is_word():
            raise NotUnderstoodError("case is followed by something that is not a word")
        self._line.names.add(self._word(place), place)
        self._skip_newlines()
        self._expect("in")
        directories = place.directories
        self._skip_newlines()
        while self._peek() != "esac":
            self._pattern(place)
            directories = join(directories, self._list(place, (";;", ";&", ";;&", "esac")).either)
            if self._peek() in (";&", ";;&"):
                raise NotUnderstoodError("a case falls through")
            if self._peek() == ";;":
                self._next += 1
            self._skip_newlines()
        self._next += 1
        return Outcome(directories, directories)

    def _pattern(self, place: Place) -> None:
        if self._peek() == "(":
            self._next += 1
        while self._is_word():
            self._word(place)
            if self._peek() != "|":
                break
            self._next += 1
        self._expect(")")

    def _test(self, place: Place) -> Outcome:
        self._heads.add(self._take().start)
        parts: list[str | None] = []
        while self._peek() != "]]":
            if self._next == len(self._tokens):
                raise NotUnderstoodError("[[ is not closed")
            if self._is_word():
                parts += [word.value for word in self._word(place)]
            else:
                parts.append(self._peek())
                self._next += 1
        self._next += 1
        if "-v" in parts or any(self._hides_arithmetic(parts, index) for index in range(len(parts))):
            self._line.hazard("arithmetic", "compares by arithmetic, which can run commands hidden in values")
        return Outcome(place.directories, place.directories)

    @staticmethod
    def _hides_arithmetic(parts: list[str | None], index: int) -> bool:
        if parts[index] not in _ARITHMETIC_TESTS:
            return False
        sides = (*parts[max(0, index - 1) : index], *parts[index + 1 : index + 2])
        return not all(side is not None and re.fullmatch(r"[-+]?[0-9]+", side) for side in sides)

    def _function(self, place: Place) -> Outcome:
        self._next += 1
        if not self._is_word():
            raise NotUnderstoodError("function is followed by something that is not a name")
        self._next += 1
        if self._peek() == "(":
            self._next += 1
            self._expect(")")
        return self._function_body(place)

    def _function_body(self, place: Place) -> Outcome:
        self._line.hazard("function", "defines a function, so that names no longer mean what they say")
        self._skip_newlines()
        if self._peek() not in ("{", "("):
            raise NotUnderstoodError("a function has no body")
        self._command(self._line.later(place))
        return Outcome(place.directories, place.directories)

    def _function_or_simple(self, place: Place) -> Outcome:
        if self._is_word() and self._peek(1) == "(":
            self._next += 1
            if self._peek(1) != ")" or not re.fullmatch(r"[A-Za-z_][\w:.-]*", self._peek(-1)):
                raise NotUnderstoodError("it uses an array or a pattern with brackets")
            self._next += 2
            return self._function_body(place)
        if self._peek() in RESERVED and self._is_word() and self._peek() not in ("time", "coproc"):
            raise NotUnderstoodError(f"{self._peek()} stands where it means nothing")
        return self._simple(place)
