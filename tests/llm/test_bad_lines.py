"""A task of ten steps over a bad line: the right answer or an honest error, never a half answer, and never past the limits."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.llm.conftest import FORMATS, EngineMaker, dialogue, events_of
from tests.support.model_server import Agent, Cast, ModelServer, Reply, RequestView, call, chaotic, seeded_chaos
from tests.support.virtual_time import VirtualClock
from yagent.llm.engine import CallOptions, Completed, ModelError, TextDelta
from yagent.llm.inflight import InFlightGate
from yagent.protocol.messages import ToolResult, result_message

STEPS = 10


async def ten_steps(agent: Agent) -> str:
    """Reads ten files and says what it read."""
    said = [await agent.call("read_file", path=f"f{number}", text=f"Schritt {number}: größer") for number in range(STEPS)]
    return " ".join(said)


def greeting(_view: RequestView) -> Reply:
    """The script of the server in a process of its own."""
    return call("read_file", path="x")


async def run_task(make_engine: EngineMaker, api_format: str) -> str:
    """The task as the loop would do it."""
    opened = dialogue(make_engine(api_format))
    while True:
        events = await events_of(opened)
        done = events[-1]
        assert isinstance(done, Completed)
        if not done.message.calls:
            return done.message.text
        opened.append(done.message)
        opened.append(result_message(*(ToolResult(item.id, item.name, item.arguments) for item in done.message.calls)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_task_over_a_bad_line_ends_right_or_honestly(
    seed: int, api_format: str, make_engine: EngineMaker, model_server: ModelServer, gate: InFlightGate, clock: VirtualClock
) -> None:
    model_server.script = chaotic(Cast({"Director": ten_steps}), seeded_chaos(seed))
    try:
        answer = await run_task(make_engine, api_format)
    except ModelError as error:
        answer = str(error)
    # a page before anything else is a wrong address; all other trouble passes
    assert "web page" in answer or all(f"f{number}" in answer for number in range(STEPS))
    assert model_server.kept == 1.0
    assert gate.in_flight == 0
    assert clock.now() < 1000 + (STEPS + 1) * 900


async def test_words_are_never_heard_twice_in_the_attempt_that_counts(make_engine: EngineMaker, model_server: ModelServer) -> None:
    model_server.script = chaotic(lambda view: Reply(text="einmal und nie wieder"), seeded_chaos(3, rate=0.9, most=4))
    events = await events_of(dialogue(make_engine()), CallOptions())
    starts = [index for index, event in enumerate(events) if type(event).__name__ == "Sent"]
    heard = "".join(event.text for event in events[starts[-1] :] if isinstance(event, TextDelta))
    assert heard == "einmal und nie wieder"


@pytest.mark.real_time
async def test_the_server_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    root = str(Path(__file__).parents[2])
    arguments = ["-m", "tests.support.model_server", "--script", "tests.llm.test_bad_lines:greeting", "--log", str(log)]
    server = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, cwd=root, env={"PYTHONPATH": f"{root}/src:{root}"}
    )
    assert server.stdout is not None
    port = int((await server.stdout.readline()).split()[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
    assert b"200" in await reader.readline()
    server.terminate()
    assert await server.wait() == 0
    writer.close()
    assert "/v1/models" in log.read_text(encoding="utf-8")
