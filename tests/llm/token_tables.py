"""How far the predicted size of the next request is from the reported one: `python -m tests.llm.token_tables` prints the tables.

Sessions over real HTTP against the played model server, which counts every request with the family's own vocabulary. A request is predicted
before it is sent, as the loop does it: what the last reply reported, and an estimate of what was added since.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.llm.token_families import Family, deepseek, o200k
from tests.llm.token_texts import KINDS, Pieces
from tests.support.model_server import Call, ModelServer, Reply, RequestView
from tests.support.source_archives import Offline
from yagent.compression.measure import Prefix
from yagent.llm.dialects.port import WireModel, WireSettings
from yagent.llm.dialects.table import dialect_for
from yagent.llm.endpoint import Endpoint
from yagent.llm.engine import CallOptions, Completed, Head
from yagent.llm.http_engine import EngineServices, EngineSettings, HttpEngine
from yagent.llm.inflight import InFlightGate
from yagent.llm.quirks_table import quirks_for
from yagent.llm.token_calibration import CalibrationStore
from yagent.llm.token_ranks import exact_counter
from yagent.llm.tokens import TokenCounter
from yagent.llm.transport.http import HttpClients, HttpSettings
from yagent.protocol.messages import Message, ModelIdentity, ToolDeclaration, ToolResult, Usage, result_message, user_message
from yagent.runtime.clock import Clock, SystemClock

STEPS = 60
SYSTEM = "You are the Director.\n" + "You plan, act with tools, look at what came of it and answer in words when the work is done. " * 20
TOOLS = tuple(
    ToolDeclaration(
        name,
        f"{name.replace('_', ' ').capitalize()} below the workspace. " * 5,
        {"type": "object", "properties": {"path": {"type": "string"}}},
    )
    for name in ("read_file", "list_dir", "run_bash", "search_by_regex")
)
_AROUND_MESSAGE, _AROUND_CALL, _AROUND_REPLY = 4, 6, 3  # tokens the played provider's chat format adds; not those our estimate assumes


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of predictions, in the order of the requests; `whole` is that of the last request estimated without any report."""

    values: tuple[float, ...]
    whole: float

    def at(self, share: float) -> float:
        """The absolute error that `share` of the requests stay below."""
        ordered = sorted(map(abs, self.values))
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


class CountingServer:
    """Answers with steps of a session and reports what the family's vocabulary counts."""

    def __init__(self, family: Family, pieces: Pieces) -> None:
        self._count = family.count
        self._pieces = pieces
        self._steps = 0

    def reply(self, view: RequestView) -> Reply:
        """The next step."""
        self._steps += 1
        said, path = self._pieces.take(20, 300), f"src/module_{self._steps}.py"
        output = self._count(said) + self._count("read_file") + self._count(json.dumps({"path": path})) + _AROUND_CALL + _AROUND_REPLY
        return Reply(text=said, calls=(Call("read_file", {"path": path}),), usage=Usage(self._input(view), output))

    def _input(self, view: RequestView) -> int:
        total = _AROUND_REPLY + self._count(view.system) + self._count(json.dumps(view.body.get("tools", [])))
        for entry in view.entries:
            total += _AROUND_MESSAGE + self._count(entry.text) + sum(self._count(result.text) for result in entry.results)
            total += sum(self._count(call.name) + self._count(call.arguments) + _AROUND_CALL for call in entry.calls)
        return total


async def session(family: Family, kind: str, seed: int, counter: TokenCounter, clock: Clock) -> Errors:
    """One session of `STEPS` steps."""
    pieces = Pieces(kind, seed)
    prefix = Prefix(counter, counter.of_head(SYSTEM, TOOLS))
    errors, whole = [], 0.0
    async with ModelServer(CountingServer(family, Pieces(kind, seed + 100)).reply) as server, HttpClients(HttpSettings(), clock) as clients:
        dialogue = _engine(family, server.url, EngineServices(clients, InFlightGate(8), clock)).open(Head("c1", SYSTEM, TOOLS))
        messages: list[Message] = [user_message(pieces.take(100, 1000))]
        dialogue.append(messages[0])
        for _ in range(STEPS):
            predicted = prefix.size(messages)
            reply = [event async for event in dialogue.stream(CallOptions())][-1]
            assert isinstance(reply, Completed)
            assert reply.usage is not None
            assert reply.usage.total_input is not None
            errors.append(predicted / reply.usage.total_input - 1)
            whole = prefix.void().size(messages) / reply.usage.total_input - 1
            if told := prefix.told(messages, reply.usage):
                counter.observe(*told)
            call = reply.message.calls[0]
            messages.append(reply.message)
            prefix = prefix.measured(messages, reply.usage)
            messages.append(result_message(ToolResult(call.id, call.name, pieces.take(100, 9000))))
            for message in messages[-2:]:
                dialogue.append(message)
        server.check()
    return Errors(tuple(errors), whole)


async def table(family: Family, *, is_exact: bool, place: Path, clock: Clock) -> dict[str, tuple[Errors, Errors]]:
    """For each kind the errors of a first session with a new model, and of a later one with what the first has learned."""
    found = {}
    for kind in KINDS:
        store = CalibrationStore(place / f"{family.name}-{kind}.json", clock)
        sessions = []
        for seed in (1, 2):
            counter = TokenCounter(f"openai:played:{family.model}", store)
            if is_exact and family.ranks is not None:
                await counter.load((family.ranks,))
                assert await exact_counter(family.model, (family.ranks,)) is not None
            sessions.append(await session(family, kind, seed, counter, clock))
        found[kind] = (sessions[0], sessions[1])
    return found


def rendered(title: str, rows: dict[str, tuple[Errors, Errors]]) -> str:
    """A table in Markdown."""
    heads = [f"{name}: p50 | p95 | largest | all of it, without a report" for name in ("new model", "calibrated")]
    lines = [f"**{title}**", "", f"| session | {' | '.join(heads)} |", f"{'|---' * 9}|"]
    for kind, (new, later) in rows.items():
        shown = [
            text for errors in (new, later) for text in (*(f"{errors.at(share):.1%}" for share in (0.5, 0.95, 1.0)), f"{errors.whole:+.1%}")
        ]
        lines.append(f"| {kind} | {' | '.join(shown)} |")
    return "\n".join(lines)


async def tables(place: Path, clock: Clock) -> dict[str, dict[str, tuple[Errors, Errors]]]:
    """Every table by its title. Raises `Offline`."""
    openai, other = await o200k(place), deepseek(place)
    return {
        "o200k, exact": await table(openai, is_exact=True, place=place, clock=clock),
        "o200k, estimated": await table(openai, is_exact=False, place=place, clock=clock),
        "deepseek, estimated": await table(other, is_exact=False, place=place, clock=clock),
    }


def _engine(family: Family, url: str, services: EngineServices) -> HttpEngine:
    model = WireModel(ModelIdentity("played", family.model, "openai"), WireSettings(), quirks_for("openai", "127.0.0.1", family.model))
    endpoint = Endpoint("played", url, "openai", lambda: "sk-played", "the variable PLAYED_API_KEY")
    return HttpEngine(model, dialect_for("openai"), endpoint, EngineSettings(), services)


def main() -> int:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(sys.argv[1] if len(sys.argv) > 1 else folder)
        try:
            found = asyncio.run(tables(place, SystemClock()))
        except Offline as reason:
            print(f"no tables: {reason}")
            return 0
    print("\n\n".join(rendered(title, rows) for title, rows in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
