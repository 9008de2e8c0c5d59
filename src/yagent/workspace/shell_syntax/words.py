"""What a word of bash means once its quotes are taken away and its expansions made, as far as that is known before it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from yagent.records import dataclass
from yagent.workspace.shell_syntax.lexer import METACHARACTERS, Lexer, NotUnderstoodError

MAX_ALTERNATIVES = 128
MAX_BRACES = 32

HOLE = "\0"
"""Stands, in an outline, for text that is only known when the line runs: any, slashes included."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"[0-9?$#@*!-]")
_SIMPLE_BRACES = re.compile(r"#?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?#@*])")
_SAFE_OPERATION = re.compile(r":?[-+?]|##?|%%?|//?|\^\^?|,,?")
_ASSIGNING_OPERATION = re.compile(r":?=")
_PLAIN_ARITHMETIC = re.compile(r"[0-9\s+\-*/%()<>&|^~?:,!=]*")
_SEQUENCE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})|([A-Za-z])\.\.([A-Za-z])")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_ESCAPES = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34, "?": 63}


@dataclass(frozen=True, slots=True)
class Word:
    """One argument.

    `text` is its value; when not `known`, only its beginning. `splits`: it may become several words, or none.
    `glob`: the pattern, when unquoted wildcards stand in it (literal ones bracketed). `source` is what was written. `guess` is what a
    word that is not known most likely becomes: good enough to refuse by, never to allow by.
    """

    source: str
    text: str
    known: bool = True
    splits: bool = False
    glob: str = ""
    guess: str = ""

    @property
    def value(self) -> str | None:
        """The text, or None when it is only known once the line runs."""
        return self.text if self.known and not self.glob else None


@dataclass(frozen=True, slots=True)
class Script:
    """A command line inside a word. `lifted`: its here-documents were taken out together with the line's."""

    text: str
    lifted: bool


@dataclass(slots=True)
class Found:
    """What was met while decoding words: scripts that run, hazards (expansions that can run or change things by themselves), and what
    `${name:-…}` and the like may become instead (with the name of a variable that gets it)."""

    scripts: list[Script] = field(default_factory=list)
    hazards: list[str] = field(default_factory=list)
    defaults: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Atom:
    """A character, or (character "") an expansion: of a variable `name`, else unknown."""

    character: str
    quoted: bool
    name: str = ""


Atoms = list[_Atom]

_EMPTY = _Atom("", quoted=True, name="''")
"""Quotes with nothing in them: no character, yet a word."""


def decode(text: str, start: int, end: int, found: Found, variables: Mapping[str, str]) -> tuple[Word, ...]:
    """Decode the word at `text[start:end]` into the words it becomes (brace expansion may make several)."""
    decoder = _Decoder(text, found)
    atoms = decoder.unquoted(start, end)
    source = text[start:end]
    opened = sum(atom.character == "{" and not atom.quoted for atom in atoms)
    alternatives = None if opened > MAX_BRACES else _braces(atoms) if opened else [atoms]
    if alternatives is None:
        return (Word(source, "", known=False, splits=True),)
    return tuple(_word(_tilde(alternative, variables), source, variables) for alternative in alternatives)


def decode_value(text: str, start: int, end: int, found: Found, variables: Mapping[str, str]) -> Word:
    """Decode the right side of an assignment: neither split nor matched against files."""
    atoms = _tilde(_Decoder(text, found).unquoted(start, end), variables)
    return _word([_Atom(atom.character, quoted=True, name=atom.name) for atom in atoms], text[start:end], variables)


def outlines(source: str, variables: Mapping[str, str], *, is_value: bool) -> tuple[str, ...]:
    """Return what a word may become, wildcards as they stand, with HOLE for whatever is not known; values are not brace-expanded."""
    atoms = _Decoder(source, Found()).unquoted(0, len(source))
    opened = sum(atom.character == "{" and not atom.quoted for atom in atoms)
    alternatives = [atoms] if is_value or not opened else None if opened > MAX_BRACES else _braces(atoms)
    return (HOLE,) if alternatives is None else tuple(_outline(_tilde(atoms, variables), variables) for atoms in alternatives)


def _outline(atoms: Atoms, variables: Mapping[str, str]) -> str:
    return "".join(atom.character or ("" if atom.name == _EMPTY.name else variables.get(atom.name, HOLE)) for atom in atoms)


def decode_body(body: str, found: Found) -> Word:
    """Decode a here-document in which expansions are made."""
    if not re.search(r"[$`\\]", body):
        return Word(body, body)
    return _word(_Decoder(body, found).double(0, len(body), here_document=True), body, {})


class _Decoder(Lexer):
    def __init__(self, text: str, found: Found) -> None:
        super().__init__(text)
        self._found = found

    def unquoted(self, start: int, end: int) -> Atoms:
        atoms: Atoms = []
        position = start
        while position < end:
            character = self.text[position]
            if self.text.startswith(("<(", ">("), position):
                after = self.end_of_commands(position + 2) + 1
                self._found.scripts.append(Script(self.text[position + 2 : after - 1], lifted=True))
                atoms += [_Atom(letter, quoted=True) for letter in "/dev/fd/63"]
            elif character in METACHARACTERS:
                raise NotUnderstoodError("a word is not certain to end where it seems to")
            else:
                after = self._unquoted_piece(position, atoms)
            position = after
        if position != end:
            raise NotUnderstoodError("a word is not certain to end where it seems to")
        return atoms

    def _unquoted_piece(self, position: int, atoms: Atoms) -> int:
        character = self.text[position]
        after = self.end_of_piece(position)
        if character == "\\":
            if self.text[position + 1] != "\n":
                atoms.append(_Atom(self.text[position + 1], quoted=True))
        elif character == "'":
            atoms += _quoted(self.text[position + 1 : after - 1])
        elif character == '"':
            atoms += self.double(position + 1, after - 1)
        elif character == "`":
            self._backticks(self.text[position + 1 : after - 1], in_double=False)
            atoms.append(_Atom("", quoted=False))
        elif character == "$":
            return self._dollar(position, after, atoms, quoted=False)
        else:
            atoms += [_Atom(letter, quoted=False) for letter in self.text[position:after]]
        return after

    def double(self, start: int, end: int, *, here_document: bool = False) -> Atoms:
        atoms: Atoms = [_EMPTY]
        position = start
        special = "$`\\\n" if here_document else '$`"\\\n'
        while position < end:
            character = self.text[position]
            if character == "\\" and self.text[position + 1 : position + 2] and self.text[position + 1] in special:
                if self.text[position + 1] != "\n":
                    atoms.append(_Atom(self.text[position + 1], quoted=True))
                position += 2
            elif character == "`":
                after = self.end_of_backticks(position + 1)
                self._backticks(self.text[position + 1 : after - 1], in_double=not here_document)
                atoms.append(_Atom("", quoted=True))
                position = after
            elif character == "$":
                after = self._end_of_dollar(position, in_double=True)
                position = self._dollar(position, after, atoms, quoted=True, lifted=not here_document)
            else:
                atoms.append(_Atom(character, quoted=True))
                position += 1
        return atoms

    def _dollar(self, position: int, after: int, atoms: Atoms, *, quoted: bool, lifted: bool = True) -> int:
        following = self.text[position + 1 : position + 2]
        if following == "(":
            self._substitution(self.text[position + 2 : after - 1], lifted=lifted)
            atoms.append(_Atom("", quoted))
        elif following == "{":
            self._parameter(position + 2, after - 1, atoms, quoted=quoted, lifted=lifted)
        elif following == "'" and not quoted:
            atoms += _quoted(_escaped(self.text[position + 2 : after - 1]))
        elif following == '"' and not quoted:
            after = self.end_of_double(position + 2)
            atoms += self.double(position + 2, after - 1)
        elif name := _NAME.match(self.text, position + 1):
            atoms.append(_Atom("", quoted, name[0]))
            return name.end()
        elif _SPECIAL.match(self.text, position + 1):
            atoms.append(_Atom("", quoted and following != "@"))
            return position + 2
        else:
            atoms.append(_Atom("$", quoted=True))
        return after

    def _substitution(self, inner: str, *, lifted: bool) -> None:
        if not inner.startswith("("):
            self._found.scripts.append(Script(inner, lifted))
        elif not inner.endswith(")") or not _PLAIN_ARITHMETIC.fullmatch(inner):
            self._found.hazards.append("arithmetic with names can run commands hidden in their values")

    def _backticks(self, inner: str, *, in_double: bool) -> None:
        if in_double and "\\" in inner:
            raise NotUnderstoodError("a backslash stands in backticks inside double quotes; write $(…)")
        self._found.scripts.append(Script(re.sub(r"\\([\\`$])", r"\1", inner), lifted=False))

    def _parameter(self, start: int, end: int, atoms: Atoms, *, quoted: bool, lifted: bool) -> None:
        name = _SIMPLE_BRACES.match(self.text, start)
        if name is None or name.end() > end:
            self._found.hazards.append("an expansion in ${…} can run commands or change variables")
            atoms.append(_Atom("", quoted))
            return
        if name.end() == end:
            atoms.append(_Atom("", quoted and name[0] != "@", name[0] if _NAME.fullmatch(name[0]) else ""))
            return
        operation = _SAFE_OPERATION.match(self.text, name.end(), end) or _ASSIGNING_OPERATION.match(self.text, name.end(), end)
        if operation is None or operation[0].endswith("=") or re.search(r"[<>]\(", self.text[start:end]):
            self._found.hazards.append("an expansion in ${…} can run commands or change variables")
        if operation is not None:
            instead = self.text[operation.end() : end]
            assigned = name[0] if operation[0].endswith("=") else ""
            self._found.defaults += [(assigned, instead), *(("", part) for part in instead.split("/", 1)[1:])]
        self.double(operation.end() if operation else name.end(), end, here_document=not lifted)
        atoms.append(_Atom("", quoted))


def _quoted(text: str) -> Atoms:
    return [_EMPTY, *(_Atom(letter, quoted=True) for letter in text)]


def _escaped(text: str) -> str:
    """Decode the inside of `$'…'` (Bash Reference Manual, 3.1.2.4)."""
    result = bytearray()
    position = 0
    form = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL)
    while position < len(text):
        match = form.match(text, position)
        if match is None:
            result += text[position].encode("utf-8", "surrogateescape")
            position += 1
            continue
        position = match.end()
        result += _escape(match)
    if 0 in result:
        raise NotUnderstoodError("a NUL byte is written into a word, which cuts it off")
    return result.decode("utf-8", "surrogateescape")


def _escape(match: re.Match[str]) -> bytes:
    octal, hexadecimal, short, long, control, letter = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if short is not None or long is not None:
        number = int(short or long, 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise NotUnderstoodError("an escape names a character that does not exist")
        return chr(number).encode()
    if control is not None:
        raise NotUnderstoodError("a control character is written into a word")
    return bytes([_ESCAPES[letter]]) if letter in _ESCAPES else f"\\{letter}".encode("utf-8", "surrogateescape")


def _braces(atoms: Atoms) -> list[Atoms] | None:
    """Expand braces; None when it is not certain how bash reads them."""
    opened = next((index for index, atom in enumerate(atoms) if atom.character == "{" and not atom.quoted), None)
    if opened is None:
        return None if any(atom.character == "}" and not atom.quoted for atom in atoms) else [atoms]
    closed, commas = _matching(atoms, opened)
    if closed is None or any(atom.character == "}" and not atom.quoted for atom in atoms[:opened]):
        return None
    inner = atoms[opened + 1 : closed]
    if not commas and _is_plain_in_braces(inner):
        inner = [_Atom(atom.character, quoted=True, name=atom.name) if atom.character else atom for atom in atoms[opened : closed + 1]]
        rest = _braces(atoms[closed + 1 :])
        return None if rest is None else [[*atoms[:opened], *inner, *tail] for tail in rest]
    rest = _braces(atoms[closed + 1 :])
    choices = _choices(atoms, inner, (opened, closed), commas)
    if rest is None or choices is None or len(rest) * len(choices) > MAX_ALTERNATIVES:
        return None
    return [[*atoms[:opened], *choice, *tail] for choice in choices for tail in rest]


def _is_plain_in_braces(inner: Atoms) -> bool:
    """`{}` and `{0}` stay as they are: nothing to choose from, no sequence, no braces inside."""
    plain = "".join("" if atom.quoted else atom.character for atom in inner)
    return not re.search(r"[{}*?\[]|\.\.", plain)


def _choices(atoms: Atoms, inner: Atoms, borders: tuple[int, int], commas: list[int]) -> list[Atoms] | None:
    opened, closed = borders
    if not commas:
        return _sequence(inner)
    choices: list[Atoms] = []
    starts = [opened, *commas]
    for start, end in zip(starts, [*commas, closed], strict=True):
        expanded = _braces(atoms[start + 1 : end])
        if expanded is None or len(choices) > MAX_ALTERNATIVES:
            return None
        choices += expanded
    return choices


def _sequence(inner: Atoms) -> list[Atoms] | None:
    if any(atom.quoted or not atom.character for atom in inner):
        return None
    match = _SEQUENCE.fullmatch("".join(atom.character for atom in inner))
    if match is None or any(len(part.lstrip("-")) > 1 and part.lstrip("-").startswith("0") for part in match.groups() if part):
        return None
    low, high = (int(match[1]), int(match[2])) if match[1] else (ord(match[3]), ord(match[4]))
    if abs(high - low) >= MAX_ALTERNATIVES or (match[3] and match[3].islower() != match[4].islower()):
        return None
    numbers = range(low, high + 1) if low <= high else range(low, high - 1, -1)
    return [[_Atom(letter, quoted=False) for letter in (str(number) if match[1] else chr(number))] for number in numbers]


def _matching(atoms: Atoms, opened: int) -> tuple[int | None, list[int]]:
    depth = 0
    commas: list[int] = []
    for index in range(opened, len(atoms)):
        atom = atoms[index]
        if atom.quoted:
            continue
        if atom.character == "{":
            depth += 1
        elif atom.character == "}":
            depth -= 1
            if depth == 0:
                return index, commas
        elif atom.character == "," and depth == 1:
            commas.append(index)
    return None, commas


def _tilde(atoms: Atoms, variables: Mapping[str, str]) -> Atoms:
    """Expand `~` at the start, or after `NAME=` (bash does so for words that look like assignments, too)."""
    plain = "".join("\0" if atom.quoted or not atom.character else atom.character for atom in atoms)
    assignment = _ASSIGNMENT.match(plain)
    start = assignment.end() if assignment else 0
    if assignment and ":~" in plain:
        return [*atoms[:start], _Atom("", quoted=False)]
    if plain[start : start + 1] != "~":
        return atoms
    slash = plain.find("/", start)
    end = len(plain) if slash < 0 else slash
    home = variables.get("HOME")
    if end - start == 1 and home is not None:
        return [*atoms[:start], *_quoted(home), *atoms[end:]]
    name = {"~+": "PWD", "~-": "OLDPWD"}.get(plain[start:end], "")
    return [*atoms[:start], _Atom("", quoted=True, name=name), *atoms[end:]]


def _word(atoms: Atoms, source: str, variables: Mapping[str, str]) -> Word:
    text: list[str] = []
    glob: list[str] = []
    has_glob = False
    closes = max((index for index, atom in enumerate(atoms) if atom.character == "]" and not atom.quoted), default=-1)
    for index, atom in enumerate(atoms):
        value = atom.character or ("" if atom.name == _EMPTY.name else variables.get(atom.name))
        if value is None or (not atom.quoted and not atom.character and re.search(r"[\s*?\[]", value)):
            splits = any(not later.quoted and not later.character for later in atoms)
            return Word(source, "".join(text), known=False, splits=splits or has_glob)
        wild = not atom.quoted and atom.character != "" and (atom.character in "*?" or (atom.character == "[" and index < closes))
        has_glob = has_glob or wild
        text.append(value)
        glob.append(value if wild else re.sub(r"([*?\[])", r"[\1]", value))
    return Word(source, "".join(text), glob="".join(glob) if has_glob else "")
