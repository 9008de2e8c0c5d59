"""One measured run of one program."""

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scripts.bench.exchanges import Seen, read_log
from scripts.bench.installation import BLOCK_LINES, Installation

HERE = Path(__file__).resolve().parent
TASK = "Read data/blocks.txt block by block, then say that it is done."
ANSWER = "All blocks are read."
MEMORY_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Program:
    """What is measured. `{url}` in its words and variables is the address of the model server."""

    name: str
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `start` is in seconds, from before the process was started until its first request had arrived; `memory` its peak in MB."""

    start: float
    memory: float | None
    seen: Seen


def programs(made: Installation) -> tuple[Program, Program]:
    """The floor, and yagent."""
    floor = Program("floor (bare httpx2 loop)", (str(made.python), str(HERE / "floor_httpx2.py"), TASK), (("BENCH_BASE_URL", "{url}"),))
    provider = (("YAGENT_BASE_URL", "{url}"), ("YAGENT_MODEL", "bench-model"))
    return floor, Program("yagent", (str(made.yagent), "-y", "--quiet", "--max-steps", "250", "-p", TASK), provider)


def run_program(made: Installation, program: Program, steps: int) -> Run:
    """Run a program against a model that asks for `steps` blocks of the file, each in a step of its own.

    Raises:
        RuntimeError: it failed, or it did not do what the model asked for.
    """
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        with _model(Path(folder) / "script.json", log, steps) as url:
            environment = made.environment() | {name: value.format(url=url) for name, value in program.environment}
            begun = time.monotonic()
            process = subprocess.Popen(
                program.words,
                cwd=made.repository,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            watch = _MemoryWatch(process.pid) if steps else None
            output, _ = process.communicate()
        if process.returncode or output.decode().strip() != ANSWER:
            raise RuntimeError(f"{program.name} ended with {process.returncode}: {output.decode()}")
        seen = read_log(log)
    if seen.requests != steps + 1:
        raise RuntimeError(f"{program.name} made {seen.requests} requests for {steps} steps")
    return Run(seen.first_request - begun, None if watch is None else watch.highest(), seen)


def run_time(words: Sequence[str], made: Installation) -> float:
    """Seconds a command takes from start to end."""
    begun = time.monotonic()
    subprocess.run(words, cwd=made.repository, env=made.environment(), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


@contextlib.contextmanager
def _model(script: Path, log: Path, steps: int) -> Iterator[str]:
    script.write_text(json.dumps({"calls": [_call(step) for step in range(steps)], "answer": ANSWER}), encoding="utf-8")
    server = subprocess.Popen([sys.executable, HERE / "model_server.py", script, log], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.terminate()
        server.communicate()


def _call(step: int) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": "data/blocks.txt", "start_line": step * BLOCK_LINES + 1, "max_lines": BLOCK_LINES}


class _MemoryWatch:
    """The high-water mark of a process itself, without its children, as the kernel of Linux keeps it; unknown elsewhere."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._highest: float | None = None
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def highest(self) -> float | None:
        """In MB, once the process has ended."""
        self._thread.join()
        return self._highest

    def _watch(self) -> None:
        with contextlib.suppress(OSError):
            while found := re.search(r"^VmHWM:\s+(\d+) kB", self._status.read_text(encoding="ascii"), re.MULTILINE):
                self._highest = int(found[1]) / 1024
                time.sleep(MEMORY_POLL)
