"""Tests that are worth their time: each can fail, none replaces what it tests."""

import ast
import re

import pytest

from tests.architecture.source_tree import Source, dotted_name, functions, imported_names, sample, sources

PROVING_NAME = re.compile(r"^_?(assert|check|verify|expect|require|fail|raises|validate|accept)")
PLAUSIBLE_COUNT = 300


def is_test(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return function.name.startswith("test_")


def can_fail(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the body asserts, expects an error or calls something whose name promises to judge."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if PROVING_NAME.match(name):
                return True
    return False


def proves_nothing(source: Source) -> list[str]:
    tests = [function for function in functions(source) if is_test(function)]
    return [f"{source.path}:{test.lineno}: {test.name} cannot fail" for test in tests if not can_fail(test)]


def replaces_own_code(source: Source) -> list[str]:
    """Mocks and patches of our own components: only the model is ever played, over real HTTP."""
    names = imported_names(source)
    found = [f"{source.path}: {name}" for name in names.values() if name.startswith(("unittest.mock", "mock"))]
    for node in source.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in {"setattr", "delattr"}:
            continue
        target = node.args[0] if node.args else None
        name = dotted_name(target, names) if target else None
        if isinstance(target, ast.Constant) and isinstance(target.value, str):
            name = target.value
        if name and name.startswith("yagent"):
            found.append(f"{source.path}:{node.lineno}: patches {name}")
    return found


def test_every_test_can_fail() -> None:
    assert [line for source in sources("tests") for line in proves_nothing(source)] == []


def test_nothing_of_ours_is_mocked_or_patched() -> None:
    assert [line for source in sources("tests") for line in replaces_own_code(source)] == []


def test_there_is_a_plausible_number_of_tests_and_no_name_twice_in_a_module() -> None:
    names = [(source.path, function.name) for source in sources("tests") for function in functions(source) if is_test(function)]
    assert len(names) >= PLAUSIBLE_COUNT
    assert sorted(set(names)) == sorted(names)


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {source.path.rpartition("/")[0] for source in sources("tests") if "/test_" in source.path}
    packages = {source.path.rpartition("/")[0] for source in sources("tests") if source.path.endswith("__init__.py")}
    assert folders - packages == set()


@pytest.mark.parametrize(
    "text",
    [
        "def test_runs() -> None:\n    work()",
        "async def test_runs() -> None:\n    await work()",
    ],
)
def test_a_test_that_cannot_fail_is_noticed(text: str) -> None:
    assert proves_nothing(sample(text))


@pytest.mark.parametrize(
    "text",
    [
        "from unittest.mock import Mock",
        "def test_a(monkeypatch):\n    monkeypatch.setattr('yagent.llm.engine.Engine', None)",
        "from yagent.llm import engine\ndef test_a(monkeypatch):\n    monkeypatch.setattr(engine, 'Engine', None)",
    ],
)
def test_a_replaced_component_is_noticed(text: str) -> None:
    assert replaces_own_code(sample(text))
