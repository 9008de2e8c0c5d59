"""Which trouble a run meets, by its seed: the kinds take turns, so that each is met equally often in each dialect."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.support.model_server import Chaos, status

Maker = Callable[[random.Random], Chaos]
PAGE = b"<!DOCTYPE html><html><body><h1>Bad Gateway</h1></body></html>"
DIALECTS = ("openai", "responses", "anthropic")
FOR_EVER = 400  # attempts: more than any run makes of one reply


KINDS: Mapping[str, Maker] = {
    "429 with Retry-After": lambda dice: status(429, retry_after=str(dice.randint(0, 40))),
    "429 without": lambda dice: status(429),
    "500": lambda dice: status(500),
    "overloaded": lambda dice: status(dice.choice((503, 529))),
    "HTML error page": lambda dice: status(dice.choice((502, 504)), body=PAGE),
    "HTML page in a 200": lambda dice: Chaos("html_page"),
    "reset before headers": lambda dice: Chaos("reset_before_headers"),
    "reset mid-stream": lambda dice: Chaos("reset_mid_stream", share=dice.random()),
    "reset mid-character": lambda dice: Chaos("reset_mid_character", share=dice.random()),
    "closed mid-stream": lambda dice: Chaos("close_mid_stream", share=dice.random()),
    "hang before headers": lambda dice: Chaos("hang_before_headers"),
    "hang mid-stream": lambda dice: Chaos("hang_mid_stream", share=dice.random()),
    "end without its mark": lambda dice: Chaos("end_without_mark"),
    "error object in a 200": lambda dice: Chaos("error_in_stream", share=dice.random(), code=dice.choice((429, 500, 502, 529))),
    "truncated tool call": lambda dice: Chaos("truncated_call"),
    "wrong content type": lambda dice: Chaos("wrong_content_type"),
    "keep-alives for minutes": lambda dice: Chaos("keep_alives", seconds=60.0, count=dice.randint(2, 10)),
    "open after its end": lambda dice: Chaos("open_after_end"),
    "repeated ids": lambda dice: Chaos("repeated_ids"),
}
HARMLESS = frozenset({"wrong content type", "open after its end", "repeated ids"})  # nothing has to be tried again


SLOW = frozenset({"429 without", "500", "overloaded", "HTML error page"})  # nobody says how long to wait, so it is ten seconds at least


@dataclass(slots=True)
class Weather:
    """The trouble of one run: mostly of one kind, at times one of the `others`; from reply number `lasting` (from 0) on, for ever.

    `rate` is the share of attempts that meet trouble. `is_short` is for real time: servers that ask for patience ask for little of it.
    """

    seed: int
    kind: str
    dialect: str
    lasting: int | None
    timeout: float | None
    dice: random.Random
    rate: float = 0.4
    others: Sequence[str] = tuple(KINDS)
    is_short: bool = False
    replies: int = 0
    met: list[str] = field(default_factory=list)

    def draw(self) -> tuple[Chaos, ...]:
        """The trouble of the next reply, attempt by attempt."""
        self.replies += 1
        if self.lasting is not None and self.replies > self.lasting:
            return tuple(self._made(self.kind, endless=True) for _ in range(FOR_EVER))
        troubles: list[Chaos] = []
        while len(troubles) < 3 and self.dice.random() < self.rate:
            kind = self.kind if self.dice.random() < 0.7 else self.dice.choice(self.others)
            troubles.append(self._made(kind))
            self.met.append(kind)
            if troubles[-1].delivers or kind == "truncated tool call":
                break
        return tuple(troubles)

    def _made(self, kind: str, *, endless: bool = False) -> Chaos:
        made = KINDS[kind](self.dice)
        if made.kind == "keep_alives":
            return replace(made, seconds=0.5 if self.is_short else made.seconds, count=30 if endless else made.count)
        return replace(made, headers={"retry-after": "0"}) if self.is_short and made.kind == "status" else made


def weather(seed: int) -> Weather:
    """The same for the same seed. In every fourth run the trouble of its kind never ends; every third has a time limit."""
    dice = random.Random(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    round_number = seed // len(KINDS)
    lasting = dice.randrange(14) if round_number % 4 == 3 and kind not in HARMLESS else None
    timeout = float(dice.randrange(120, 3600)) if seed % 3 == 0 else None
    return Weather(seed, kind, DIALECTS[(seed + round_number) % 3], lasting, timeout, dice)
