"""What only one module may do: tasks and threads, clocks, renames, the current directory, processes."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from tests.architecture.source_tree import Source, dotted_name, functions, imported_names, package_sources, sample, sources


@dataclass(frozen=True, slots=True)
class Door:
    """Something that may happen in `allowed` only.

    `names` are dotted names (a trailing dot means everything below); `methods` are judged by `is_method_call`, since the type of the
    receiver cannot be seen in the text.
    """

    what: str
    allowed: tuple[str, ...]
    names: tuple[str, ...]
    is_method_call: Callable[[ast.Call, str], bool] = lambda call, method: False


def _starts_work(call: ast.Call, method: str) -> bool:
    return method in {"create_task", "run_in_executor", "run_coroutine_threadsafe", "call_soon_threadsafe"}


def _tells_time(call: ast.Call, method: str) -> bool:
    return method in {"call_later", "call_at"} or (method == "time" and not call.args and not call.keywords)


def _renames(call: ast.Call, method: str) -> bool:
    """`Path.replace` takes one argument; `str.replace` two, and other `replace` keywords only."""
    if method == "replace":
        return (len(call.args) == 1 and not call.keywords) or [keyword.arg for keyword in call.keywords] == ["target"]
    return method in {"rename", "renames"} and bool(call.args)


DOORS = (
    Door(
        "tasks, threads and executors",
        ("yagent.runtime.supervise",),
        (
            *(
                "asyncio.create_task",
                "asyncio.ensure_future",
                "asyncio.TaskGroup",
                "asyncio.Task",
                "asyncio.gather",
                "asyncio.as_completed",
            ),
            *("asyncio.to_thread", "asyncio.run_coroutine_threadsafe", "threading.Thread", "threading.Timer"),
            *("concurrent.futures.", "multiprocessing."),
        ),
        _starts_work,
    ),
    Door(
        "clocks, sleeps and timeouts",
        ("yagent.runtime.clock",),
        (
            *("time.", "asyncio.sleep", "asyncio.wait_for", "asyncio.timeout", "asyncio.timeout_at"),
            *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
        ),
        _tells_time,
    ),
    Door(
        "renames and replaces",
        ("yagent.runtime.atomic",),
        ("os.replace", "os.rename", "os.renames", "shutil.move", "tempfile.NamedTemporaryFile", "tempfile.mkstemp"),
        _renames,
    ),
    Door("the current directory", ("yagent.apps.cli",), ("os.getcwd", "os.getcwdb", "os.chdir", "pathlib.Path.cwd")),
    Door(
        "processes",
        ("yagent.workspace",),
        (
            *("subprocess.", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "asyncio.subprocess."),
            *("os.system", "os.popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.posix_spawnp", "pty."),
        ),
    ),
)


def offences(source: Source, door: Door) -> list[str]:
    """Uses of the door in a module that has no key; annotations do not count, calls and references do."""
    if source.is_in(*door.allowed):
        return []
    names = imported_names(source)
    annotations = _annotations(source)
    found = []
    for node in source.nodes:
        if node in annotations:
            continue
        if isinstance(node, ast.Attribute | ast.Name):
            used = dotted_name(node, names)
            if used and any(used == name or (name.endswith(".") and used.startswith(name)) for name in door.names):
                found.append(f"{source.path}:{node.lineno}: {used} belongs in {door.allowed[0]}")
        elif isinstance(node, ast.Call) and (method := _method(node, names)) and door.is_method_call(node, method):
            found.append(f"{source.path}:{node.lineno}: .{method}() belongs in {door.allowed[0]}")
    return found


def _method(call: ast.Call, names: dict[str, str]) -> str | None:
    """The name of the method called on something that is not an imported name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) and dotted_name(call.func, names) is None else None


@cache
def _annotations(source: Source) -> frozenset[ast.AST]:
    """All nodes that are part of an annotation."""
    found: list[ast.expr | None] = []
    for node in source.nodes:
        if isinstance(node, ast.AnnAssign | ast.arg):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
    return frozenset(part for annotation in found if annotation is not None for part in ast.walk(annotation))


def swallowed_cancellations(source: Source) -> list[str]:
    """Handlers that catch a cancellation (also by catching everything) and never raise."""
    found = []
    for node in source.nodes:
        if not isinstance(node, ast.ExceptHandler) or source.is_in("yagent.runtime.supervise"):
            continue
        caught = ast.unparse(node.type) if node.type else "BaseException"
        is_wide = any(name in caught for name in ("CancelledError", "BaseException"))
        if is_wide and not any(isinstance(part, ast.Raise) for statement in node.body for part in ast.walk(statement)):
            found.append(f"{source.path}:{node.lineno}: except {caught} without raise")
    return found


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.what)
def test_only_one_module_does_it(door: Door) -> None:
    assert [line for source in package_sources() for line in offences(source, door)] == []


def test_cancellation_is_never_swallowed() -> None:
    assert [line for source in package_sources() for line in swallowed_cancellations(source)] == []


SLEEPS = ("asyncio.sleep", "anyio.sleep", "trio.sleep")
REAL_TIME = "real_time"  # the mark of tests on the real event loop; in all others such a sleep takes no time


def real_sleeps(source: Source) -> list[str]:
    """Sleeps in tests that run in real time. No time at all is a turn for others; a sleep inside a loop is the pace of a poll."""
    names, paced = imported_names(source), {part for node in source.nodes if isinstance(node, LOOPS) for part in ast.walk(node)}
    found = []
    for node in (part for tested in _in_real_time(source) for part in ast.walk(tested)):
        if isinstance(node, ast.Call) and node not in paced and dotted_name(node.func, names) in SLEEPS:
            wanted = node.args[0] if node.args else None
            if not isinstance(wanted, ast.Constant) or wanted.value != 0:
                found.append(f"{source.path}:{node.lineno}: {ast.unparse(node)}; wait for what should happen")
    return found


LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _in_real_time(source: Source) -> list[ast.AST]:
    """What of a file is marked: all of it, or single tests."""
    whole = [node for node in source.tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"]
    if any(REAL_TIME in ast.unparse(node.value) for node in whole):
        return [source.tree]
    return [each for each in functions(source) if any(REAL_TIME in ast.unparse(mark) for mark in each.decorator_list)]


def test_no_test_sleeps() -> None:
    slept = Door("sleeping", ("tests.support.virtual_time",), ("time.sleep",))
    assert [line for source in sources("tests") for line in (*offences(source, slept), *real_sleeps(source))] == []


@pytest.mark.parametrize(
    "text",
    [
        "import asyncio\nimport pytest\npytestmark = pytest.mark.real_time\nasync def test_a():\n    await asyncio.sleep(0.1)",
        "from asyncio import sleep as wait\nimport pytest\n@pytest.mark.real_time\nasync def test_a():\n    await wait(PAUSE)",
        "import anyio\nimport pytest\npytestmark = [pytest.mark.real_time]\nasync def test_a():\n    await anyio.sleep(1)",
    ],
)
def test_a_test_that_sleeps_in_real_time_is_noticed(text: str) -> None:
    assert real_sleeps(sample(text))
    assert not real_sleeps(sample(text.replace("real_time", "virtual")))
    assert not real_sleeps(sample(text.replace("(0.1)", "(0)").replace("(PAUSE)", "(0)").replace("(1)", "(0)")))


def test_a_poll_is_no_sleep() -> None:
    poll = "async def until(holds):\n    while not holds():\n        await asyncio.sleep(1)"
    assert not real_sleeps(sample(f"import asyncio\npytestmark = pytest.mark.real_time\n{poll}"))


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("tasks, threads and executors", "import asyncio\nasyncio.create_task(work())"),
        ("tasks, threads and executors", "from asyncio import gather as all_of\nall_of(work())"),
        ("tasks, threads and executors", "def start(group):\n    group.create_task(work())"),
        ("tasks, threads and executors", "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor()"),
        ("clocks, sleeps and timeouts", "import time as t\nt.monotonic()"),
        ("clocks, sleeps and timeouts", "from datetime import datetime\ndatetime.now()"),
        ("clocks, sleeps and timeouts", "def later(loop):\n    return loop.time()"),
        ("clocks, sleeps and timeouts", "import asyncio\nasync def wait():\n    async with asyncio.timeout(1): ..."),
        ("renames and replaces", "import os\nos.replace('a', 'b')"),
        ("renames and replaces", "def save(path):\n    path.with_suffix('.new').replace(path)"),
        ("renames and replaces", "def save(path):\n    path.rename('b')"),
        ("the current directory", "from pathlib import Path\nhere = Path.cwd()"),
        ("processes", "import subprocess\nsubprocess.run(['true'])"),
    ],
)
def test_each_door_notices_an_intruder(what: str, text: str) -> None:
    door = next(door for door in DOORS if door.what == what)
    assert offences(sample(text), door)
    assert not offences(sample(text, door.allowed[0]), door)


@pytest.mark.parametrize(
    "text",
    [
        "'a.b'.replace('.', '/')",
        "from dataclasses import replace\nreplace(settings, limit=2)",
        "def later(moment):\n    return moment.replace(microsecond=0)",
        "import asyncio\ndef show(task: asyncio.Task[int]) -> None: ...",
    ],
)
def test_what_only_looks_alike_passes(text: str) -> None:
    assert [line for door in DOORS for line in offences(sample(text), door)] == []


def test_a_swallowed_cancellation_is_noticed() -> None:
    silent = "import asyncio\ntry:\n    work()\nexcept asyncio.CancelledError:\n    pass"
    assert swallowed_cancellations(sample(silent))
    assert swallowed_cancellations(sample("try:\n    work()\nexcept:\n    pass"))
    assert not swallowed_cancellations(sample(silent + "\n    raise"))
