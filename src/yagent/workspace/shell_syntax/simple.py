"""Simple commands: assignments, words and redirections, and what each does to the working directory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field, replace

from yagent.records import dataclass
from yagent.workspace.shell_syntax.commands import (
    Assignment,
    Budget,
    Command,
    Directories,
    Hazard,
    Outcome,
    Place,
    Redirection,
    changed,
)
from yagent.workspace.shell_syntax.heredoc import HereDocument, body_of
from yagent.workspace.shell_syntax.lexer import Lexer, NotUnderstoodError, Token
from yagent.workspace.shell_syntax.namings import Names
from yagent.workspace.shell_syntax.words import Found, Script, Word, decode, decode_body, decode_value

RESERVED = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("function", "select", "coproc", "{", "}", "[[", "]]", "!", "time"),
    }
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_REDIRECTIONS = frozenset({"<", ">", ">>", "<&", ">&", "&>", "&>>", "<>", ">|", "<<<"})
_DECLARING = frozenset({"export", "readonly", "declare", "typeset", "local"})
_CHANGES_DIRECTORY = frozenset({"cd", "pushd", "popd"})
_GOES = re.compile(r"cd|pushd|popd|eval|alias|\\")
_SETS_VARIABLES = re.compile(r"\b(read|unset|mapfile|readarray|getopts|let|eval|source|printf\s+-v|declare|typeset|local)\b|\(\(")


def sets_variables(text: str) -> bool:
    """Say whether a line may set variables in other ways than by plain assignments and loops."""
    return _SETS_VARIABLES.search(text) is not None


@dataclass(slots=True)
class Line:
    """What is shared by a line and the scripts within it.

    `environment` are the variables whose value is certain from the start. `run` parses a script at a place and adds its commands;
    `unwrap` looks into a command for those it runs in turn.
    """

    text: str
    budget: Budget
    run: Callable[[Line, Script, Place], Outcome]
    unwrap: Callable[[Line, Command, Place], Command]
    environment: dict[str, str] = field(default_factory=dict)
    bodies: list[HereDocument] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    hazards: list[Hazard] = field(default_factory=list)
    names: Names = field(default_factory=Names)

    def hazard(self, code: str, text: str) -> None:
        """Note something that keeps the line from meaning what it says; `text` completes "this line …"."""
        self.hazards.append(Hazard(code, text))

    def spend(self) -> None:
        """Count one command, or one round of a loop."""
        self.budget.commands -= 1
        if self.budget.commands < 0:
            raise NotUnderstoodError("it has too many commands to be judged")

    def enter(self) -> None:
        """Go one compound command or script deeper."""
        self.budget.depth -= 1
        if self.budget.depth < 0:
            raise NotUnderstoodError("it is nested too deeply to be judged")

    def leave(self) -> None:
        """Come back from one."""
        self.budget.depth += 1

    def keeps(self, name: str) -> bool:
        """Say whether a variable certainly keeps its value throughout the line."""
        return not sets_variables(self.text) and re.search(rf"(?<![\w$]){name}\+?=", self.text) is None

    def later(self, place: Place) -> Place:
        """Return where a command stands that runs at some other time: where the line is now, unless it goes anywhere."""
        return replace(place, directories=None if _GOES.search(self.text) else place.directories, variables=self.environment)

    def captured(self, script: Script, place: Place) -> tuple[Command, ...]:
        """Parse a script and return its commands instead of adding them."""
        outer, self.commands = self.commands, []
        try:
            self.run(self, script, place)
            return tuple(self.commands)
        finally:
            self.commands = outer


class SimpleParser:
    """A cursor over the tokens of one script, and the lower half of the grammar."""

    def __init__(self, text: str, line: Line) -> None:
        self._text = text
        self._line = line
        self._tokens = tuple(Lexer(text).tokens())
        self._next = 0
        self._heads: set[int] = set()

    def _peek(self, ahead: int = 0) -> str:
        index = self._next + ahead
        return self._text[self._tokens[index].start : self._tokens[index].end] if index < len(self._tokens) else ""

    def _is_word(self) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next].kind == "word"

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _expect(self, text: str) -> None:
        if self._peek() != text:
            raise NotUnderstoodError(f"{text} is missing")
        self._next += 1

    def _skip_newlines(self) -> None:
        while self._peek() == "\n":
            self._next += 1

    def _adjacent(self) -> bool:
        """Whether the token before the next one touches it."""
        return 0 < self._next < len(self._tokens) and self._tokens[self._next - 1].end == self._tokens[self._next].start

    def _simple(self, place: Place) -> Outcome:
        start = self._next
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirections, stdin, extra = self._redirections(place)
        while self._is_word():
            if not words and self._is_assignment():
                assignments.append(self._assignment(place))
            else:
                if words and words[-1].source in ("time", "-p") and words[0].source == "time" and self._is_assignment():
                    raise NotUnderstoodError("time stands before an assignment")
                if not words:
                    self._heads.add(self._tokens[self._next].start)
                words += self._word(place)
            more, later, extra = self._redirections(place)
            redirections += more
            stdin = later or stdin
        if self._next == start or extra:
            raise NotUnderstoodError("a command is missing")
        if self._peek() == "(":
            raise NotUnderstoodError("a bracket stands inside a command")
        if words and words[0].value == "time" and self._text_at(start) == "time" and len(words) > 1 and words[1].source in RESERVED:
            raise NotUnderstoodError("time stands before something other than a command")
        if words and words[0].value in _DECLARING:
            self._declared(words[1:], place)
        command = Command(tuple(words), tuple(assignments), redirections, place.directories, stdin)
        self._add(self._line.unwrap(self._line, command, place))
        return self._after(command, place)

    def _declared(self, words: list[Word], place: Place) -> None:
        for word in words:
            if match := _ASSIGNMENT.match(word.source):
                self._line.names.assign(match[1], word.source[match.end() :], self._known(place), place, adds="+" in match[0])

    def _text_at(self, index: int) -> str:
        return self._text[self._tokens[index].start : self._tokens[index].end]

    def _is_assignment(self) -> bool:
        text = self._peek()
        if _SUBSCRIPT.match(text) and "=" in text:
            raise NotUnderstoodError("it assigns to an element of an array")
        return _ASSIGNMENT.match(text) is not None

    def _assignment(self, place: Place) -> Assignment:
        token = self._take()
        match = _ASSIGNMENT.match(self._text, token.start)
        if match is None or (self._peek() == "(" and self._adjacent()):
            raise NotUnderstoodError("it assigns an array")
        found = Found()
        value = decode_value(self._text, match.end(), token.end, found, self._variables(place))
        self._inside(found, place)
        self._line.names.assign(match[1], self._text[match.end() : token.end], self._known(place), place, adds="+" in match[0])
        return Assignment(match[1], value)

    def _word(self, place: Place) -> tuple[Word, ...]:
        token = self._take()
        found = Found()
        words = decode(self._text, token.start, token.end, found, self._variables(place))
        self._inside(found, place)
        if not all(word.known for word in words):
            self._line.names.use(self._text[token.start : token.end], self._known(place), place)
        latest = {**self._line.names.latest(), **place.likely}
        if latest and not all(word.known for word in words):
            likely = decode(self._text, token.start, token.end, Found(), {**latest, **self._variables(place)})
            if len(likely) == len(words):
                words = tuple(replace(word, guess=guess.text if guess.known else "") for word, guess in zip(words, likely, strict=True))
        return words

    def _known(self, place: Place) -> dict[str, str]:
        return {**place.likely, **self._variables(place)}

    def _variables(self, place: Place) -> dict[str, str]:
        """The variables whose value is certain here; PWD follows the working directory."""
        variables = {name: value for name, value in place.variables.items() if name != "PWD"}
        if "PWD" in place.variables and place.directories is not None and len(place.directories) == 1:
            variables["PWD"] = next(iter(place.directories))
        return variables

    def _inside(self, found: Found, place: Place) -> None:
        for text in found.hazards:
            self._line.hazard("expansion", f"holds an expansion that cannot be judged: {text}")
        for name, text in found.defaults:
            self._line.names.assign("", text, self._known(place), place, adds=False)
            if name:
                self._line.names.assign(name, text, self._known(place), place, adds=False)
        for script in found.scripts:
            self._line.run(self._line, script, place)

    def _redirections(self, place: Place) -> tuple[tuple[Redirection, ...], Word | None, bool]:
        result: list[Redirection] = []
        stdin: Word | None = None
        while True:
            descriptor = self._is_word() and self._is_descriptor()
            if descriptor:
                self._next += 1
            operator = self._peek()
            if operator not in _REDIRECTIONS or self._is_word():
                return tuple(result), stdin, descriptor
            self._next += 1
            if not self._is_word():
                raise NotUnderstoodError(f"{operator} is followed by nothing")
            body = body_of(self._peek(), self._line.bodies)
            if body is not None:
                self._next += 1
                stdin = self._body_word(body, place)
                continue
            words = self._word(place)
            target = words[0] if len(words) == 1 else Word("", "", known=False)
            if operator == "<<<":
                stdin = target
                self._line.names.add(words, place)
            else:
                result.append(Redirection(operator, target, place.directories))

    def _is_descriptor(self) -> bool:
        following = self._tokens[self._next + 1] if self._next + 1 < len(self._tokens) else None
        if following is None or following.kind == "word" or following.start != self._tokens[self._next].end:
            return False
        if self._text[following.start] not in "<>":
            return False
        if re.fullmatch(r"\{\w+\}", self._peek()):
            raise NotUnderstoodError("it opens a file under a name")
        return self._peek().isascii() and self._peek().isdigit()

    def _body_word(self, body: HereDocument, place: Place) -> Word:
        if body.quoted:
            return Word(body.body, body.body)
        found = Found()
        word = decode_body(body.body, found)
        self._inside(found, place)
        return word

    def _add(self, command: Command) -> None:
        self._line.spend()
        self._line.commands.append(command)

    def _after(self, command: Command, place: Place) -> Outcome:
        words = command.words
        while words and words[0].value in ("command", "builtin", "time", "exec") and len(words) > 1:
            words = words[1:]
        if words and words[0].value == "cd":
            return Outcome(_after_cd(words[1:], place), place.directories)
        if words and (words[0].value is None or words[0].value in _CHANGES_DIRECTORY):
            target = words[1].value if words[0].value == "pushd" and len(words) == 2 else None
            plain = target is not None and not target.startswith(("-", "+"))
            return Outcome(changed(place.directories, target) if plain else None, place.directories)
        return Outcome(place.directories, place.directories)


def _after_cd(arguments: tuple[Word, ...], place: Place) -> Directories:
    rest = list(arguments)
    while rest and rest[0].value in ("-L", "-P", "-e", "-LP", "--"):
        rest.pop(0)
    if not rest:
        return changed(place.directories, place.variables.get("HOME"))
    target = rest[0].value
    if len(rest) != 1 or not target or target.startswith("-"):
        return None
    return changed(place.directories, target)
