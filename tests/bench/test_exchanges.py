"""From a log of the model server to numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.bench.exchanges import prompt_of, read_log, share_kept

TOOLS = [{"type": "function", "function": {"name": "read_file"}}]
SYSTEM = {"role": "system", "content": "You read."}


def request(*messages: dict[str, Any], tools: list[Any] | None = None) -> str:
    """The body of a request."""
    return json.dumps({"messages": [SYSTEM, *messages], "tools": TOOLS if tools is None else tools})


def told(number: int) -> dict[str, Any]:
    """A message."""
    return {"role": "user", "content": f"message {number}"}


def log_of(folder: Path, *exchanges: tuple[int, float, float, str]) -> Path:
    """A log with connections, moments received and answered, and bodies."""
    names = ("connection", "received", "answered", "body")
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(dict(zip(names, each, strict=True))) + "\n" for each in exchanges), encoding="utf-8")
    return log


def test_a_request_that_continues_another_keeps_all_of_it() -> None:
    assert share_kept(prompt_of(request(told(1))), prompt_of(request(told(1), told(2)))) == 1.0


@pytest.mark.parametrize("after", [request(told(2)), request(told(1), tools=[]), request()])
def test_a_request_that_changes_what_was_sent_keeps_less(after: str) -> None:
    assert share_kept(prompt_of(request(told(1))), prompt_of(after)) < 1.0


def test_tools_come_before_messages_as_a_cache_reads_them() -> None:
    assert share_kept(prompt_of(request(told(1))), prompt_of(request(told(1), tools=[{}]))) < 0.1


def test_gaps_are_from_an_answer_to_the_next_request(tmp_path: Path) -> None:
    bodies = [request(*map(told, range(count))) for count in range(3)]
    seen = read_log(log_of(tmp_path, (1, 10.0, 10.5, bodies[0]), (1, 10.51, 11.0, bodies[1]), (2, 11.03, 12.0, bodies[2])))
    assert seen.gaps == pytest.approx((10, 30))
    assert (seen.requests, seen.connections, seen.first_request, seen.kept) == (3, 2, 10.0, 1.0)
    assert seen.last_bytes == len(bodies[2].encode())


def test_a_run_of_one_request_has_no_gap(tmp_path: Path) -> None:
    seen = read_log(log_of(tmp_path, (1, 1.0, 2.0, request())))
    assert (seen.gaps, seen.kept, seen.first_gap, seen.last_gap) == ((), None, None, None)


def test_a_run_without_requests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no request arrived"):
        read_log(log_of(tmp_path))
