"""No tool is picked by hand (D-01, V-12): what an agent has follows from its profile; only registry and surface find by name."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import Source, functions, package_sources, sample
from tests.tools.scopes import shipped_registry

FINDERS = ("yagent.tools.registry", "yagent.tools.surface")
SURFACES = ("yagent.agents", "yagent.session", "yagent.apps", "yagent.tools.profiles", "yagent.tools.registry")  # who could write a list
HELPER = re.compile(r"^_?(get|find|fetch|look_?up|pick|resolve)_(a_|the_|all_)?(tool|spec)s?(_|$)|^_?(tool|spec)s?_(by|called|named)(_|$)")
TABLES = re.compile(r"(^|_)(tools|specs|registry|surface)$")
TOOLS = frozenset(spec.name for spec in shipped_registry().specs)


def manual_lookups(source: Source) -> list[str]:
    """Helpers that find tools by name, tables of tools asked for a literal name, specs compared with one, lists of names."""
    nodes = [node for node in source.nodes if isinstance(node, ast.expr)]
    found = [(node.lineno, what) for node in nodes for what in _listed(source, node)]
    if not source.is_in(*FINDERS):
        found += [(each.lineno, f"{each.name} looks a tool up") for each in functions(source) if HELPER.search(each.name)]
        found += [(node.lineno, what) for node in nodes for what in _picked(node)]
    return [f"{source.path}:{line}: {what}; grant an effect in a profile" for line, what in found]


def _listed(source: Source, node: ast.expr) -> Iterator[str]:
    """Two names of tools in one list: the beginning of a surface that somebody wrote."""
    if source.is_in(*SURFACES) and isinstance(node, ast.List | ast.Tuple | ast.Set):
        names = [each.value for each in node.elts if isinstance(each, ast.Constant) and each.value in TOOLS]
        if len(names) > 1:
            yield f"a list of tools ({', '.join(map(str, names))})"


def _picked(node: ast.expr) -> Iterator[str]:
    """A tool taken by a name that stands in the code."""
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "name":
        if _last_name(node.left.value) in ("spec", "tool") and any(_is_literal(each) for each in node.comparators):
            yield ast.unparse(node)
    elif isinstance(node, ast.Subscript) and TABLES.search(_last_name(node.value)) and _is_literal(node.slice):
        yield ast.unparse(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("find", "get") and node.args:
        found = TABLES.search(_last_name(node.func.value)) and _is_literal(node.args[0])
        yield from [ast.unparse(node)] if found else []


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_literal(node: ast.expr) -> bool:
    """A text, a constant by its name, or a collection of texts."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_is_literal, node.elts))
    return (isinstance(node, ast.Constant) and isinstance(node.value, str)) or (isinstance(node, ast.Name) and node.id.isupper())


def test_no_tool_is_looked_up_by_hand() -> None:
    assert [line for source in package_sources() for line in manual_lookups(source)] == []


@pytest.mark.parametrize(
    "text",
    [
        "def get_tool(name): ...",
        "def tools_by_name(specs): ...",
        "def _find_spec(specs, name): ...",
        "shell = next(spec for spec in specs if spec.name == 'run_bash')",
        "chosen = [tool for tool in tools if tool.name in ('read_file', 'list_dir')]",
        "shell = self._registry['run_bash']",
        "shell = surface.find('run_bash')",
        "shell = registry.specs.get(SHELL)",
        "CODING_TOOLS = ('read_file', 'create_file')",
    ],
)
def test_a_tool_that_is_looked_up_by_hand_is_noticed(text: str) -> None:
    assert manual_lookups(sample(text, "yagent.agents.sample"))


@pytest.mark.parametrize(
    "text",
    [
        "spec = surface.find(call.name)",
        "if call.name == 'agent_exit': ...",
        "def tool_call_is_parallelizable(surface, name): ...",
        "value = settings.get('thinking')",
    ],
)
def test_what_only_looks_like_a_lookup_passes(text: str) -> None:
    assert manual_lookups(sample(text, "yagent.agents.sample")) == []
