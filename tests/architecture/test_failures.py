"""The tree of failures drawn in `yagent.errors` is the tree that exists."""

import importlib
import pkgutil
from collections.abc import Iterator

import yagent
from yagent import errors
from yagent.errors import YagentError


def drawn(text: str) -> dict[str, str]:
    """Error class name to the name of its parent, from an indented list that begins with `YagentError`."""
    lines = text.splitlines()
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in lines[lines.index("YagentError") :]:
        if not line.strip():
            break
        depth = (len(line) - len(line.lstrip())) // 2
        path = [*path[:depth], line.split()[0]]
        parents[path[-1]] = path[-2] if depth else ""
    return parents


def existing() -> dict[str, str]:
    """The same from the classes themselves, after importing every module of the package."""
    for module in pkgutil.walk_packages(yagent.__path__, "yagent."):
        importlib.import_module(module.name)
    return {"YagentError": "", **dict(_below(YagentError))}


def _below(parent: type[YagentError]) -> Iterator[tuple[str, str]]:
    for child in parent.__subclasses__():
        if child.__module__.startswith("yagent."):
            yield child.__name__, next(base.__name__ for base in child.__bases__ if issubclass(base, YagentError))
            yield from _below(child)


def test_the_drawing_shows_the_errors_that_exist() -> None:
    assert drawn(errors.__doc__ or "") == existing()


def test_the_drawing_is_read_as_it_is_indented() -> None:
    text = "Intro.\n\nYagentError\n  ModelError\n    RateLimited   told to wait\n  InvalidEvent\n\nMore."
    assert drawn(text) == {"YagentError": "", "ModelError": "YagentError", "RateLimited": "ModelError", "InvalidEvent": "YagentError"}
