"""The import contracts of pyproject.toml match real modules, and each one breaks when it should."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import ROOT, package_sources, project, rooms

LINTER: dict[str, Any] = project()["tool"]["importlinter"]
CONTRACTS: list[dict[str, Any]] = LINTER["contracts"]

# one line that breaks each contract: file in the sample package, and what it imports
OFFENDERS = {
    "layers": ("runtime/offender.py", "import yagent.tools"),
    "agents-layers": ("agents/loop/offender.py", "import yagent.agents.director"),
    "apps-layers": ("apps/setup/offender.py", "import yagent.apps.tui"),
    "front-ends": ("apps/tui/offender.py", "import yagent.session"),
    "config": ("tools/offender.py", "import yagent.config"),
    "http": ("tools/http.py", "import httpx2"),
    "screen": ("tools/screen.py", "import rich"),
    "mcp-sdk": ("tools/mcp_sdk.py", "import mcp"),
    "tree-sitter": ("tools/parser.py", "import tree_sitter"),
    "playwright": ("tools/driver.py", "import playwright"),
    "acyclic": ("tools/there.py", "import yagent.tools.back"),
}


def layer_names(contract: dict[str, Any]) -> list[str]:
    """The names in all layers, without the marks of absent and independent ones."""
    return [name for layer in contract["layers"] for name in re.findall(r"\w+", layer)]


def matches(expression: str) -> bool:
    """Whether an import-linter expression names at least one module of the package."""
    pattern = re.escape(expression).replace(r"\*\*", r"[\w.]+").replace(r"\*", r"\w+")
    return any(re.fullmatch(rf"{pattern}(\..+)?", source.module) for source in package_sources())


def lint(folder: Path) -> tuple[int, dict[str, str]]:
    """Run the real contracts on the package in `folder`; the exit code and the verdict by contract name."""
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=50, check=False)
    verdicts = {}
    for contract in CONTRACTS:
        found = re.search(re.escape(contract["name"]) + r"\s+(KEPT|BROKEN)", ended.stdout)
        verdicts[contract["id"]] = found.group(1) if found else f"not judged: {ended.stdout[-400:]}{ended.stderr[-400:]}"
    return ended.returncode, verdicts


def build_sample(folder: Path) -> Path:
    """A package in which every room that the contracts name exists and nothing is imported."""
    for contract in CONTRACTS:
        for container in contract.get("containers", []):
            for name in layer_names(contract):
                package = folder / container.replace(".", "/") / name
                package.mkdir(parents=True, exist_ok=True)
                (package / "__init__.py").touch()
    (folder / "yagent/__init__.py").touch()
    return folder


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract["id"])
def test_a_contract_speaks_about_modules_that_exist(contract: dict[str, Any]) -> None:
    if contract["type"] == "layers":
        present = [name for name in layer_names(contract) if matches(f"{contract['containers'][0]}.{name}")]
        assert present
    else:
        keys = ("source_modules", "protected_modules", "allowed_importers", "ancestors")
        assert all(matches(expression) for key in keys for expression in contract.get(key, []))
    assert contract["id"] in OFFENDERS


def test_every_room_has_its_layer() -> None:
    named = layer_names(CONTRACTS[0])
    assert [room for room in rooms() if room.removeprefix("yagent.") not in named] == []
    assert CONTRACTS[0]["exhaustive"] is True


def test_front_ends_are_kept_from_every_room_but_the_four_they_see() -> None:
    (contract,) = (contract for contract in CONTRACTS if contract["id"] == "front-ends")
    seen = {"yagent.protocol", "yagent.runtime", "yagent.config", "yagent.apps"}
    assert set(contract["forbidden_modules"]) == set(rooms()) - seen


def test_type_only_imports_count() -> None:
    assert "exclude_type_checking_imports" not in LINTER
    assert all("as_packages" not in contract for contract in CONTRACTS)


def test_the_contracts_hold(tmp_path: Path) -> None:
    (tmp_path / "yagent").symlink_to(ROOT / "src/yagent")
    code, verdicts = lint(tmp_path)
    assert (code, set(verdicts.values())) == (0, {"KEPT"}), json.dumps(verdicts, indent=2)


def test_each_contract_breaks_when_it_should(tmp_path: Path) -> None:
    sample = build_sample(tmp_path)
    code, verdicts = lint(sample)
    assert (code, set(verdicts.values())) == (0, {"KEPT"}), verdicts
    for name, line in OFFENDERS.values():
        (sample / "yagent" / name).write_text(line + "\n", encoding="utf-8")
    (sample / "yagent/tools/back.py").write_text("import yagent.tools.there\n", encoding="utf-8")
    code, verdicts = lint(sample)
    assert code == 1
    assert verdicts == dict.fromkeys(OFFENDERS, "BROKEN")


def test_a_room_without_a_layer_breaks_the_contract(tmp_path: Path) -> None:
    sample = build_sample(tmp_path)
    (sample / "yagent/attic").mkdir()
    (sample / "yagent/attic/__init__.py").touch()
    code, verdicts = lint(sample)
    assert code == 1
    assert verdicts["layers"] == "BROKEN"
