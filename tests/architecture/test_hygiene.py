"""Tests that are worth their time: each can fail, none is switched off, none replaces what it tests."""

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


AWAITED = re.compile(r"pytest\.mark\.xfail\(strict=True, reason='issue: .+'\)$")  # turns red when its issue makes it green


def switched_off(source: Source) -> list[str]:
    """Tests skipped whatever the circumstances, by mark or by their first statements, and expected failures that name no later issue."""
    names = imported_names(source)
    found = []
    for function in functions(source):
        marks = [ast.unparse(decorator) for decorator in function.decorator_list]
        if any(re.match(r"pytest\.mark\.(skip\b|xfail\b)", mark) and not AWAITED.match(mark) for mark in marks):
            found.append(f"{source.path}:{function.lineno}: {function.name} is switched off")
        calls = [node.value for node in function.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        if is_test(function) and any(dotted_name(call.func, names) in {"pytest.skip", "pytest.xfail"} for call in calls):
            found.append(f"{source.path}:{function.lineno}: {function.name} skips itself")
    return found


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


def test_no_test_is_switched_off() -> None:
    assert [line for source in sources("tests") for line in switched_off(source)] == []


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
        "import pytest\n@pytest.mark.skip\ndef test_a() -> None:\n    assert work()",
        "import pytest\n@pytest.mark.xfail(reason='later')\ndef test_a() -> None:\n    assert work()",
        "import pytest\ndef test_a() -> None:\n    pytest.skip('not today')\n    assert work()",
    ],
)
def test_a_test_that_is_switched_off_is_noticed(text: str) -> None:
    assert switched_off(sample(text))
    later = "import pytest\n@pytest.mark.xfail(strict=True, reason='issue: Durable sessions')\ndef test_a() -> None:\n    assert work()"
    assert not switched_off(sample(later))
    assert not switched_off(
        sample("import pytest\ndef test_a() -> None:\n    if not online():\n        pytest.skip('offline')\n    assert work()")
    )


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
