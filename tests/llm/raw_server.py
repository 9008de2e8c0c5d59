"""A socket that says exactly what a test tells it: for what no well-behaved HTTP server would do."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from tests.support.model_server.connection import Connection, HttpRequest

Answer = Callable[[HttpRequest, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool | None]]


@dataclass(slots=True)
class RawServer:
    """Calls `answer` for each request; a connection goes on while it returns True."""

    answer: Answer
    context: ssl.SSLContext | None = None
    requests: list[HttpRequest] = field(default_factory=list)
    connections: int = 0
    left: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.context)
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        connection = Connection(self.connections, reader, writer)
        try:
            while (request := await connection.receive()) is not None:
                self.requests.append(request)
                if not await self.answer(request, reader, writer):
                    break
                await writer.drain()
            else:
                self.left += 1
        except asyncio.CancelledError:
            pass  # the server closes; asyncio's own callback cannot bear a cancelled handler
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left += 1
        finally:
            writer.close()
            self._tasks.discard(task)


def says(*parts: bytes, keep: bool = True) -> Answer:
    """An answer of fixed bytes."""

    async def answer(_request: HttpRequest, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.writelines(parts)
        await writer.drain()
        return keep

    return answer


def whole(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A reply with its length."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(*chunks: bytes, end: bool = True, headers: str = "content-type: text/event-stream\r\n") -> bytes:
    """A reply in chunks."""
    head = f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n{headers}\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + (b"0\r\n\r\n" if end else b"")
