"""list_dir, print_dir_tree and search_by_regex through tool calls."""

from pathlib import Path

import pytest

from tests.tools.scopes import Desk
from yagent.tools.bounds import MAX_BYTES


@pytest.fixture
def project(workspace: Path) -> Path:
    """A small project."""
    for name, text in {
        "src/pkg/one.py": "import os\nVALUE = 1\n",
        "src/pkg/two.py": "VALUE = 2\nprint(VALUE)\n",
        "src/[id].tsx": "const VALUE = 3\n",
        "README.md": "# VALUE\n",
        ".gitignore": "build/\n",
        "build/out.py": "VALUE = 9\n",
    }.items():
        place = workspace / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (workspace / ".git").mkdir()
    (workspace / "link").symlink_to("README.md")
    return workspace


async def test_a_listing_shows_kinds_and_sizes_and_names_what_it_leaves_out(coding: Desk, project: Path) -> None:
    output = await coding.make("list_dir")
    lines = output.text.splitlines()
    assert lines[:2] == ["src/", ".gitignore (7 bytes)"]
    assert "link -> README.md" in lines
    assert "build/" in lines[-1]
    assert lines[-1].startswith("[")
    assert output.paths == ()


async def test_an_empty_directory_is_called_empty(coding: Desk, workspace: Path) -> None:
    assert (await coding.make("list_dir")).text == "[. is empty]"
    assert (await coding.make("print_dir_tree")).text == "[. is empty]"


async def test_a_tree_goes_as_deep_as_asked(coding: Desk, project: Path) -> None:
    assert "one.py" not in (await coding.make("print_dir_tree", depth=2)).text
    assert "    one.py" in (await coding.make("print_dir_tree", depth=3)).text.splitlines()


async def test_matches_are_path_line_text_with_paths_that_read_file_takes(coding: Desk, project: Path) -> None:
    output = await coding.make("search_by_regex", pattern=r"VALUE = \d", path="src")
    assert output.text.splitlines()[:3] == ["src/[id].tsx:1:const VALUE = 3", "src/pkg/one.py:2:VALUE = 1", "src/pkg/two.py:1:VALUE = 2"]
    assert output.paths == ("src/[id].tsx", "src/pkg/one.py", "src/pkg/two.py")
    for path in output.paths:
        assert "VALUE" in (await coding.make("read_file", path=path)).text


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"path": "src/pkg/one.py"}, {"src/pkg/one.py"}),
        ({"glob": "src/pkg/two.py"}, {"src/pkg/two.py"}),
        ({"path": "src", "glob": "pkg"}, {"src/pkg/one.py", "src/pkg/two.py"}),
        ({"glob": "src/[id].tsx"}, {"src/[id].tsx"}),
        ({"glob": "*.md"}, {"README.md"}),
        ({"path": "build"}, {"build/out.py"}),
        ({"glob": "*.py", "include_ignored": True}, {"src/pkg/one.py", "src/pkg/two.py", "build/out.py"}),
    ],
)
async def test_a_search_is_narrowed_by_path_or_glob(coding: Desk, project: Path, arguments: dict[str, object], paths: set[str]) -> None:
    output = await coding.make("search_by_regex", pattern="VALUE", **arguments)
    assert set(output.paths) == paths, output.text


async def test_lines_around_a_match_are_marked_otherwise(coding: Desk, project: Path) -> None:
    output = await coding.make("search_by_regex", pattern="print", path="src", context_lines=1)
    assert output.text.splitlines()[:2] == ["src/pkg/two.py-1-VALUE = 2", "src/pkg/two.py:2:print(VALUE)"]
    assert output.summary == "1 match"


async def test_plain_text_needs_no_escapes(coding: Desk, project: Path) -> None:
    assert (await coding.make("search_by_regex", pattern="print(")).is_error
    assert "two.py:2" in (await coding.make("search_by_regex", pattern="print(", fixed_text=True)).text


async def test_nothing_found_is_said_with_where_nobody_looked(coding: Desk, project: Path) -> None:
    text = (await coding.make("search_by_regex", pattern="VALUE = 9")).text
    assert text.startswith("(no matches)\n[")
    assert "include_ignored" in text


async def test_what_may_not_be_read_is_not_shown(coding: Desk, isolated_home: Path) -> None:
    secret = isolated_home / ".ssh" / "id_rsa"
    secret.parent.mkdir()
    secret.write_text("TOKEN 1\n")
    (isolated_home / "notes.txt").write_text("TOKEN 2\n")
    output = await coding.make("search_by_regex", pattern="TOKEN", path=str(isolated_home), include_ignored=True)
    assert "TOKEN 1" not in output.text


async def test_a_flood_of_matches_stays_within_the_bound_and_says_so(coding: Desk, workspace: Path) -> None:
    (workspace / "big.txt").write_text("match this line\n" * 50_000)
    output = await coding.make("search_by_regex", pattern="match", max_results=1000)
    assert len(output.text.encode()) <= MAX_BYTES + 300
    assert "stopped after 1000 matches" in output.text or "only the first" in output.text


async def test_a_glob_cannot_lead_out_of_the_judged_directory(coding: Desk, workspace: Path, isolated_home: Path) -> None:
    secret = isolated_home / ".ssh" / "id_rsa"
    secret.parent.mkdir()
    secret.write_text("TOKEN\n")
    (workspace / "door").symlink_to(secret.parent)
    for glob in ("door", "../door", f"..{secret}"):
        assert "TOKEN\n" not in (await coding.make("search_by_regex", pattern="TOKEN", glob=glob)).text


async def test_what_may_not_be_read_is_not_named_either_where_nothing_was_found(coding: Desk, isolated_home: Path) -> None:
    for name in (".ssh/id_rsa.pem", "wide.txt"):
        (isolated_home / name).parent.mkdir(exist_ok=True)
        (isolated_home / name).write_text("a needle\n", "utf-16-le")
    output = await coding.make("search_by_regex", pattern="needle", path=str(isolated_home), include_ignored=True)
    assert "2 binary files were not searched, of which read_file reads: wide.txt" in output.text
    assert "id_rsa" not in output.text
