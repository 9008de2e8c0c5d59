"""Configuration cases H-01 and H-06 at the program's doors."""

from __future__ import annotations

import pytest

from tests.support.command_line import KEY, CommandLine
from tests.support.model_server import ModelServer

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
BROKEN = {
    "unclosed quote": b'[agent]\nlang = "English\n',
    "double key": b'[agent]\nlang = "a"\nlang = "b"\n',
    "utf-16": "[agent]\n".encode("utf-16"),
    "wrong type": b'[agent]\nmax_cost = "abc"\n',
    "list for a table": b"agent = [1]\n",
    "negative time": b'task_timeout = "-5s"\n',
    "deny rule that cannot be read": b'[permissions]\ndeny = ["rm("]\n',
}


@pytest.mark.parametrize("kind", [*BROKEN, "a directory"])
async def test_H01_a_broken_configuration_is_three_lines_everywhere_and_help_still_works(yagent: CommandLine, kind: str) -> None:
    path = yagent.configure("")
    yagent.environment["OPENAI_API_KEY"] = KEY
    if kind in BROKEN:
        path.write_bytes(BROKEN[kind])
    else:
        path.unlink()
        path.mkdir()
    run = await yagent.run("-p", "go")
    assert (run.code, run.out, len(run.told.splitlines())) == (2, b"", 3), run.told
    assert str(path) in run.told
    for arguments in (("--help",), ("--version",), ("sessions", "list")):
        other = await yagent.run(*arguments)
        assert (other.code, "Traceback" in other.told) == (0, False), other.told
    assert "Traceback" not in (await yagent.run("setup")).told
    if kind in BROKEN:
        assert path.read_bytes() == BROKEN[kind]


@pytest.mark.parametrize("home", ["/nonexistent/home", "", "relative", None])
async def test_H06_an_odd_home_costs_persistence_and_nothing_else(yagent: CommandLine, model_server: ModelServer, home: str | None) -> None:
    model_server.play({"are the Director": ["ok"]})
    result = await yagent.run("-p", "go", environment={"HOME": home, "YAGENT_HOME": "/proc/nowhere"})
    assert (result.code, result.answer) == (0, "ok\n")
    assert "without persistence" in result.told
    assert "Traceback" not in result.told


async def test_H06_a_home_nobody_can_write_to(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["ok"]})
    blocked = yagent.home / "blocked"
    blocked.write_text("a file where a directory should be")
    result = await yagent.run("-p", "go", environment={"YAGENT_HOME": str(blocked / "x")})
    assert (result.code, result.answer) == (0, "ok\n")
    assert "without persistence" in result.told
