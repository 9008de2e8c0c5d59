"""Searching, with ripgrep and without, to the same result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from yagent.workspace.search import Searcher, SearchError, SearchRequest, SearchResult


def write(root: Path, name: str, content: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(params=["ripgrep", "built-in"])
def searcher(request: pytest.FixtureRequest, clock: VirtualClock) -> Searcher:
    return Searcher(clock, dict(os.environ), use_ripgrep=request.param == "ripgrep")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    write(root, ".gitignore", "dist/\n*.log\n")
    write(root, "src/a.py", "x = 1\nfoo()\nalpha beta\n")
    write(root, "src/b.py", "héé alpha\n")
    write(root, "dist/out.js", "alpha hidden in a build\n")
    write(root, ".github/w.yml", "alpha: 1\n")
    return root


def found(result: SearchResult) -> list[tuple[str, int | None, str]]:
    return [(hit.path, hit.line, hit.text) for hit in result.hits]


async def test_matches_have_path_line_and_text_in_the_order_of_paths(searcher: Searcher, repository: Path) -> None:
    result = await searcher.search(SearchRequest("alpha", repository))
    assert found(result) == [("src/a.py", 3, "alpha beta"), ("src/b.py", 1, "héé alpha")]
    assert [hit.column for hit in result.hits] == [1, 5]
    assert result.truncated is None
    assert result.base == repository


async def test_a_search_says_what_it_did_not_look_at(searcher: Searcher, repository: Path) -> None:
    result = await searcher.search(SearchRequest("alpha", repository))
    assert "2 ignored or hidden files were not searched; include_ignored=true searches them, too" in result.notes
    wider = await searcher.search(SearchRequest("alpha", repository, include_ignored=True))
    assert [hit.path for hit in wider.hits] == [".github/w.yml", "dist/out.js", "src/a.py", "src/b.py"]
    assert not any("not searched" in note for note in wider.notes)


async def test_the_engine_is_named_and_its_dialect_when_it_is_ours(searcher: Searcher, repository: Path) -> None:
    result = await searcher.search(SearchRequest("alpha", repository))
    assert any("Python's regular expressions" in note for note in result.notes) == (result.engine == "built-in")


async def test_plain_text_and_case_are_options(searcher: Searcher, repository: Path) -> None:
    assert found(await searcher.search(SearchRequest("foo()", repository, fixed_text=True))) == [("src/a.py", 2, "foo()")]
    assert len((await searcher.search(SearchRequest("ALPHA", repository, ignore_case=True))).hits) == 2
    assert not (await searcher.search(SearchRequest("ALPHA", repository))).hits


async def test_lines_of_context_are_marked(searcher: Searcher, repository: Path) -> None:
    result = await searcher.search(SearchRequest("foo", repository, context_lines=1))
    assert [(hit.line, hit.is_match) for hit in result.hits] == [(1, False), (2, True), (3, False)]


@pytest.mark.parametrize(
    ("glob", "paths"),
    [("*.py", ["src/a.py", "src/b.py"]), ("!a.py", ["src/b.py"]), ("src/b.*", ["src/b.py"]), ("**/a.py", ["src/a.py"]), ("lib/**", [])],
)
async def test_a_glob_narrows_the_search(searcher: Searcher, repository: Path, glob: str, paths: list[str]) -> None:
    result = await searcher.search(SearchRequest("alpha", repository, glob=glob))
    assert [hit.path for hit in result.hits] == paths


@pytest.mark.parametrize("bare", [True, False])
async def test_nothing_is_said_of_files_not_searched_where_there_are_none(searcher: Searcher, tmp_path: Path, bare: bool) -> None:
    if not bare:
        (tmp_path / ".git").mkdir()
        write(tmp_path, ".git/config", "alpha\n")
        write(tmp_path, ".gitignore", "dist/\n")
    write(tmp_path, "a.py", "alpha\n")
    write(tmp_path, "b.bin", b"alpha\0\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a.py")
    result = await searcher.search(SearchRequest("alpha", tmp_path))
    assert not [note for note in result.notes if "ignored" in note]


async def test_files_not_searched_are_counted_as_far_as_the_glob_means_them(searcher: Searcher, repository: Path) -> None:
    result = await searcher.search(SearchRequest("alpha", repository, glob="*.py"))
    assert not [note for note in result.notes if "ignored" in note]
    write(repository, "dist/x.py", "alpha\n")
    result = await searcher.search(SearchRequest("alpha", repository, glob="*.py"))
    assert "1 ignored or hidden file was not searched; include_ignored=true searches it, too" in result.notes


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("Item(", "unclosed ( at 'Item('; write \\( for the character itself, or set fixed_text=true"),
        ("a[b", "unclosed [ at 'a['; write \\[ for"),
        ("foo)", "unopened ) at 'foo)'; write \\) for"),
        ("*x", "nothing to repeat at '*'; write \\* for"),
    ],
)
async def test_an_expression_that_is_not_valid_is_answered_in_one_line(
    searcher: Searcher, repository: Path, pattern: str, problem: str
) -> None:
    with pytest.raises(SearchError) as caught:
        await searcher.search(SearchRequest(pattern, repository))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_fault_that_only_the_engine_knows_is_told_in_its_words(clock: VirtualClock, repository: Path) -> None:
    with pytest.raises(SearchError, match=r"^the pattern is refused: [^\n]+; escape special characters[^\n]+fixed_text=true$"):
        await Searcher(clock, dict(os.environ)).search(SearchRequest(r"\p{Nonsense}", repository))


async def test_a_glob_that_is_not_valid_is_named(clock: VirtualClock, repository: Path) -> None:
    with pytest.raises(SearchError, match=r"glob '\[x'"):
        await Searcher(clock, dict(os.environ)).search(SearchRequest("alpha", repository, glob="[x"))


async def test_look_around_is_understood(searcher: Searcher, repository: Path) -> None:
    assert [hit.path for hit in (await searcher.search(SearchRequest("(?<=alpha )beta", repository))).hits] == ["src/a.py"]


async def test_line_ends_match_before_carriage_returns(searcher: Searcher, repository: Path) -> None:
    write(repository, "w.txt", "one\r\ntwo\r\n")
    assert found(await searcher.search(SearchRequest("one$", repository))) == [("w.txt", 1, "one")]


@pytest.mark.parametrize("pattern", ["a\nb", "a\0b"])
async def test_patterns_stay_within_a_line(searcher: Searcher, repository: Path, pattern: str) -> None:
    with pytest.raises(SearchError, match="line by line"):
        await searcher.search(SearchRequest(pattern, repository))


async def test_results_are_bounded_and_say_so(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, "many.txt", "hit\n" * 300_000)
    write(tmp_path, "other.txt", "hit\n")
    result = await searcher.search(SearchRequest("hit", tmp_path, max_results=50))
    assert 20 <= len(result.hits) <= 50
    assert any("only the first" in note for note in result.notes) or result.truncated
    assert "other.txt" in {hit.path for hit in result.hits}
    for number in range(10):
        write(tmp_path, f"n{number}.txt", "hit\n" * 1000)
    result = await searcher.search(SearchRequest("hit", tmp_path, max_results=50))
    assert len(result.hits) == 50
    assert result.truncated == "stopped after 50 matches, there are more: narrow pattern, path or glob"


async def test_exactly_as_many_matches_as_allowed_are_not_called_truncated(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "hit\n" * 5)
    assert (await searcher.search(SearchRequest("hit", tmp_path / "a.txt", max_results=5))).truncated is None


async def test_names_of_any_bytes_are_found(searcher: Searcher, tmp_path: Path) -> None:
    names = ["a\nb.txt", "[x].txt", "{y}.txt", "a b.txt", "-dash", "ü.txt", os.fsdecode(b"\xff.txt")]
    for name in names:
        write(tmp_path, name, "needle\n")
    result = await searcher.search(SearchRequest("needle", tmp_path))
    assert sorted(hit.path for hit in result.hits) == sorted(names)


async def test_text_that_is_no_utf8_is_found_and_shown(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, "l.txt", b"caf\xe9 needle\n")
    write(tmp_path, "u.txt", "\ufeffneedle 東\n".encode("utf-16-le"))
    result = await searcher.search(SearchRequest("needle", tmp_path))
    assert [hit.text for hit in result.hits] == ["caf\ufffd needle", "needle 東"]


async def test_binary_files_and_pipes_are_passed_over(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, "b.bin", b"\0needle\n")
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path, "t.txt", "needle\n")
    assert [hit.path for hit in (await searcher.search(SearchRequest("needle", tmp_path))).hits] == ["t.txt"]
    with pytest.raises(SearchError, match="pipe"):
        await searcher.search(SearchRequest("needle", tmp_path / "pipe"))


async def test_links_are_not_followed(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.txt", "needle\n")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    assert not (await searcher.search(SearchRequest("needle", tmp_path / "inside"))).hits


async def test_a_missing_place_is_an_error(searcher: Searcher, tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="no such file"):
        await searcher.search(SearchRequest("x", tmp_path / "nothing"))


async def test_outside_a_repository_ignore_files_hold_but_not_those_of_parents(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*\n")
    write(tmp_path, "project/.gitignore", "out/\n")
    write(tmp_path, "project/a.txt", "needle\n")
    write(tmp_path, "project/out/b.txt", "needle\n")
    assert [hit.path for hit in (await searcher.search(SearchRequest("needle", tmp_path / "project"))).hits] == ["a.txt"]


async def test_a_hopeless_pattern_ends_in_time(clock: VirtualClock, tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "a" * 40 + "\n")
    result = await Searcher(clock, dict(os.environ), use_ripgrep=False, time_limit=0.5).search(SearchRequest("(a+)+$b", tmp_path))
    assert result.truncated is not None
    assert "stopped after" in result.truncated


async def test_a_match_in_a_line_of_extreme_length_is_mentioned(clock: VirtualClock, tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "x" * 20_000_000 + "needle")
    write(tmp_path, "b.txt", "needle\n")
    result = await Searcher(clock, dict(os.environ)).search(SearchRequest("needle", tmp_path))
    assert [(hit.path, hit.line) for hit in result.hits] == [("a.txt", None), ("b.txt", 1)]
    assert any("extremely long lines" in note for note in result.notes)


async def test_settings_of_the_user_s_ripgrep_do_not_matter(repository: Path, clock: VirtualClock, tmp_path: Path) -> None:
    write(tmp_path, "rc", "--ignore-case\n")
    searcher = Searcher(clock, {**os.environ, "RIPGREP_CONFIG_PATH": str(tmp_path / "rc")})
    assert not (await searcher.search(SearchRequest("ALPHA", repository))).hits


async def test_the_users_own_ripgrep_comes_first(repository: Path, clock: VirtualClock, tmp_path: Path) -> None:
    places, used = tmp_path / "bin", tmp_path / "used"
    write(places, "rg", f'#!/bin/sh\necho used >> {used}\nexec {Path(sys.executable).parent}/rg "$@"\n')
    for rights in (0o600, 0o700):  # the first may not be run
        (places / "rg").chmod(rights)
        found = await Searcher(clock, {"PATH": "/usr/bin:/bin"}, binaries=places).search(SearchRequest("alpha", repository))
        assert found.hits
        assert used.exists() == (rights == 0o700)


BROKEN = {
    "for another machine": b"\x7fELF\x02\x01\x01" + b"\0" * 200,
    "without its interpreter": b"#!/nowhere/interpreter\n",
    "without its library": b"#!/bin/sh\necho \"rg: /lib/libc.so.6: version 'GLIBC_9.9' not found\" >&2\nexit 1\n",
    "killed": b"#!/bin/sh\nkill -ILL $$\n",
    "something else": b"#!/bin/sh\nexit 0\n",
    "broken since": b'#!/bin/sh\n[ "$1" = --version ] && echo "ripgrep 15.0" && exit\nexit 127\n',
    "killed since": b'#!/bin/sh\n[ "$1" = --version ] && echo "ripgrep 15.0" && exit\nkill -SEGV $$\n',
    "gone since": b'#!/bin/sh\n[ "$1" = --version ] && echo "ripgrep 15.0" && rm "$0"\n',
}


@pytest.mark.parametrize("program", BROKEN.values(), ids=BROKEN)
async def test_a_ripgrep_that_does_not_run_gives_way_to_the_built_in_search(
    repository: Path, clock: VirtualClock, tmp_path: Path, program: bytes
) -> None:
    write(tmp_path / "bin", "rg", program)
    (tmp_path / "bin/rg").chmod(0o700)
    searcher = Searcher(clock, {"PATH": "/usr/bin:/bin"}, binaries=tmp_path / "bin")
    for _ in range(2):
        found = await searcher.search(SearchRequest("alpha", repository))
        assert found.hits
        assert found.engine == "built-in"
        assert any(note.startswith("ripgrep is not available (") for note in found.notes)
    assert "src/a.py" in (await searcher.list_files(repository)).paths


async def test_what_is_not_looked_at_is_said_where_nothing_is_found(searcher: Searcher, repository: Path) -> None:
    write(repository, "bin.dat", b"\0\0needle\0")
    result = await searcher.search(SearchRequest("needle", repository))
    assert not result.hits
    assert any("1 binary file was not searched" in note for note in result.notes)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(("root", "everything"), [("", False), ("", True), ("src", False), ("src/wide.txt", False)])
async def test_text_that_a_search_passes_over_is_named(
    searcher: Searcher, repository: Path, encoding: str, root: str, *, everything: bool
) -> None:
    write(repository, "src/wide.txt", "a needle in a line\n".encode(encoding))
    write(repository, "src/picture.png", b"\x89PNG\0\0needle\0")
    request = SearchRequest("needle", repository / root, include_ignored=everything)
    (note,) = [note for note in (await searcher.search(request)).notes if "binary" in note]
    shown = "src/wide.txt" if not root else "wide.txt"
    count = "1 binary file was" if root.endswith("txt") else "2 binary files were"
    assert f"{count} not searched, of which read_file reads: {shown}" in note
    assert "picture" not in note


async def test_notes_name_no_file_that_may_not_be_read(searcher: Searcher, repository: Path) -> None:
    for name in (".secret", ".hidden"):
        write(repository, name, "KEY_OF = 1\n")
    request = SearchRequest("KEY_OF", repository, may_read=lambda path: path.name != ".secret")
    assert "there are matches in .hidden: include_ignored=true" in str((await searcher.search(request)).notes)
    (repository / ".hidden").unlink()
    notes = str((await searcher.search(request)).notes)
    assert "there are matches in protected files: include_ignored=true" in notes
    assert ".secret" not in notes


async def test_nothing_is_said_of_binary_files_where_there_are_none(searcher: Searcher, repository: Path) -> None:
    write(repository, "u.txt", "\ufeffother\n".encode("utf-16-le"))
    notes = (await searcher.search(SearchRequest("needle", repository))).notes
    assert not any("binary" in note for note in notes)


async def test_without_any_ripgrep_the_built_in_search_is_used(repository: Path, clock: VirtualClock) -> None:
    searcher = Searcher(clock, {"PATH": ""}, ripgrep="")
    assert (await searcher.search(SearchRequest("foo", repository))).engine == "built-in"


async def test_files_are_listed_without_the_ignored_ones(searcher: Searcher, repository: Path) -> None:
    os.mkfifo(repository / "pipe")
    listed = await searcher.list_files(repository)
    assert listed.paths == (".github/w.yml", ".gitignore", "src/a.py", "src/b.py")
    assert listed.truncated is None
    assert "dist/out.js" in (await searcher.list_files(repository, include_ignored=True)).paths
    assert (await searcher.list_files(repository, limit=2)).truncated == "there are more than 2 files"
