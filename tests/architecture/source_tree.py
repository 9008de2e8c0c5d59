"""The files the guards judge, read and parsed once."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "yagent"
SAMPLES = PACKAGE / "data"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One Python file: where it is (relative to the repository), its dotted name, its text, its syntax tree and all nodes of that."""

    path: str
    module: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    def is_in(self, *modules: str) -> bool:
        """Whether this is one of the modules or lies in one of the packages named."""
        return any(self.module == name or self.module.startswith(f"{name}.") for name in modules)


def sample(text: str, module: str = "yagent.tools.sample") -> Source:
    """A file that exists only for the self-test of a guard."""
    return _parsed(f"src/{module.replace('.', '/')}.py", module, text)


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Every Python file below the folders; asserts that there are some, so that no guard passes by looking at nothing."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if not path.is_relative_to(SAMPLES)]
    found = tuple(_read(path) for path in paths)
    assert found, f"no Python files below {folders}"
    return found


def package_sources() -> tuple[Source, ...]:
    """The package itself."""
    return sources("src/yagent")


def rooms() -> list[str]:
    """The packages directly inside yagent, as dotted names."""
    found = sorted(f"yagent.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py"))
    assert found
    return found


@cache
def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method in the file, nested ones too."""
    return (node for node in source.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def imported_names(source: Source) -> dict[str, str]:
    """Local name to the dotted name it stands for, over all imports of the file."""
    names: dict[str, str] = {}
    for node in source.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = alias.name if alias.asname else alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted_name(node: ast.expr, names: dict[str, str]) -> str | None:
    """The dotted name of `a.b.c`, with imports resolved; None for anything that is not a plain chain of imported names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return ".".join([names[node.id], *reversed(parts)])


@cache
def _read(path: Path) -> Source:
    relative = path.relative_to(ROOT)
    parts = relative.with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return _parsed(relative.as_posix(), ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text(encoding="utf-8"))


def _parsed(path: str, module: str, text: str) -> Source:
    tree = ast.parse(text, path)
    return Source(path, module, text, tree, tuple(ast.walk(tree)))
