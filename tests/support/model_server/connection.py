"""One HTTP/1.1 connection: requests in, planned answers out, byte by byte as planned."""

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tests.support.model_server.plan import Pause, Plan, Send, Stop


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request, whole. Header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Account(Protocol):
    """Where a connection notes what it sent."""

    sent: int
    left_early: bool


@dataclass(eq=False, slots=True)
class Connection:
    """A connection of one client."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def receive(self) -> HttpRequest | None:
        """The next request; None when the client closed."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise
            return None
        line, *rest = head.decode("latin-1").split("\r\n")
        method, path, _version = line.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (item.partition(":") for item in rest if item)}
        return HttpRequest(method, path, headers, await self._body(headers))

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await self.reader.readexactly(int(headers.get("content-length", "0")))
        parts = []
        while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readexactly(2)
        await self.reader.readuntil(b"\r\n")
        return b"".join(parts)

    async def perform(self, plan: Plan, account: Account) -> bool:
        """Send a planned answer; whether the connection may carry another request."""
        if plan.status:
            self._head(plan)
        for step in plan.steps:
            if isinstance(step, Stop):
                return await self._stop(step, plan, account)
            if isinstance(step, Pause):
                await self._pause(step.seconds, account)
                continue
            await self._send(step, plan, account)
        return True

    def abort(self) -> None:
        """Close at once."""
        self.writer.transport.abort()

    def _head(self, plan: Plan) -> None:
        framing = "transfer-encoding: chunked" if plan.length is None else f"content-length: {plan.length}"
        lines = [f"HTTP/1.1 {plan.status} Played", framing, *(f"{name}: {value}" for name, value in plan.headers.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def _pause(self, seconds: float, account: Account) -> None:
        """Let time pass, unless the client leaves."""
        try:
            async with asyncio.timeout(seconds):
                account.left_early = not await self.reader.read(1)
        except TimeoutError:
            return
        raise ConnectionResetError("the client left, or sent something out of turn")

    async def _send(self, step: Send, plan: Plan, account: Account) -> None:
        if self.writer.is_closing() or self.reader.at_eof():
            account.left_early = True
            raise ConnectionResetError("the client left")
        self.writer.write(step.data if plan.length is not None else b"%x\r\n%b\r\n" % (len(step.data), step.data))
        account.sent += len(step.data)
        try:
            await self.writer.drain()
        except ConnectionError:
            account.left_early = True
            raise

    async def _stop(self, stop: Stop, plan: Plan, account: Account) -> bool:
        match stop.how:
            case "end":
                if plan.length is None:
                    self.writer.write(b"0\r\n\r\n")
                    await self.writer.drain()
                return True
            case "hang":
                account.left_early = not await self.reader.read(1)
            case "close":
                self.writer.write(b"400\r\nhalf of a chunk")
                await self.writer.drain()
                self.writer.close()
            case "reset":
                await self.writer.drain()
                raw = self.writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.abort()
        return False
