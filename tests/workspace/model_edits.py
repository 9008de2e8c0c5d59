"""Edits as models really send them, from a fixed seed: 180 whose meaning is clear, 20 whose meaning is not, and 15 of those found later.

Run as a module, it prints the table of what became of each kind.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from yagent.workspace.editing import Edit, EditError, edited
from yagent.workspace.encoding import Document, EncodingError

SEED = 20261130

PYTHON = '''"""Prices of a shop."""

import logging
from decimal import Decimal

logger = logging.getLogger("shop.prices")


class Basket:
    """What a customer is about to buy."""

    def __init__(self, customer: str, currency: str = "EUR") -> None:
        self.customer = customer
        self.currency = currency
        self.lines: list[tuple[str, int]] = []

    def add(self, article: str, amount: int = 1) -> None:
        if amount < 1:
            raise ValueError(f"amount of {article!r} must be positive")
        self.lines.append((article, amount))
        logger.debug("added %s of %s", amount, article)

    def total(self, prices: dict[str, Decimal]) -> Decimal:
        result = Decimal(0)
        for article, amount in self.lines:
            price = prices.get(article)
            if price is None:
                raise KeyError(f"no price for '{article}'")
            result += price * amount

        return result.quantize(Decimal("0.01"))
'''

SCRIPT = """import { readFile } from "node:fs/promises";

const DEFAULTS = { retries: 3, delay: 250 };

export async function load(path, options = {}) {
  const settings = { ...DEFAULTS, ...options };
  let failure = null;
  for (let attempt = 0; attempt < settings.retries; attempt += 1) {
    try {
      const text = await readFile(path, "utf8");
      return JSON.parse(text);
    } catch (error) {
      failure = error;
      await new Promise((resolve) => setTimeout(resolve, settings.delay));
    }
  }
  throw new Error(`could not load "${path}"`, { cause: failure });
}

export function summary(items) {
  const names = items.map((item) => item.name);
  return names.length > 0 ? names.join(", ") : "nothing";
}
"""

GO = """package queue

import (
\t"errors"
\t"sync"
)

var ErrEmpty = errors.New("queue is empty")

type Queue struct {
\tmutex sync.Mutex
\titems []string
}

func (q *Queue) Push(item string) {
\tq.mutex.Lock()
\tdefer q.mutex.Unlock()
\tq.items = append(q.items, item)
}

func (q *Queue) Pop() (string, error) {
\tq.mutex.Lock()
\tif len(q.items) == 0 {
\t\tq.mutex.Unlock()
\t\treturn "", ErrEmpty
\t}
\titem := q.items[0]
\tq.items = q.items[1:]
\tq.mutex.Unlock()
\treturn item, nil
}
"""

PROSE = """# Guide

It’s the reader’s choice: “install” it, or run it from a checkout — both work.

- Don’t edit the file by hand.
- Use “yes” or “no” only.

The server’s answer is shown below – it’s short.
"""

SOURCES = (PYTHON, SCRIPT, GO)


@dataclass(frozen=True, slots=True)
class Sample:
    """One edit of one file. `meant` is what the file should hold afterwards, None when nobody can know."""

    kind: str
    content: bytes
    edit: Edit
    meant: bytes | None


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of a text, and what a model wants there instead."""

    lines: list[str]
    first: int
    old: list[str]
    new: list[str]

    def replaced(self) -> list[str]:
        return [*self.lines[: self.first], *self.new, *self.lines[self.first + len(self.old) :]]


def samples(seed: int = SEED) -> Iterator[Sample]:
    """All of them, in a fixed order."""
    chance = random.Random(seed)
    for kind, (count, make) in {**CLEAR, **UNCLEAR}.items():
        for _ in range(count):
            content, search, replace, meant = make(chance)
            yield Sample(kind, content, Edit(search, replace), meant)


def outcome(sample: Sample) -> bytes | None:
    """What the file holds after the edit; None when it was refused."""
    document = Document.of(sample.content)
    assert document is not None
    try:
        return edited(document, [sample.edit], "file")[0].raw
    except (EditError, EncodingError):
        return None


Made = tuple[bytes, str, str, bytes | None]


def _block(chance: random.Random, source: str, *, accept: Callable[[list[str]], bool] = lambda _: True) -> Block:
    """A stretch of two to six lines that occurs once, with one line changed, added or left out."""
    lines = source.removesuffix("\n").split("\n")
    while True:
        size = chance.randint(2, 6)
        first = chance.randrange(len(lines) - size)
        old = lines[first : first + size]
        text = "\n".join(line.strip() for line in old)
        everything = "\n".join(line.strip() for line in lines)
        if everything.count(text) == 1 and old[0].strip() and old[-1].strip() and accept(old):
            return Block(lines, first, old, _changed(chance, old))


def _changed(chance: random.Random, old: list[str]) -> list[str]:
    at = chance.choice([index for index, line in enumerate(old) if line.strip()])
    inserted = f"{_common_indent([old[at]])}inserted({chance.randint(10, 99)})"
    how = chance.choice(["change", "insert", "drop"] if len(old) > 2 else ["change", "insert"])
    if how == "insert":
        return [*old[: at + 1], inserted, *old[at + 1 :]]
    return [*old[:at], *([inserted] if how == "change" else []), *old[at + 1 :]]


def _joined(lines: list[str], ending: str = "\n", last: str | None = None) -> bytes:
    return (ending.join(lines) + (ending if last is None else last)).encode()


def _exact(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    return _joined(block.lines), "\n".join(block.old), "\n".join(block.new), _joined(block.replaced())


def _file_has_pairs(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    return _joined(block.lines, "\r\n"), "\n".join(block.old), "\n".join(block.new), _joined(block.replaced(), "\r\n")


def _search_has_pairs(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    return _joined(block.lines), "\r\n".join(block.old), "\r\n".join(block.new), _joined(block.replaced())


def _file_has_trailing_space(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    spaced = [line + chance.choice(["  ", "\t", " "]) for line in block.old[:-1]] + block.old[-1:]
    kept = dict(zip(block.old, spaced, strict=True))
    lines = [*block.lines[: block.first], *spaced, *block.lines[block.first + len(spaced) :]]
    meant = [*block.lines[: block.first], *(kept.get(line, line) for line in block.new), *block.lines[block.first + len(spaced) :]]
    return _joined(lines), "\n".join(block.old), "\n".join(block.new), _joined(meant)


def _search_has_trailing_space(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    spaced = {line: line + chance.choice(["", "  ", " "]) for line in block.old[:-1]} | {block.old[-1]: block.old[-1] + "  "}
    old, new = [spaced[line] for line in block.old], [spaced.get(line, line) for line in block.new]
    return _joined(block.lines), "\n".join(old), "\n".join(new), _joined(block.replaced())


def _indented(old: list[str]) -> bool:
    return all(line[:1] in (" ", "\t") for line in old if line.strip())


def _common_indent(lines: list[str]) -> str:
    return min((line[: len(line) - len(line.lstrip())] for line in lines if line.strip()), key=len)


def _indentation_lost(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES), accept=_indented)
    common = _common_indent(block.old)
    old, new = ([line.removeprefix(common) for line in side] for side in (block.old, block.new))
    return _joined(block.lines), "\n".join(old), "\n".join(new), _joined(block.replaced())


def _indentation_added(chance: random.Random) -> Made:
    source = chance.choice(SOURCES)
    block = _block(chance, source)
    extra = "\t" if source is GO else chance.choice(["    ", "  "])
    old, new = ([extra + line if line.strip() else line for line in side] for side in (block.old, block.new))
    return _joined(block.lines), "\n".join(old), "\n".join(new), _joined(block.replaced())


def _quotes_escaped(chance: random.Random) -> Made:
    block = _block(
        chance, chance.choice(SOURCES), accept=lambda old: any('"' in line for line in old) and not any("\\" in line for line in old)
    )
    old, new = (re.sub(r"([\"'`])", r"\\\1", "\n".join(side)) for side in (block.old, block.new))
    return _joined(block.lines), old, new, _joined(block.replaced())


def _numbered(lines: list[str], first: int, shape: str) -> str:
    return "\n".join(shape.format(number=number, line=line) for number, line in enumerate(lines, first))


def _numbers_copied(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    shape = chance.choice(["{number:>6}\t{line}", "{number}\t{line}", "{number:>4}→{line}", "{number:>5}| {line}", "{number}: {line}"])
    old, new = (_numbered(side, block.first + 1, shape) for side in (block.old, block.new))
    return _joined(block.lines), old, new, _joined(block.replaced())


def _numbers_copied_once(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    old = _numbered(block.old, block.first + 1, "{number:>6}\t{line}")
    return _joined(block.lines, "\r\n"), old, "\n".join(block.new), _joined(block.replaced(), "\r\n")


def _no_final_ending(chance: random.Random) -> Made:
    lines = chance.choice(SOURCES).removesuffix("\n").split("\n")
    size = chance.randint(2, 4)
    block = Block(lines, len(lines) - size, lines[-size:], [*lines[-size:], "tail()"])
    return _joined(lines, last=""), "\n".join(block.old) + "\n", "\n".join(block.new) + "\n", _joined(block.replaced(), last="")


STRAIGHT = str.maketrans("’“”—–", '\'""--')


def _straight_quotes(chance: random.Random) -> Made:
    word = chance.choice(["choice", "install", "checkout", "hand", "yes", "only", "answer", "short"])
    line = next(line for line in PROSE.split("\n") if word in line)
    search = line.translate(STRAIGHT)
    return PROSE.encode(), search, search.replace(word, "changed"), PROSE.replace(word, "changed").encode()


def _occurs_twice(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    content = _joined([*block.lines, *block.lines])
    return content, "\n".join(block.old), "\n".join(block.new), None


def _twice_but_for_indentation(chance: random.Random) -> Made:
    block = _block(chance, PYTHON, accept=_indented)
    common = _common_indent(block.old)
    deeper = ["        " + line if line.strip() else line for line in block.old]
    old = [line.removeprefix(common) for line in block.old]
    return _joined([*block.lines, *deeper]), "\n".join(old), "replaced()", None


def _stale(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    at = chance.randrange(len(block.old))
    old = [*block.old[:at], block.old[at] + "  # as it was", *block.old[at + 1 :]]
    return _joined(block.lines), "\n".join(old), "\n".join(block.new), None


def _twice_but_for_trailing_space(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES))
    spaced = [[line + space for line in block.old[:-1]] + block.old[-1:] for space in ("  ", "\t")]
    return _joined([*spaced[0], "", *spaced[1]]), "\n".join(block.old), "replaced()", None


def _escapes_mixed(chance: random.Random) -> Made:
    block = _block(chance, chance.choice(SOURCES), accept=lambda old: '"' in old[0] and "\\" not in "".join(old))
    old = re.sub(r"([\"'`])", r"\\\1", "\n".join(block.old))
    return _joined(block.lines), old, 'print(\\"a\\", "b")', None


def _number_of_its_own(chance: random.Random) -> Made:
    """What stands in front is no line number: the search text is about a place that is not there."""
    number, step = chance.randint(5, 9000), chance.randint(2, 9)
    content, search, replace = chance.choice(
        [
            (f"names = {{{number}: 'web', {number + 1}: 'mail'}}\n", f"{number + step}: 'mail'", f"{number + step}: 'post'"),
            (f"key: 5\n- {number}: a\n", f"{number + step}: a", f"{number + step}: b"),
            (f"rows\n{number} | x | y\n", f"{number + step} | x", f"{number + step} | z"),
            ("scheme\nhttp: web\n", f"{number}: web", f"{number}: mail"),
            ("job:\n  name: timeout\n", f"{number}: timeout", f"{number}: limit"),
            ("routes\n\nweb\nmail\n", f"{number}: web", f"{number}: site"),
            ("first\nsecond\tx\n", f"{number}\tx", f"{number}\ty"),
            ("ports:\n  web\n  mail\n", f"  {number * 99}: web\n  {number * 99 + 1}: mail", f"  {number * 99}: web"),
        ]
    )
    return content.encode(), search, replace, None


def _numbers_mixed_in_the_replacement(chance: random.Random) -> Made:
    """Which of the numbers in the replacement belong to it, nobody can know."""
    port = chance.randint(1000, 9999)
    new = chance.choice([f"2: ports:\n3:   {port}: web\n{port + 7}: mail", f"2: ports:\n  {port}: web", f"{port}: web"])
    return b"# services\nports:\n  - web\n", "2: ports:\n3:   - web", new, None


CLEAR: dict[str, tuple[int, Callable[[random.Random], Made]]] = {
    "exact": (30, _exact),
    "line endings: the file has pairs": (20, _file_has_pairs),
    "line endings: the search text has pairs": (10, _search_has_pairs),
    "trailing whitespace in the file": (15, _file_has_trailing_space),
    "trailing whitespace in the search text": (15, _search_has_trailing_space),
    "indentation lost as a whole": (20, _indentation_lost),
    "indentation added as a whole": (15, _indentation_added),
    "quotes escaped": (15, _quotes_escaped),
    "line numbers copied into both texts": (20, _numbers_copied),
    "line numbers copied into the search text only": (5, _numbers_copied_once),
    "a final line ending the file does not have": (5, _no_final_ending),
    "straight for typographic quotes": (10, _straight_quotes),
}
UNCLEAR: dict[str, tuple[int, Callable[[random.Random], Made]]] = {
    "occurs twice": (5, _occurs_twice),
    "twice, but for indentation": (5, _twice_but_for_indentation),
    "a word differs": (5, _stale),
    "twice, but for trailing whitespace": (3, _twice_but_for_trailing_space),
    "escapes mixed in the replacement": (2, _escapes_mixed),
    "a number in front that is no line number": (12, _number_of_its_own),
    "numbers mixed in the replacement": (3, _numbers_mixed_in_the_replacement),
}


def table() -> str:
    """What became of each kind, as a Markdown table."""
    rows = ["| edits | number | applied as meant | applied otherwise | refused |", "|---|--:|--:|--:|--:|"]
    counts: dict[str, list[int]] = {}
    for sample in samples():
        count = counts.setdefault(sample.kind, [0, 0, 0, 0])
        result = outcome(sample)
        count[0] += 1
        count[3 if result is None else 1 if result == sample.meant else 2] += 1
    rows += [f"| {kind} | {' | '.join(map(str, count))} |" for kind, count in counts.items()]
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
