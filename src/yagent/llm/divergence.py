"""Where a replay leaves its recording: what is compared, and what is taken for the same although it reads differently."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from yagent.protocol.messages import ToolResult
from yagent.records import dataclass

What: TypeAlias = Literal["missing", "error flag", "text", "calls", "told", "over", "unknown", "unplayed", "end"]
Places: TypeAlias = Sequence[tuple[str, str]]
_Mask: TypeAlias = tuple[re.Pattern[str], str]

_EXCERPT = 200
_LEAD = 40
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

# What differs from run to run without meaning anything, the longer forms first.
_MASKS: tuple[_Mask, ...] = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?Z| ?[+-]\d\d:?\d\d)?"), "<moment>"),
    (re.compile(rf"\b{_DAY},? (?:{_MONTH} +\d{{1,2}}|\d{{1,2}} {_MONTH}),? [\d: ]+\d( [+-]\d{{4}})?"), "<moment>"),
    (re.compile(rf"\b{_MONTH} +\d{{1,2}} +(?:\d\d:\d\d|\d{{4}})\b"), "<moment>"),
    (re.compile(r"(?:/private)?/(?:var/folders/\w+/\w+/T|var/tmp|tmp)/[^\s'\":,;)\]}]+"), "<temporary>"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}\b"), "<address>"),
    (re.compile(r"\b(127\.0\.0\.1|localhost|\[::1\]):\d{2,5}\b"), r"\1:<port>"),
    (re.compile(r"\b(pid|process(?: id)?|job)([ =:#(]+)\d+", re.IGNORECASE), r"\1\2<process>"),
    # a commit's id holds the moment it was made: as git names it when it makes, lists or moves to one
    (re.compile(r"^(\[[^\]\n]+ )[0-9a-f]{7,40}\]", re.MULTILINE), r"\1<commit>]"),
    (re.compile(r"^((?:[*|\\/_ ]+ )?(?:commit |HEAD is now at )?)[0-9a-f]{40}(?![0-9a-f])", re.MULTILINE), r"\1<commit>"),
    (re.compile(r"^((?:[*|\\/_ ]+ )?(?:HEAD is now at )?)(?=[0-9a-f]*\d)[0-9a-f]{7,12}(?= \S)", re.MULTILINE), r"\1<commit>"),
    (re.compile(r"\b\d+(?:\.\d+)?( ?)(ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b"), r"<duration>"),
    (re.compile(r"\b\d+:\d\d(:\d\d)?(\.\d+)\b"), "<duration>"),
    (re.compile(r"\brun#\d+"), "run#<number>"),  # commands that were cut short, or made again, are counted too
    (re.compile(r"\n?\[commands do not get these[^\]\n]*\]"), ""),  # which depends on the environment
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)

_SENTENCES: Final[Mapping[What, str]] = {
    "missing": "the result of {call} is missing: was {was}",
    "error flag": "the result of {call} is not as recorded: was {was}, is {now}",
    "text": "the result of {call} is not as recorded: was {was}, is {now}",
    "calls": "the model does something else: was {was}, is {now}",
    "told": "what the agent is told next is not as recorded: was {was}, is {now}",
    "over": "the agent asks for another reply, but its record is over",
    "unknown": "the record has no such agent with this task: {now}",
    "unplayed": "the record goes on, but the agent does not: {was} were never asked for",
    "end": "the task does not end as recorded: was {was}, is {now}",
}


@dataclass(frozen=True, slots=True)
class Divergence:
    """One thing that is not what the recording has: a result of a tool, or one of the other kinds of `What`.

    `agent` is its name for people, `step` the number of its reply in its conversation (from 1, 0 where there is none). `recorded` and
    `now` are normalised and shortened around the difference; `tool` and `call_id` are "" where no result is meant.
    """

    agent: str
    tool: str
    call_id: str
    what: What
    recorded: str = ""
    now: str = ""
    step: int = 0

    def __str__(self) -> str:
        """One plain line."""
        place = f"{self.agent}, step {self.step}" if self.step else self.agent
        call = f"{self.tool} ({self.call_id})"
        return f"{place}: {_SENTENCES[self.what].format(call=call, was=_quoted(self.recorded), now=_quoted(self.now))}"


def compare_results(agent: str, expected: Sequence[ToolResult], results: Sequence[ToolResult], places: Places = ()) -> list[Divergence]:
    """How the results of one batch differ from the recorded ones, in call order. What has no recorded result is compared with nothing."""
    now = {result.call_id: result for result in results}
    found = (_difference(agent, recorded, now.get(recorded.call_id), places) for recorded in expected)
    return [item for item in found if item is not None]


def different(recorded: str, now: str, places: Places = ()) -> tuple[str, str] | None:
    """Both texts normalised, cut to where they begin to differ; None when they say the same."""
    before, after = normalise(recorded, places), normalise(now, places)
    if before == after:
        return None
    pairs = enumerate(zip(before, after, strict=False))
    same = next((index for index, (left, right) in pairs if left != right), min(len(before), len(after)))
    start = max(0, same - _LEAD)
    return before[start : start + _EXCERPT], after[start : start + _EXCERPT]


def normalise(text: str, places: Places = ()) -> str:
    """Text without what differs from run to run: moments, durations, temporary paths, process ids, addresses, ids of commits, and the
    given places."""
    for place, name in sorted(places, key=lambda pair: -len(pair[0])):
        text = text.replace(place, name)
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return text.strip()


def excerpt(text: str) -> str:
    """The beginning of a text."""
    return text[:_EXCERPT]


def _difference(agent: str, recorded: ToolResult, result: ToolResult | None, places: Places) -> Divergence | None:
    if result is None:
        return Divergence(agent, recorded.name, recorded.call_id, "missing", recorded=excerpt(recorded.text))
    if recorded.is_error != result.is_error:
        told = excerpt(normalise((result if result.is_error else recorded).text, places))
        was, now = ("success", f"error: {told}") if result.is_error else (f"error: {told}", "success")
        return Divergence(agent, recorded.name, recorded.call_id, "error flag", was, now)
    texts = different(recorded.text, result.text, places)
    return None if texts is None else Divergence(agent, recorded.name, recorded.call_id, "text", *texts)


def _quoted(text: str) -> str:
    return repr(text) if text else "nothing"
