"""A model that plays a script on loopback: Chat Completions, streamed, no thinking time. Whatever time passes is the client's own.

python model_server.py SCRIPT LOG prints the port it listens on. SCRIPT is a JSON object {"calls": [[tool, arguments], …], "answer": text}:
the k-th request is answered with the k-th call, a request after the last one with the text. Nothing is written while it serves: the log,
one JSON object per request, appears when the process is asked to end (SIGTERM). Moments are seconds of the monotonic clock, which all
processes of a machine share.
"""

import asyncio
import gc
import json
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HEADER_END = b"\r\n\r\n"
REPLY_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PIECES = 3  # in which the arguments of a call arrive


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request. `received`: its last byte was here; `answered`: the last byte of the reply was handed to the system."""

    connection: int
    received: float
    answered: float
    body: str


class ModelServer:
    """Serves one script and keeps what it saw."""

    def __init__(self, calls: list[tuple[str, dict[str, Any]]], answer: str) -> None:
        replies = [_call_events(number, tool, arguments) for number, (tool, arguments) in enumerate(calls)]
        self._replies = [_chunked([*reply, _usage(), "[DONE]"]) for reply in replies]
        self._answer = _chunked([_delta({"role": "assistant", "content": answer}), _delta({}, "stop"), _usage(), "[DONE]"])
        self._connections = 0
        self._seen: list[tuple[int, float, float, bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until the client closes it."""
        self._connections += 1
        connection = self._connections
        try:
            while True:
                body = await _request_body(reader)
                received = time.monotonic()
                turn = len(self._seen)
                writer.write(REPLY_HEAD + (self._replies[turn] if turn < len(self._replies) else self._answer))
                self._seen.append((connection, received, time.monotonic(), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def log(self) -> str:
        """All exchanges, one JSON object per line."""
        exchanges = (Exchange(connection, received, answered, body.decode()) for connection, received, answered, body in self._seen)
        return "".join(json.dumps(asdict(exchange)) + "\n" for exchange in exchanges)


async def _request_body(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(HEADER_END)).decode("latin-1").lower()
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    return await reader.readexactly(int(fields["content-length"]))


def _delta(delta: dict[str, Any], finish: str | None = None) -> str:
    return json.dumps({"id": "bench", "model": "bench-model", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _usage() -> str:
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020, "prompt_tokens_details": {"cached_tokens": 0}}
    return json.dumps({"id": "bench", "model": "bench-model", "choices": [], "usage": usage})


def _call_events(number: int, tool: str, arguments: dict[str, Any]) -> list[str]:
    """A call as providers stream it: its name first, then its arguments in pieces."""
    text = json.dumps(arguments)
    size = -(-len(text) // PIECES)
    head = {"index": 0, "id": f"call_{number:04}", "type": "function", "function": {"name": tool, "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": text[start : start + size]}} for start in range(0, len(text), size)]
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [head]},
        *({"tool_calls": [piece]} for piece in pieces),
    ]
    return [*(_delta(delta) for delta in deltas), _delta({}, "tool_calls")]


def _chunked(events: list[str]) -> bytes:
    """Server-sent events, each in an HTTP chunk of its own."""
    frames = [f"data: {event}\n\n".encode() for event in events]
    return b"".join(b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames) + b"0\r\n\r\n"


async def serve(model: ModelServer) -> None:
    """Serve until the process is asked to end."""
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, limit=1 << 26)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    gc.freeze()
    gc.disable()  # a collection of ours inside a gap would be charged to the client
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    server.close()


def main(script: Path, log: Path) -> None:
    """Play the script, then write the log."""
    played = json.loads(script.read_text(encoding="utf-8"))
    model = ModelServer(played["calls"], played["answer"])
    asyncio.run(serve(model))
    log.write_text(model.log(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
