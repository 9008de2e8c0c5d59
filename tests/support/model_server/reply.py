"""What the played model answers: one reply, and what goes wrong on its way."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from yagent.protocol.messages import Usage

ChaosKind: TypeAlias = Literal[
    "status",  # an error answer: `status`, `headers`, `body`
    "reset_before_headers",  # the request is read, the connection is reset
    "hang_before_headers",  # the request is read, nothing comes back until the client leaves
    "reset_mid_stream",  # reset after `share` of the stream's bytes
    "close_mid_stream",  # the socket is closed inside a chunk after `share` of the bytes
    "reset_mid_character",  # reset in the middle of a character of several bytes
    "hang_mid_stream",  # silence after `share` of the stream's bytes
    "end_without_mark",  # the HTTP body ends properly, the protocol's end mark never came
    "error_in_stream",  # status 200, an error object after `share` of the events
    "truncated_call",  # arguments of the last call stop half way, then the stream ends as if all were well
    "html_page",  # status 200 and a page for people
    "wrong_content_type",  # a good stream under the name text/plain
    "keep_alives",  # `count` comment lines, `seconds` apart, before the first event
    "open_after_end",  # everything is sent, the connection stays open and silent
    "repeated_ids",  # all calls carry one id
]


@dataclass(frozen=True, slots=True)
class Chaos:
    """One thing that goes wrong, as data."""

    kind: ChaosKind
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    share: float = 0.5
    seconds: float = 5.0
    count: int = 3
    message: str = "upstream busy"
    code: int = 502

    @property
    def delivers(self) -> bool:
        """Whether the client still receives the whole reply."""
        return self.kind in {"wrong_content_type", "keep_alives", "open_after_end", "repeated_ids"}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `arguments` as text goes out as it is, whatever it is; an empty `id` is filled in."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says. `finish` "" is derived; other values are the neutral names of `yagent.llm.engine.Finish` or a provider's own.

    `usage` "measured" counts the request's bytes (a quarter each, cached = what the previous request shared); None reports nothing.
    `chaos` holds one entry per attempt: the first attempts meet them, the attempt after the last one gets the reply undisturbed.
    `pace` is the time between two events in seconds, `piece` the length of one text delta in characters.
    `raw` goes out as it is instead of everything above but `finish`: the whole stream of a provider with ways of its own.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    finish: str = ""
    usage: Usage | Literal["measured"] | None = "measured"
    chaos: Sequence[Chaos] = ()
    pace: float = 0.0
    piece: int = 24
    model: str = ""
    raw: str = ""

    @property
    def reason(self) -> str:
        """Why the reply ends, in neutral words."""
        return self.finish or ("tool_calls" if self.calls else "stop")


def call(name: str, **arguments: Any) -> Reply:
    """A reply that is one tool call."""
    return Reply(calls=(Call(name, arguments),))


def hand_over(conclusion: str, *, status: str = "ok", reason: str = "done", **more: Any) -> Reply:
    """A reply that ends its agent's run."""
    return call("agent_exit", reason=reason, handoff={"conclusion": conclusion, "status": status, **more})


def status(code: int, *, body: bytes | None = None, **headers: str) -> Chaos:
    """An error answer; header names are given with underscores (`retry_after="2"`)."""
    return Chaos("status", status=code, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


_RECOVERABLE: tuple[Chaos, ...] = (
    status(429, retry_after="2"),
    status(429),
    status(500),
    status(503, body=b"<html><body>Service Unavailable</body></html>"),
    Chaos("reset_before_headers"),
    Chaos("reset_mid_stream"),
    Chaos("close_mid_stream"),
    Chaos("reset_mid_character"),
    Chaos("hang_before_headers"),
    Chaos("hang_mid_stream"),
    Chaos("end_without_mark"),
    Chaos("error_in_stream"),
    Chaos("error_in_stream", code=429, share=0.0),
    Chaos("html_page"),
    Chaos("wrong_content_type"),
    Chaos("keep_alives", seconds=60.0, count=5),
    Chaos("open_after_end"),
)


def seeded_chaos(seed: int, *, rate: float = 0.4, most: int = 2) -> "ChaosSource":
    """A source of trouble that is the same for the same seed: per reply none or up to `most` failing attempts."""
    return ChaosSource(random.Random(seed), rate, most)


@dataclass(slots=True)
class ChaosSource:
    """Draws the trouble of each reply."""

    random: random.Random
    rate: float
    most: int

    def draw(self) -> tuple[Chaos, ...]:
        """The trouble of the next reply, possibly none."""
        troubles: list[Chaos] = []
        while len(troubles) < self.most and self.random.random() < self.rate:
            trouble = self.random.choice(_RECOVERABLE)
            troubles.append(trouble)
            if trouble.delivers:
                break
        return tuple(troubles)
