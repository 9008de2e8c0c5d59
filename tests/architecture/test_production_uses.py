"""What the package defines is used by the package: nothing is there for tests only (V-14).

Uses are told by name, since types cannot be seen in the text: a name that stands for two things counts as used when one of them is.
"""

import ast
import pydoc
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.architecture.source_tree import Source, dotted_name, imported_names, package_sources, project, sample, sources

# What only tests use so far and the design asks for already; an entry that something uses, or that is gone, is a failure.
AWAITED = {
    "yagent.config.load.decode_raw": "architecture 3, B-100: the set-up wizard repairs what cannot be read as a configuration",
    "yagent.config.load.needs_setup": "architecture 3, P-03: the wizard begins by itself",
    "yagent.config.provider_edits.delete_provider": "architecture 3, B-98: the wizard removes a provider",
    "yagent.config.provider_edits.write_provider": "architecture 3, B-98: the wizard adds and changes one",
    "yagent.protocol.event_json.from_json": "architecture 4: front ends work against another process, whose events arrive as JSON",
    "yagent.runtime.activity.Activity.heartbeat": "G-17 names it: who hears of progress from outside, as of a foreign tool, says so",
    "yagent.runtime.gate.is_cancellation": "I-21: the one predicate, for whoever need not tell the two ways to be stopped apart",
    "yagent.runtime.supervise.outstanding": "decisions, Time: virtual time stands still while a thread works",
    "yagent.workspace.permissions.Permissions.set_mode": "case J-09: a change of the parent's mode applies to children that run",
    "yagent.workspace.search.Searcher.list_files": "decisions, Wiring: rooms that need files of the repository get it",
}
GENERATED = "do not edit"
BY_NAME = ("getattr", "setattr", "hasattr", "attrgetter", "methodcaller")  # their texts are names
USING = (ast.Name, ast.Attribute, ast.keyword, ast.MatchClass, ast.alias, ast.Assign, ast.Call)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Defined:
    """A function, class or constant of a module, or a method, property or field of a class: its dotted name, and where it is."""

    name: str
    place: str

    @property
    def word(self) -> str:
        """The last part of the name: what users write."""
        return self.name.rpartition(".")[2]


def only_tested(production: tuple[Source, ...], callers: tuple[Source, ...], tests: tuple[Source, ...]) -> list[Defined]:
    """What `production` defines, tests use, and neither production nor its other callers do."""
    used = {word for source in (*production, *callers) for word in _uses(source)}
    tested = {word for source in tests for word in _uses(source)} - used
    entries = {target.partition(":")[2] for target in project()["project"]["scripts"].values()}
    bases = _members_of_bases(production)
    found = [each for source in production if GENERATED not in (ast.get_docstring(source.tree) or "") for each in _defined(source, bases)]
    return [each for each in found if each.word in tested - entries and not each.word.startswith("__")]


def _uses(source: Source) -> Iterator[str]:
    """Every name that is read, called, given as a keyword or matched, outside the definition of the same name; an import is no use yet."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(source.tree, frozenset())]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, USING):
            yield from (word for word in _words(node) if word not in inside)
        around = inside | {node.name} if isinstance(node, DEFINITIONS) else inside
        waiting += ((child, around) for child in ast.iter_child_nodes(node))


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=word, ctx=ast.Load()) | ast.Attribute(attr=word, ctx=ast.Load()):
            yield word
        case ast.keyword(arg=str(word)):
            yield word
        case ast.MatchClass(kwd_attrs=words):
            yield from words
        case ast.alias(name=word, asname=str()):
            yield word.rpartition(".")[2]
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
            yield from _texts(parts)
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=parts) if called in BY_NAME:
            yield from _texts(parts)
        case _:
            pass


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _defined(source: Source, bases: dict[str, frozenset[str]]) -> Iterator[Defined]:
    """What others can use of a module. What a class overrides is used through its base."""
    for statement in source.tree.body:
        for word, line in _names(statement):
            yield Defined(f"{source.module}.{word}", f"{source.path}:{line}")
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            inherited = [bases.get(each, frozenset()) for each in map(_last, node.bases)] + [_foreign(each, source) for each in node.bases]
            for word, line in _members(node):
                if not any(word in members for members in inherited):
                    yield Defined(f"{source.module}.{node.name}.{word}", f"{source.path}:{line}")


def _names(node: ast.stmt) -> Iterator[tuple[str, int]]:
    if isinstance(node, DEFINITIONS):
        yield node.name, node.lineno
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from ((target.id, node.lineno) for target in targets if isinstance(target, ast.Name))


def _members(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Methods, properties, fields, and what is assigned to `self`."""
    for statement in node.body:
        yield from _names(statement)
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and _last(part.value) == "self":
            yield part.attr, part.lineno


def _last(node: ast.expr) -> str:
    """The last name of `a.b.C` or `C[T]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _members_of_bases(production: tuple[Source, ...]) -> dict[str, frozenset[str]]:
    """The members of each class of ours by its name, with those of the classes above it."""
    classes = {node.name: node for source in production for node in source.nodes if isinstance(node, ast.ClassDef)}
    found: dict[str, frozenset[str]] = {}
    for name in classes:
        above = [name]
        for each in above:
            above += [base for base in map(_last, classes[each].bases) if base in classes and base not in above]
        found[name] = frozenset(word for each in above for word, _ in _members(classes[each]))
    return found


def _foreign(base: ast.expr, source: Source) -> frozenset[str]:
    """The members of a base class from elsewhere."""
    name = dotted_name(base, imported_names(source)) or _last(base)
    return frozenset() if name.startswith("yagent.") else frozenset(dir(pydoc.locate(name) or object))


@pytest.fixture(scope="module")
def found() -> dict[str, Defined]:
    """By their dotted names."""
    return {each.name: each for each in only_tested(package_sources(), sources("scripts"), sources("tests"))}


def test_nothing_is_there_for_tests_only(found: dict[str, Defined]) -> None:
    assert [f"{each.place}: {each.name}" for each in found.values() if each.name not in AWAITED] == []


def test_what_waits_for_its_first_user_still_waits(found: dict[str, Defined]) -> None:
    assert AWAITED.keys() - found.keys() == set()


USE = "from yagent.tools.sample import *\n"


@pytest.mark.parametrize(
    ("text", "use", "name"),
    [
        ("def only(): ...", "only()", "only"),
        ("def only(depth):\n    return only(depth - 1)", "only(1)", "only"),
        ("class Only:\n    def again(self):\n        return Only()", "Only()", "Only"),
        ("ONLY = 3", "assert work() == ONLY", "ONLY"),
        ("ONLY: int = 3", "assert work() == ONLY", "ONLY"),
        ("def only(): ...", "from yagent.tools import sample\nsample.only()", "only"),
        ("class Box:\n    def only(self): ...\nBox()", "Box().only()", "Box.only"),
        ("class Box:\n    @property\n    def only(self): ...\nBox()", "assert Box().only", "Box.only"),
        ("class Box:\n    only: int = 0\nBox()", "assert Box().only == 1", "Box.only"),
        ("class Box:\n    only: int = 0\nBox()", "Box(only=1)", "Box.only"),
        ("class Box:\n    def __init__(self):\n        self.only = 0\nBox()", "assert Box().only == 1", "Box.only"),
        ("from yagent.tools.other import only\ndef only(): ...", "only()", "only"),
    ],
)
def test_what_only_tests_use_is_noticed(text: str, use: str, name: str) -> None:
    found = only_tested((sample(text),), (), (sample(USE + use, "tests.sample"),))
    assert [each.name for each in found] == [f"yagent.tools.sample.{name}"]


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("def shared(): ...\nshared()", "shared()"),
        ("def nobody(): ...", "assert work()"),
        ("class Box:\n    shared: int = 0\ndef show(box):\n    return box.shared\nBox()", "assert Box(shared=1).shared"),
        ("class Box:\n    shared: int = 0\nBox(shared=1)", "assert Box(shared=1).shared"),
        ("class Box:\n    shared: int = 0\nmatch Box():\n    case Box(shared=1): ...", "assert Box().shared"),
        ("class Box:\n    shared: int = 0\ngetattr(Box(), 'shared')", "assert Box().shared"),
        ("def shared(): ...\n__all__ = ['shared']", "shared()"),
        ("class Box:\n    def __len__(self): ...\nBox()", "Box().__len__()"),
        ("import logging\nclass Box(logging.Handler):\n    def emit(self, record): ...\nBox()", "Box().emit(record)"),
        ("import ast\nclass Box(ast.NodeVisitor):\n    def generic_visit(self, node): ...\nBox()", "Box().generic_visit(node)"),
        ("'''Generated by a script: do not edit.'''\ndef shared(): ...", "shared()"),
        ("def main(): ...", "main()"),
    ],
)
def test_what_is_used_or_cannot_be_told_is_left_alone(text: str, use: str) -> None:
    assert only_tested((sample(text),), (), (sample(USE + use, "tests.sample"),)) == []


def test_what_scripts_use_is_used() -> None:
    text, use = sample("def shared(): ..."), sample("shared()", "scripts.sample")
    assert only_tested((text,), (use,), (use,)) == []


def test_what_overrides_something_is_found_at_its_base_alone() -> None:
    text = "class Base:\n    def only(self): ...\nclass Box(Base):\n    def only(self): ...\nBox()"
    found = only_tested((sample(text),), (), (sample(USE + "Box().only()", "tests.sample"),))
    assert [each.name for each in found] == ["yagent.tools.sample.Base.only"]
