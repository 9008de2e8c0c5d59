"""Sizes, names and shortcuts: limits without exemptions."""

import ast
import io
import re
import tokenize

import pytest

from tests.architecture.source_tree import ROOT, Source, functions, package_sources, project, sample, sources

MODULE_LINES = 400
FUNCTION_LINES = 60
ARGUMENTS = 6
EVERYWHERE = ("src/yagent", "tests", "scripts")
FORBIDDEN_MODULE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "types", "constants", "misc"}
SHORTCUT = re.compile(r"#\s*(type:\s*ignore|noqa|pragma:\s*no cover|mypy:)|\b(TODO|FIXME|XXX|HACK)\b")
TOOL_FILES = (
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    "mypy.ini",
    ".flake8",
    "ruff.toml",
    ".ruff.toml",
    ".importlinter",
    ".coveragerc",
)


def too_long(source: Source) -> list[str]:
    lines = source.text.count("\n")
    found = [f"{source.path}: {lines} lines, {MODULE_LINES} allowed"] if lines > MODULE_LINES else []
    for function in functions(source):
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > FUNCTION_LINES:
            found.append(f"{source.path}:{function.lineno}: {function.name} has {length} lines, {FUNCTION_LINES} allowed")
    return found


def too_many_arguments(source: Source) -> list[str]:
    found = []
    for function in functions(source):
        given = function.args
        names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > ARGUMENTS:
            found.append(f"{source.path}:{function.lineno}: {function.name} takes {count} arguments, {ARGUMENTS} allowed")
    return found


def badly_named(source: Source) -> list[str]:
    return [f"{source.path}: {part} says nothing" for part in source.module.split(".") if part.strip("_") in FORBIDDEN_MODULE_NAMES]


def shortcuts(source: Source) -> list[str]:
    if not SHORTCUT.search(source.text) and "NotImplementedError" not in source.text:
        return []
    comments = (token for token in tokenize.generate_tokens(io.StringIO(source.text).readline) if token.type == tokenize.COMMENT)
    found = [f"{source.path}:{token.start[0]}: {token.string}" for token in comments if SHORTCUT.search(token.string)]
    raised = (node for node in source.nodes if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node))
    return found + [f"{source.path}:{node.lineno}: a stub" for node in raised]


def test_modules_and_functions_are_short() -> None:
    assert [line for source in sources(*EVERYWHERE) for line in too_long(source)] == []


def test_functions_take_few_arguments() -> None:
    assert [line for source in sources(*EVERYWHERE) for line in too_many_arguments(source)] == []


def test_module_names_say_what_is_inside() -> None:
    assert [line for source in sources(*EVERYWHERE) for line in badly_named(source)] == []


def test_nothing_is_silenced_or_left_for_later() -> None:
    assert [line for source in sources(*EVERYWHERE) for line in shortcuts(source)] == []


def test_every_module_says_what_it_is_for() -> None:
    assert [source.path for source in package_sources() if not ast.get_docstring(source.tree)] == []


def test_the_limits_of_ruff_are_the_limits_of_the_house() -> None:
    lint = project()["tool"]["ruff"]["lint"]
    assert lint["mccabe"]["max-complexity"] == 10
    assert lint["pylint"]["max-args"] == ARGUMENTS
    assert {"C90", "PLR0913", "PLC0415", "TID", "BLE"} <= set(lint["select"])
    assert project()["tool"]["mypy"]["strict"] is True


def test_pyproject_is_the_only_tool_configuration() -> None:
    assert [name for name in TOOL_FILES if (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("guard", "offending"),
    [
        (too_long, sample("value = 1\n" * (MODULE_LINES + 1))),
        (too_long, sample("def long() -> None:\n" + "    print()\n" * FUNCTION_LINES)),
        (too_many_arguments, sample("def wide(a, b, c, *, d, e, f, g): ...")),
        (badly_named, sample("", "yagent.tools.utils")),
        (shortcuts, sample("value = 1  # type" + ": ignore")),
        (shortcuts, sample("# TO" + "DO later")),
        (shortcuts, sample("def stub():\n    raise NotImplementedError")),
    ],
    ids=["module", "function", "arguments", "name", "silenced", "later", "stub"],
)
def test_each_limit_notices_an_offender(guard: object, offending: Source) -> None:
    assert callable(guard)
    assert guard(offending)
