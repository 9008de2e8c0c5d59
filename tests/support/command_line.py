"""`yagent` as a real process: its own home, its own directory, hard time limits, and a look at what it left running."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

SOURCES = Path(__file__).parents[2]
LIMIT = 30.0  # seconds a run may take before it is killed and the test fails
KEY = "sk-canary-7f3a9c51e2d84b60"
INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
Stream = int | IO[Any] | None


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process said and how it ended; a negative code is the signal that killed it."""

    code: int
    out: bytes
    err: bytes

    @property
    def answer(self) -> str:
        """Standard output as text."""
        return self.out.decode("utf-8")

    @property
    def told(self) -> str:
        """Standard error as text."""
        return self.err.decode("utf-8")

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as one JSON document."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(slots=True)
class CommandLine:
    """Runs `python -m yagent` for one home and one workspace. `environment` is all it sees beside `PATH` and the locale."""

    home: Path
    workspace: Path
    environment: dict[str, str] = field(default_factory=dict)

    def talks_to(self, url: str, api_format: str = "openai") -> None:
        """Describe one provider by the environment."""
        self.environment |= {
            "YAGENT_BASE_URL": url,
            "YAGENT_API_KEY": KEY,
            "YAGENT_MODEL": "played-model",
            "YAGENT_API_FORMAT": api_format,
        }

    def configure(self, text: str) -> Path:
        """Write the configuration file; the environment names no provider then."""
        self.environment.clear()
        path = self.data / "config/config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return path

    @property
    def data(self) -> Path:
        """Where it keeps its files."""
        return self.home / ".yagent"

    def full_environment(self, more: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """The environment of a process; None takes a variable away."""
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        own = {"HOME": str(self.home), "PYTHONPATH": str(SOURCES / "src"), **self.environment, **(more or {})}
        return {name: value for name, value in {**inherited, **own}.items() if value is not None}

    async def start(
        self,
        *arguments: str,
        stdin: Stream = asyncio.subprocess.DEVNULL,
        stdout: Stream = asyncio.subprocess.PIPE,
        environment: Mapping[str, str | None] | None = None,
        **more: Any,
    ) -> asyncio.subprocess.Process:
        """Start it in a session of its own: without a terminal nobody can answer."""
        command = (sys.executable, "-m", "yagent", *arguments)
        more = {"start_new_session": True, "cwd": self.workspace, **more}
        return await asyncio.create_subprocess_exec(
            *command, stdin=stdin, stdout=stdout, stderr=asyncio.subprocess.PIPE, env=self.full_environment(environment), **more
        )

    async def run(self, *arguments: str, given: bytes | None = None, limit: float = LIMIT, **more: Any) -> Ended:
        """Run it to its end. `given` is piped in."""
        if given is not None:
            more["stdin"] = asyncio.subprocess.PIPE
        return await ended(await self.start(*arguments, **more), given, limit=limit)

    async def shell(self, line: str, *, limit: float = LIMIT, environment: Mapping[str, str | None] | None = None) -> Ended:
        """Run a line of bash in which `yagent` is the program."""
        function = f'yagent() {{ "{sys.executable}" -m yagent "$@"; }}\n'
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            function + line,
            cwd=self.workspace,
            env=self.full_environment(environment),
            start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        return await ended(process, limit=limit)

    def records(self) -> list[list[dict[str, Any]]]:
        """The rollouts it left, each as its records, oldest first."""
        paths = sorted(self.data.glob("data/rollout/**/*.jsonl"))
        return [[json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in paths]


async def ended(process: asyncio.subprocess.Process, given: bytes | None = None, *, limit: float = LIMIT) -> Ended:
    """Wait for the end of a process; a process that takes longer than `limit` seconds is killed and fails the test."""
    talk = asyncio.ensure_future(process.communicate(given))
    done, _ = await asyncio.wait({talk}, timeout=limit)
    if not done:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = await talk
        raise AssertionError(f"not over after {limit} s; out {out[-2000:]!r}, err {err[-2000:]!r}")
    out, err = talk.result()
    assert process.returncode is not None
    return Ended(process.returncode, out or b"", err or b"")


async def until(condition: Callable[[], object], *, limit: float = LIMIT) -> None:
    """Wait in real time until `condition()` holds."""
    over = asyncio.get_running_loop().time() + limit
    while not condition():
        assert asyncio.get_running_loop().time() < over, f"it did not come true within {limit} s"
        await asyncio.sleep(0.02)


async def send(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal, and wait until it has arrived: a second one of its kind would be lost before (Linux)."""
    process.send_signal(number)
    await until(lambda: not _is_pending(process.pid, number))


def _is_pending(process: int, number: int) -> bool:
    """Whether a signal sent to a process is still on its way; False where that cannot be seen."""
    try:
        status = Path(f"/proc/{process}/status").read_text("ascii", "replace")
    except OSError:
        return False
    found = re.search(r"^ShdPnd:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)


def alive(mark: str) -> Sequence[int]:
    """Processes whose command line or environment holds `mark`, zombies aside (Linux)."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            if mark.encode() in words and (place / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(place.name))
        except OSError:
            continue
    return found
