"""The server as a process of its own: `python -m tests.support.model_server --script package.module:name`.

Prints `PORT n` when it listens. On SIGTERM or SIGINT it writes the log (`--log`, JSON lines) and exits 1 when a rule was broken.
"""

import argparse
import asyncio
import base64
import importlib
import json
import signal
import sys
from pathlib import Path

from tests.support.model_server.server import Exchange, ModelServer


async def serve(script: str, log: Path | None, key: str) -> int:
    """Serve until a signal comes; the exit code."""
    module, _, name = script.partition(":")
    server = ModelServer(getattr(importlib.import_module(module), name), key=key)
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    async with server:
        print(f"PORT {server.port}", flush=True)
        await over.wait()
    if log is not None:
        _write(log, server)
    for violation in server.violations:
        print(f"request {violation.exchange}: [{violation.rule}] {violation.message}", file=sys.stderr)
    return 1 if server.violations else 0


def _write(log: Path, server: ModelServer) -> None:
    summary = {"connections": server.connections, "peak_in_flight": server.peak_in_flight, "kept": server.kept}
    log.write_text("\n".join(json.dumps(line) for line in [summary, *map(_logged, server.exchanges)]) + "\n", encoding="utf-8")


def _logged(exchange: Exchange) -> dict[str, object]:
    return {
        "number": exchange.number,
        "connection": exchange.connection,
        "path": exchange.path,
        "status": exchange.status,
        "received": exchange.received,
        "trouble": exchange.trouble,
        "headers": dict(exchange.headers),
        "body": base64.b64encode(exchange.raw).decode("ascii"),
    }


def main() -> int:
    """Parse and serve."""
    parser = argparse.ArgumentParser(prog="model_server", description="a strict played model server")
    parser.add_argument("--script", required=True, help="module:name of a script")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--key", default="")
    arguments = parser.parse_args()
    return asyncio.run(serve(arguments.script, arguments.log, arguments.key))


if __name__ == "__main__":
    sys.exit(main())
