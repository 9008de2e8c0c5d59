"""No test is switched off: a skip asks something first, and a failure that is awaited names its issue (V-07)."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import Source, dotted_name, functions, imported_names, sample, sources

MARKS = ("pytest.mark.skip", "unittest.skip")
CONDITIONAL_MARKS = ("pytest.mark.skipif", "unittest.skipIf")
CALLS = ("pytest.skip", "pytest.xfail", "pytest.exit", "pytest.skip.Exception", "unittest.SkipTest")
EXPECTED_FAILURE = "pytest.mark.xfail"
SURE = (ast.With, ast.AsyncWith, ast.Try, ast.ClassDef)  # their bodies are run
BRANCHES = (ast.If, ast.Match, ast.For, ast.AsyncFor, ast.While, ast.Try)
SWITCHES = ("__test__", "collect_ignore", "collect_ignore_glob")  # names by which pytest leaves whole classes, modules and files out
WORDS = re.compile(r"skip|xfail|exit|return|raise|SkipTest|__test__|collect_ignore")
ASKING = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Await)


def switched_off(source: Source) -> list[str]:
    """Tests that are skipped whatever the circumstances, and expected failures that name no later issue."""
    if not WORDS.search(source.text):  # most files: their nodes need not be looked at
        return []
    names, constants = _names(source), _constants(source)
    found = [(node.lineno, what) for node in _unconditional(source.tree, names, constants) for what in _marked(node, names, constants)]
    bodies = [source.tree.body, *(each.body for each in functions(source) if _is_run_by_pytest(each, names))]
    found += [(node.lineno, what) for body in bodies for node in _always(body, constants) for what in _left(node, names)]
    found += [
        (each.lineno, "nothing behind it is run") for body in bodies for each in body[:-1] if isinstance(each, ast.Return | ast.Raise)
    ]
    return [f"{source.path}:{line}: {what}" for line, what in sorted(set(found))]


def _names(source: Source) -> dict[str, str]:
    """Imported names, and those the module gives to what it imported."""
    names = dict(imported_names(source))
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (meant := dotted_name(node.value, names)):
            names[node.targets[0].id] = meant
    return names


def _constants(source: Source) -> frozenset[str]:
    """The names of the module that are given a value once, which is written down there and is no question."""
    given = Counter(node.id for node in source.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    assigned = [node for node in source.tree.body if isinstance(node, ast.Assign)]
    simple = [node for node in assigned if not any(isinstance(part, ASKING) for part in ast.walk(node.value))]
    return frozenset(target.id for node in simple for target in node.targets if isinstance(target, ast.Name) and given[target.id] == 1)


def _asks(condition: ast.expr, constants: frozenset[str]) -> bool:
    """Whether the answer depends on anything; a text is read as pytest reads it."""
    if isinstance(condition, ast.Constant) and isinstance(condition.value, str):
        condition = ast.parse(condition.value.strip() or "True", mode="eval").body
    if isinstance(condition, ast.BoolOp):  # one part that always holds decides an `or`
        every = isinstance(condition.op, ast.Or)
        return (all if every else any)(_asks(part, constants) for part in condition.values)
    return any(isinstance(part, ASKING) and not (isinstance(part, ast.Name) and part.id in constants) for part in ast.walk(condition))


def _unconditional(node: ast.AST, names: dict[str, str], constants: frozenset[str]) -> Iterator[ast.expr]:
    """Every expression that no question stands before, less the failures that are rightly awaited."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else getattr(node, "ifs", [])
        if any(_asks(each, constants) for each in tests) or _is_awaited(node, names):
            continue
        if isinstance(node, ast.expr):
            yield node
        waiting += ast.iter_child_nodes(node)


def _marked(node: ast.expr, names: dict[str, str], constants: frozenset[str]) -> Iterator[str]:
    """What is wrong about a mark, wherever it stands: over a test or a class, in `pytestmark`, at a parameter."""
    if isinstance(node, ast.Name | ast.Attribute):
        name = dotted_name(node, names)
        if name in MARKS or (name == EXPECTED_FAILURE and isinstance(node.ctx, ast.Load)):
            yield f"{name} whatever the circumstances"
    elif isinstance(node, ast.Call) and dotted_name(node.func, names) in CONDITIONAL_MARKS:
        conditions = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "condition")]
        if not any(_asks(each, constants) for each in conditions):
            yield f"{ast.unparse(node)} asks nothing"


def _is_awaited(node: ast.AST, names: dict[str, str]) -> bool:
    """Whether this is an expected failure that turns red when its issue makes it green."""
    if not isinstance(node, ast.Call) or node.args or dotted_name(node.func, names) != EXPECTED_FAILURE:
        return False
    given = {each.arg: each.value.value for each in node.keywords if isinstance(each.value, ast.Constant)}
    return given.keys() == {"strict", "reason"} and given["strict"] is True and str(given["reason"]).startswith("issue: ")


def _is_run_by_pytest(function: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, str]) -> bool:
    """Whether this is a test, or what is run before tests."""
    marks = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
    return function.name.startswith(("test_", "setup", "pytest_")) or any(dotted_name(each, names) == "pytest.fixture" for each in marks)


def _always(body: list[ast.stmt], constants: frozenset[str]) -> Iterator[ast.stmt]:
    """The statements that are run whatever happens, in order; after one that may have left, nothing is certain."""
    for statement in body:
        yield statement
        is_sure = isinstance(statement, ast.If) and not _asks(statement.test, constants)
        if is_sure or isinstance(statement, SURE):
            yield from _always(getattr(statement, "body", []), constants)
        elif isinstance(statement, BRANCHES) and any(isinstance(part, ast.Return | ast.Raise) for part in ast.walk(statement)):
            return


def _left(statement: ast.stmt, names: dict[str, str]) -> Iterator[str]:
    """What is wrong about a statement that is always run."""
    value = statement.exc if isinstance(statement, ast.Raise) else getattr(statement, "value", None)
    called = value.func if isinstance(value, ast.Call) else value if isinstance(statement, ast.Raise) else None
    if called is not None and dotted_name(called, names) in CALLS:
        yield f"{ast.unparse(statement)} whatever the circumstances"
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    yield from (f"{ast.unparse(statement)} leaves tests out" for each in targets if isinstance(each, ast.Name) and each.id in SWITCHES)


def test_no_test_is_switched_off() -> None:
    assert [line for source in sources("tests") for line in switched_off(source)] == []


TEST = "def test_a() -> None:\n    assert work()\n"


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.skip\n" + TEST,
        "@pytest.mark.skip(reason='not today')\n" + TEST,
        "from pytest import mark\n@mark.skip\n" + TEST,
        "from pytest import mark as m\n@m.skip('not today')\n" + TEST,
        "import pytest as p\n@p.mark.skip\n" + TEST,
        "mark = pytest.mark\n@mark.skip\n" + TEST,
        "later = pytest.mark.skip(reason='later')\n@later\n" + TEST,
        "import unittest\n@unittest.skip('not today')\n" + TEST,
        "pytestmark = pytest.mark.skip\n" + TEST,
        "pytestmark = [pytest.mark.slow, pytest.mark.skip(reason='not today')]\n" + TEST,
        "@pytest.mark.skip\nclass TestAll:\n    def test_a(self) -> None:\n        assert work()",
        "class TestAll:\n    pytestmark = pytest.mark.skip\n    def test_a(self) -> None:\n        assert work()",
        "class TestAll:\n    __test__ = False\n    def test_a(self) -> None:\n        assert work()",
        "@pytest.mark.parametrize('x', [1, pytest.param(2, marks=pytest.mark.skip)])\ndef test_a(x) -> None:\n    assert work(x)",
        "CASES = [pytest.param(2, marks=[pytest.mark.xfail(reason='later')])]\n" + TEST,
        "if True:\n    pytestmark = pytest.mark.skip\n" + TEST,
        "@pytest.mark.skipif(True, reason='not today')\n" + TEST,
        "@pytest.mark.skipif(condition=1 == 1, reason='not today')\n" + TEST,
        "@pytest.mark.skipif(not False, reason='not today')\n" + TEST,
        "@pytest.mark.skipif('True', reason='not today')\n" + TEST,
        "@pytest.mark.skipif(offline() or True, reason='not today')\n" + TEST,
        "OFF = True\n@pytest.mark.skipif(OFF, reason='not today')\n" + TEST,
        "@pytest.mark.skipif(reason='not today')\n" + TEST,
        "pytest.skip('not today', allow_module_level=True)\n" + TEST,
        "from pytest import skip\nskip('not today', allow_module_level=True)\n" + TEST,
        "raise pytest.skip.Exception('not today', allow_module_level=True)\n" + TEST,
        "collect_ignore = ['test_all.py']",
        "def test_a() -> None:\n    pytest.skip('not today')\n    assert work()",
        "async def test_a() -> None:\n    'What it is about.'\n    pytest.xfail('not today')\n    assert work()",
        "def test_a() -> None:\n    with room():\n        found = work()\n        pytest.skip('not today')\n    assert found",
        "def test_a() -> None:\n    if True:\n        pytest.skip('not today')\n    assert work()",
        "def test_a() -> None:\n    return pytest.skip('not today')",
        "def test_a() -> None:\n    return\n    assert work()",
        "@pytest.fixture(autouse=True)\ndef room() -> None:\n    pytest.skip('not today')",
        "@pytest.mark.xfail\n" + TEST,
        "@pytest.mark.xfail(reason='later')\n" + TEST,
        "@pytest.mark.xfail(run=False, strict=True, reason='issue: Durable sessions')\n" + TEST,
        "@pytest.mark.xfail(True, strict=True, reason='issue: Durable sessions')\n" + TEST,
        "pytestmark = pytest.mark.xfail(strict=False, reason='issue: Durable sessions')\n" + TEST,
    ],
)
def test_a_test_that_is_switched_off_is_noticed(text: str) -> None:
    assert switched_off(sample(f"import pytest\n{text}"))


@pytest.mark.parametrize(
    "text",
    [
        TEST,
        "@pytest.mark.slow\n" + TEST,
        "@pytest.mark.skipif(os.geteuid() == 0, reason='root reads everything')\n" + TEST,
        "@pytest.mark.skipif('sys.platform == \"win32\"', reason='no such thing there')\n" + TEST,
        "ONLINE = reachable()\n@pytest.mark.skipif(not ONLINE, reason='offline')\n" + TEST,
        "OLD = False\nif sys.version_info < (3, 12):\n    OLD = True\n@pytest.mark.skipif(OLD, reason='too old')\n" + TEST,
        "pytestmark = [pytest.mark.skipif(sys.platform != 'linux', reason='a Linux call')]\n" + TEST,
        "CASES = [pytest.param(2, marks=pytest.mark.skip if offline() else ())]\n" + TEST,
        "if sys.platform != 'linux':\n    pytest.skip('a Linux call', allow_module_level=True)\n" + TEST,
        "def pytest_itemcollected(item):\n    if offline():\n        item.add_marker(pytest.mark.skip)",
        "def test_a() -> None:\n    if not online():\n        pytest.skip('offline')\n    assert work()",
        "def test_a() -> None:\n    try:\n        work()\n    except OSError:\n        pytest.skip('no disk')\n    assert work()",
        "def test_a() -> None:\n    if online():\n        assert work()\n        return\n    pytest.skip('offline')",
        "def need(name):\n    pytest.skip(f'needs {name}')\ndef test_a() -> None:\n    assert work() or need('x')",
        "@pytest.mark.xfail(strict=True, reason='issue: Durable sessions')\n" + TEST,
    ],
)
def test_a_test_with_a_real_condition_is_left_alone(text: str) -> None:
    assert switched_off(sample(f"import os\nimport sys\nimport pytest\n{text}")) == []
