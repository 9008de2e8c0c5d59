"""What is written down is true: events, prompts, AGENTS.md, the pages of docs/."""

import ast
import re
from pathlib import Path

from tests.architecture.source_tree import ROOT, SAMPLES, Source, package_sources, project, sample, sources
from yagent.protocol.events import PAYLOADS

# events that a later issue publishes; an entry that became true is a failure, so the list can only shrink
NOT_YET_PUBLISHED = {"model_routed": "routing"}
PAGES = (
    "architecture configuration tools rollout-and-resume protocol security performance"
    " dependencies troubleshooting glossary cases headless robustness invariants"
)
TEST_NAME = re.compile(r"\btest_\w+")
VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def published(found: tuple[Source, ...]) -> set[str]:
    """Event types whose payload class is constructed anywhere outside the protocol, or taken from a table to be constructed."""
    types = {payload.__name__: name for name, payload in PAYLOADS.items()}
    nodes = [node for source in found if not source.is_in("yagent.protocol") for node in source.nodes]
    made = [node.func for node in nodes if isinstance(node, ast.Call)]
    listed = [value for node in nodes if isinstance(node, ast.Dict) for value in node.values]
    named = {
        node.attr if isinstance(node, ast.Attribute) else node.id for node in (*made, *listed) if isinstance(node, ast.Attribute | ast.Name)
    }
    return {types[name] for name in named & set(types)}


def words_of_code(found: tuple[Source, ...]) -> set[str]:
    """Every word in a string, keyword argument or attribute name: the ways in which code can name a prompt or its variable."""
    words: set[str] = set()
    for node in (node for source in found for node in source.nodes):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.update(re.findall(r"\w+", node.value))
        elif isinstance(node, ast.keyword) and node.arg:
            words.add(node.arg)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            words.add(node.target.id)
    return words


def prompt_files() -> list[Path]:
    found = sorted((ROOT / "prompts").rglob("*.md"))
    assert found
    return found


def all_test_names() -> set[str]:
    """Names of test functions, of test modules and of what a parametrised case is called by."""
    functions = {name for source in sources("tests") for name in re.findall(r"def (test_\w+)", source.text)}
    return functions | {source.module.rpartition(".")[2] for source in sources("tests")}


def dead_links(page: Path) -> list[str]:
    """Relative links of a page that lead nowhere."""
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    return [f"{page.name}: {target}" for target in targets if not (page.parent / target).exists()]


def test_every_event_is_published_somewhere_or_waits_for_its_issue() -> None:
    seen = published(package_sources())
    assert set(PAYLOADS) - seen == set(NOT_YET_PUBLISHED)


def test_every_event_is_documented() -> None:
    page = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    assert [name for name in PAYLOADS if f"### `{name}`" not in page] == []


def test_every_prompt_file_is_used() -> None:
    words = words_of_code(package_sources())
    names = {path: path.name.removesuffix(".md").removesuffix(".prompt") for path in prompt_files()}
    assert [path.name for path, name in names.items() if name not in words] == []


def test_every_variable_of_a_prompt_is_supplied() -> None:
    words = words_of_code(package_sources())
    wanted = {(path.name, name) for path in prompt_files() for name in VARIABLE.findall(path.read_text(encoding="utf-8"))}
    assert wanted
    assert {(path, name) for path, name in wanted if name not in words} == set()


def test_agents_md_is_short_and_cites_tests_that_exist() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    cited = set(TEST_NAME.findall(text))
    assert len(text.splitlines()) <= 120
    assert cited
    assert cited - all_test_names() == set()


def test_each_rule_of_agents_md_names_what_enforces_it() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    rules = re.findall(r"^- .+(?:\n  .+)*", text.partition("## Rules")[2], re.MULTILINE)
    assert len(rules) > 10
    assert [rule for rule in rules if not re.search(r"\[(?:`[^`]+`(?:, )?)+\]$", rule)] == []


def test_the_pages_exist_and_link_to_what_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "AGENTS.md", *(ROOT / f"docs/{name}.md" for name in PAGES.split())]
    assert [page.name for page in pages if not page.is_file()] == []
    assert [link for page in pages for link in dead_links(page)] == []


def test_sample_repositories_are_invisible_to_the_tools_and_valid_python() -> None:
    tools = project()["tool"]
    folder = SAMPLES.relative_to(ROOT).as_posix()
    assert folder in tools["ruff"]["extend-exclude"]
    assert folder in tools["deptry"]["extend_exclude"]
    assert any(re.match(pattern, f"{folder}/demo/sample.py") for pattern in tools["mypy"]["exclude"])
    files = sorted(SAMPLES.rglob("*.py"))
    assert files
    assert all(compile(path.read_bytes(), str(path), "exec") for path in files)


def test_the_guards_notice_what_is_missing(tmp_path: Path) -> None:
    assert published((sample("from yagent.protocol.events import AiChunk\nbus.publish(AiChunk(text='a'))"),)) == {"ai_chunk"}
    assert published((sample("EVENTS = {'chunk': AiChunk}\nbus.publish(EVENTS[kind](text='a'))"),)) == {"ai_chunk"}
    assert published((sample("AiChunk(text='a')", "yagent.protocol.events"),)) == set()
    assert published((sample("match event:\n    case AiChunk():\n        pass"),)) == set()
    assert words_of_code((sample("load('reminders/last_step', language=value)"),)) == {"reminders", "last_step", "language"}
    page = tmp_path / "page.md"
    page.write_text("[there](gone.md#part) and [outside](https://example.org/a)", encoding="utf-8")
    assert dead_links(page) == ["page.md: gone.md"]
