"""The result of a one-shot run in the three formats of `--output` (docs/headless.md has their schemas)."""

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from yagent.apps.cli.progress import one_line
from yagent.protocol.result import DeniedAccount, TaskResult
from yagent.protocol.stop import StopReason
from yagent.protocol.visible import visible

NAMED_FILES, NAME_WIDTH = 3, 60
FIELDS = (
    "answer",
    "status",
    "verification",
    "stop_reason",
    "exit_code",
    "session",
    "usage",
    "cost",
    "files_changed",
    "delegations",
    "denied",
    "warnings",
)


def as_data(result: TaskResult) -> dict[str, Any]:
    """The document of `--output json`; unknown usage and cost are null."""
    data = asdict(result)
    document = {name: data[name] for name in FIELDS}
    if result.error:
        document["error"] = result.error
    return document


def as_json(result: TaskResult) -> str:
    """One JSON document and a line end."""
    return json.dumps(as_data(result), ensure_ascii=False) + "\n"


def as_last_line(result: TaskResult) -> str:
    """The last line of `--output stream-json`."""
    return json.dumps({"type": "result", **as_data(result)}, ensure_ascii=False) + "\n"


def as_text(result: TaskResult) -> str:
    """The answer alone; nothing when there is none."""
    answer = result.answer
    return answer if not answer or answer.endswith("\n") else f"{answer}\n"


def account(result: TaskResult, *, quiet: bool = False) -> list[str]:
    """What a person reading standard error has to know beside the answer; with `quiet` only why there is none.

    Warnings are not repeated: progress has shown them while the task ran.
    """
    lines = []
    if result.error:
        lines.append(f"yagent: {result.error}")
    elif result.stop_reason not in (StopReason.AGENT_EXIT, StopReason.PLAIN_TEXT) and not quiet:
        lines.append(f"yagent: the task ended early ({result.stop_reason.value}).")
    if quiet:
        return [visible(line) for line in lines]
    if result.status == "partial" and not result.error:
        lines.append("yagent: the result is partial: the Director did not call the task complete.")
    denials = Counter(_denial(denied) for denied in result.denied)
    lines += [f"yagent: denied{f' {times} times' if times > 1 else ''}: {denial}" for denial, times in denials.items()]
    return [visible(line) for line in lines]


def summary(result: TaskResult, seconds: float) -> str:
    """The run in one line for people; what is unknown or nothing is left out."""
    parts = [f"session {result.session}", _changes(result), _proof(result), _counted(len(result.delegations), "delegation"), _spent(result)]
    return " · ".join([*filter(None, parts), _duration(seconds)])


def way_on(session: str, reason: StopReason, again: str = "") -> str:
    """The command that goes on with a session whose task ended so, with the options `again`: as it stands where it was stopped, else with
    new words; "" after an answer, and where new words would not help."""
    options = f" {again}" if again else ""
    if reason in (StopReason.CANCELLED, StopReason.PAUSED):
        return f"yagent resume {session}{options}"
    if reason in (StopReason.AGENT_EXIT, StopReason.PLAIN_TEXT, StopReason.CONTEXT_OVERFLOW):
        return ""
    return f'yagent -r {session}{options} -p "…"'


def _changes(result: TaskResult) -> str:
    names = [one_line(change.path, NAME_WIDTH) for change in result.files_changed[:NAMED_FILES]]
    more = ", …" if len(result.files_changed) > NAMED_FILES else ""
    return f"{_counted(len(result.files_changed), 'file')} changed ({', '.join(names)}{more})" if names else ""


def _proof(result: TaskResult) -> str:
    """Whether what was changed is proven, in the word of `--output json`."""
    return "" if result.verification == "none" or not result.files_changed else result.verification


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def _spent(result: TaskResult) -> str:
    """Tokens both ways, and the money."""
    usage = result.usage
    known = [] if usage is None else [count for count in (usage.total_input, usage.output) if count is not None]
    tokens = f"{_rounded(sum(known))} tokens" if known else ""
    cost = "" if result.cost is None else f"${result.cost:.2f}" if result.cost >= 0.01 or not result.cost else "under $0.01"
    return ", ".join(filter(None, (tokens, cost)))


def _rounded(count: int) -> str:
    for unit, factor in (("M", 1_000_000), ("k", 1000)):
        if count >= factor:
            return f"{count / factor:.0f}{unit}" if count >= 10 * factor else f"{count / factor:.1f}{unit}"
    return str(count)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _denial(denied: DeniedAccount) -> str:
    advice = f"; {denied.advice}" if denied.advice else ""
    return f"{denied.tool} {one_line(denied.subject)} ({_WHOSE[denied.answered_by]}{advice})"


_WHOSE = {"user": "by you", "nobody": "nobody could be asked", "rules": "by a rule", "cancelled": "stopped meanwhile"}
