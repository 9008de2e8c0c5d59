"""From what the model server saw to numbers: gaps between steps, connections, and how much of each request the next one kept."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

EDGE = 20  # steps at either end of a run that are looked at


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run looked like from the server. Moments in seconds of the monotonic clock, gaps in milliseconds.

    `kept` is the smallest share of a request (tools, system prompt, messages, in this order) with which the following request begins.
    """

    requests: int
    connections: int
    first_request: float
    gaps: tuple[float, ...]
    kept: float | None
    first_bytes: int
    last_bytes: int

    @property
    def first_gap(self) -> float | None:
        """Median over the first steps."""
        return median(self.gaps[:EDGE]) if self.gaps else None

    @property
    def last_gap(self) -> float | None:
        """Median over the last steps."""
        return median(self.gaps[-EDGE:]) if self.gaps else None


def read_log(log: Path) -> Seen:
    """Read a log of the model server.

    Raises:
        ValueError: no request arrived.
    """
    exchanges = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    if not exchanges:
        raise ValueError(f"{log}: no request arrived")
    prompts = [prompt_of(exchange["body"]) for exchange in exchanges]
    return Seen(
        requests=len(exchanges),
        connections=len({exchange["connection"] for exchange in exchanges}),
        first_request=exchanges[0]["received"],
        gaps=tuple((after["received"] - before["answered"]) * 1000 for before, after in pairwise(exchanges)),
        kept=min((share_kept(before, after) for before, after in pairwise(prompts)), default=None),
        first_bytes=len(exchanges[0]["body"].encode()),
        last_bytes=len(exchanges[-1]["body"].encode()),
    )


def prompt_of(body: str) -> bytes:
    """A request in the order in which a provider's cache reads it: tools, then messages, the system prompt first among them."""
    request = json.loads(body)
    return b"\n".join(map(_compact, [request.get("tools"), *request["messages"]]))


def share_kept(before: bytes, after: bytes) -> float:
    """The share of `before` with which `after` begins."""
    if after.startswith(before):
        return 1.0
    differing = (index for index, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
    return next(differing, min(len(before), len(after))) / len(before)


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
