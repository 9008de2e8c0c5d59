"""In which encoding a file's bytes are text, so that characters can be shown, and single ones changed without touching the rest."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Literal

from yagent.errors import YagentError
from yagent.records import dataclass
from yagent.workspace.legacy_encoding import guess

Newline = Literal["lf", "crlf", "cr", "mixed", "none"]

SAMPLE = 65_536

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_SHIFTED_JIS = (b"\x1b$B", b"\x1b$@")


class EncodingError(YagentError):
    """Text that the file's own encoding cannot hold."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes become characters.

    `codec` is a Python codec name; `mark` the byte order mark before the text; `exact` False when some bytes belong to no
    character (they become lone surrogates, and go back to the same bytes); `guessed` True when nothing but plausibility
    speaks for it.
    """

    codec: str
    mark: bytes = b""
    exact: bool = True
    guessed: bool = False

    @property
    def label(self) -> str:
        """For people: the codec, with the mark where there is one."""
        return f"{self.codec} with a byte order mark" if self.mark else self.codec

    def decode(self, data: bytes) -> str:
        """The text of `data`, which starts after the mark."""
        return data.decode(self.codec, "strict" if self.exact else "surrogateescape")

    def encode(self, text: str) -> bytes:
        """The bytes of text that was decoded from this file; never adds the mark."""
        return text.encode(self.codec, "strict" if self.exact else "surrogateescape")

    def encode_new(self, text: str) -> bytes:
        """The bytes of text that comes from elsewhere.

        Raises:
            EncodingError: a character has no place in this encoding.
        """
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise EncodingError(
                f"the file is {self.label}{' (guessed from its bytes)' if self.guessed else ''}, which cannot hold {character!a} "
                f"(character {error.start + 1} of the new text); write it with characters of that encoding, or convert the file first"
            ) from error


UTF8 = Encoding("utf-8")


def recognise(data: bytes, *, partial: bool = False) -> Encoding | None:
    """The encoding of a file's bytes (with `partial`, of its beginning); None when they are not text."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], mark, codec, partial)
    if b"\0" in data:
        return _wide_without_mark(data, partial)
    if _controls(data) > len(data[:SAMPLE]) // 20:
        return None
    if b"\x1b" in data and any(shift in data for shift in _SHIFTED_JIS):
        return Encoding("ascii", exact=False, guessed=True)
    if data.isascii() or _decodes(data, "utf-8", partial):
        return UTF8
    return _without_mark(data, partial)


def split_lines(text: str, newline: Newline) -> list[str]:
    """Lines without their endings; a final line ending starts no further line."""
    return first_lines(text, newline, len(text) + 1)[0]


def first_lines(text: str, newline: Newline, number: int) -> tuple[list[str], int]:
    """At most `number` lines without their endings, and how many the text has."""
    end = "\r" if newline == "cr" else "\n"
    *lines, rest = text.split(end, number)
    total = len(lines) + rest.count(end) + (rest != "" and not rest.endswith(end))
    if len(lines) < min(number, total):
        lines.append(rest)
    return [line.removesuffix("\r") for line in lines] if newline in ("crlf", "mixed") else lines, total


def newline_style(text: str) -> Newline:
    """Which line endings a text has."""
    if "\r" not in text:  # nearly every text, and told a hundred times as fast
        return "lf" if "\n" in text else "none"
    pairs = text.count("\r\n")
    counts: dict[Newline, int] = {"crlf": pairs, "lf": text.count("\n") - pairs, "cr": text.count("\r") - pairs}
    present: list[Newline] = [style for style, count in counts.items() if count]
    if len(present) > 1:
        return "mixed"
    return present[0] if present else "none"


@dataclass(frozen=True, slots=True)
class Document:
    """A file's bytes beside their text; changing the text changes exactly the bytes of the changed characters."""

    raw: bytes
    encoding: Encoding
    text: str

    @classmethod
    def of(cls, raw: bytes) -> Document | None:
        """Bytes as text; None when they are not text."""
        encoding = recognise(raw)
        return None if encoding is None else cls(raw, encoding, encoding.decode(raw[len(encoding.mark) :]))

    def replaced(self, changes: Sequence[tuple[int, int, str]]) -> Document:
        """The document with stretches of characters (start, end, replacement; ascending, apart) replaced; all other bytes are the same.

        Raises:
            EncodingError: a replacement does not fit into the encoding, or would run together with its neighbours.
        """
        raw: list[bytes] = [self.encoding.mark]
        text: list[str] = []
        at, byte_at = 0, len(self.encoding.mark)
        for start, end, replacement in changes:
            kept = byte_at + len(self.encoding.encode(self.text[at:start]))
            raw += (self.raw[byte_at:kept], self.encoding.encode_new(replacement))
            text += (self.text[at:start], replacement)
            at, byte_at = end, kept + len(self.encoding.encode(self.text[start:end]))
        changed = Document(b"".join((*raw, self.raw[byte_at:])), self.encoding, "".join((*text, self.text[at:])))
        if not self._reads_back(changed):
            raise EncodingError(f"the change would not read back as {self.encoding.label}; nothing was written")
        return changed

    @staticmethod
    def _reads_back(changed: Document) -> bool:
        try:
            return changed.encoding.decode(changed.raw[len(changed.encoding.mark) :]) == changed.text
        except UnicodeDecodeError:
            return False


def _marked(body: bytes, mark: bytes, codec: str, partial: bool) -> Encoding | None:
    if _decodes(body, codec, partial):
        return Encoding(codec, mark)
    return Encoding(codec, mark, exact=False) if codec == "utf-8" and b"\0" not in body else None


def _wide_without_mark(data: bytes, partial: bool) -> Encoding | None:
    """UTF-16 without a mark shows as text whose every other byte is zero, most of the time."""
    if len(data) < 4 or (len(data) % 2 and not partial):
        return None
    even, odd = data[:SAMPLE:2], data[1:SAMPLE:2]
    zeros_even, zeros_odd = even.count(0), odd.count(0)
    for codec, zeros, others, size in (("utf-16-le", zeros_odd, zeros_even, len(odd)), ("utf-16-be", zeros_even, zeros_odd, len(even))):
        if not others and zeros > 0.7 * size and _decodes(data, codec, partial):
            return Encoding(codec, guessed=True)
    return None


def _without_mark(data: bytes, partial: bool) -> Encoding:
    text = data.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= character <= "\udcff" for character in text[: SAMPLE * 4])
    whole = sum(character > "\x7f" for character in text[: SAMPLE * 4]) - broken
    if whole >= 3 * broken and _round_trips(data, text):
        return Encoding("utf-8", exact=False)
    for codec in guess(data[:SAMPLE] if any(byte > 0x7F for byte in data[:SAMPLE]) else _around_first_high_byte(data)):
        if _decodes(data, codec, partial):
            return Encoding(codec, guessed=True)
    return Encoding("ascii", exact=False, guessed=True)


def _around_first_high_byte(data: bytes) -> bytes:
    position = next(index for index, byte in enumerate(data) if byte > 0x7F)
    start = data.rfind(b"\n", 0, position) + 1
    return data[start : start + SAMPLE]


def _round_trips(data: bytes, text: str) -> bool:
    return text.encode("utf-8", "surrogateescape") == data


def _decodes(data: bytes, codec: str, partial: bool) -> bool:
    """Whether the bytes are valid in a codec and come back as the same bytes."""
    try:
        if partial:
            codecs.getincrementaldecoder(codec)().decode(data)
            return True
        text = data.decode(codec)
        # Strict UTF-8 has one form for each text; older encodings may have several.
        return codec == "utf-8" or text.encode(codec) == data
    except UnicodeError:
        return False


def _controls(data: bytes) -> int:
    sample = data[:SAMPLE]
    return len(sample) - len(sample.translate(None, _CONTROLS))
