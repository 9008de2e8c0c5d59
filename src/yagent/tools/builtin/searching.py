"""Finding text in files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from yagent.records import dataclass
from yagent.runtime.supervise import in_thread
from yagent.tools.builtin.places import WORKSPACE, counted, label, locate, remarks
from yagent.tools.parameters import Describe
from yagent.tools.spec import CallContext, Effect, Output, Spec
from yagent.workspace.actions import ReadPath
from yagent.workspace.named_path import printable
from yagent.workspace.search import Searcher, SearchHit, SearchRequest, SearchResult


@dataclass(frozen=True, slots=True)
class SearchByRegex:
    """Parameters of `search_by_regex`."""

    pattern: Annotated[str, Describe("Regular expression.")]
    path: Annotated[str, Describe("Directory or file to search.")] = WORKSPACE
    glob: Annotated[str, Describe("Only such files: *.py, src/**/*.ts")] = ""
    fixed_text: Annotated[bool, Describe("Take pattern as plain text.")] = False
    context_lines: Annotated[int, Describe("Lines shown around a match.", minimum=0, maximum=20)] = 0
    max_results: Annotated[int, Describe("Most matches.", minimum=1, maximum=1000)] = 100
    include_ignored: Annotated[bool, Describe("Search ignored and hidden files too.")] = False

    @property
    def narrowed_path(self) -> str:
        """The path with a glob that may be the name of one file or directory below it; "" when it cannot be one."""
        plain = self.glob.removeprefix("/")
        return "" if not plain or any(mark in plain for mark in "*?{") or ".." in plain.split("/") else f"{self.path}/{plain}"


def search_by_regex(searcher: Searcher) -> Spec[SearchByRegex]:
    """Search the lines of files. What may not be read is not shown, and counted."""

    async def execute(parameters: SearchByRegex, call: CallContext) -> Output:
        root, glob = locate(parameters.path, call), parameters.glob
        if parameters.narrowed_path:
            narrowed = locate(parameters.narrowed_path, call)
            root, glob = (narrowed, "") if narrowed.exists else (root, glob)
        request = SearchRequest(
            pattern=parameters.pattern,
            root=root.resolved,
            glob=glob or None,
            max_results=parameters.max_results,
            include_ignored=parameters.include_ignored,
            fixed_text=parameters.fixed_text,
            context_lines=parameters.context_lines,
            name=label(root.resolved, call.scope),
            may_read=call.scope.permissions.may_read,
            named=root.resolved != locate(WORKSPACE, call).resolved,
        )
        base = root.resolved if root.is_directory else root.resolved.parent
        return await in_thread(_shown, await searcher.search(request), base, call)

    def actions(parameters: SearchByRegex) -> tuple[ReadPath, ...]:
        paths = (parameters.path, parameters.narrowed_path)
        return tuple(ReadPath(path, recursive=True) for path in paths if path)

    return Spec("search_by_regex", Effect.FS_READ, SearchByRegex, execute, actions=actions)


def _shown(result: SearchResult, base: Path, call: CallContext) -> Output:
    """`path:line:text` for matches, `path-line-text` for the lines around them. Blocks on looking up permissions."""
    found = dict.fromkeys(hit.path for hit in result.hits)
    names = {path: label(base / path, call.scope) for path in found if call.scope.permissions.may_read(base / path)}
    hits = [hit for hit in result.hits if hit.path in names]
    matches = sum(hit.is_match for hit in hits)
    notes = [*result.notes, *([result.truncated] if result.truncated else [])]
    if len(names) < len(found):
        notes.append(f"matches in {len(found) - len(names)} protected files are not shown")
    lines = list(_lines(hits, names)) or ["(no matches)"]
    seen = tuple(dict.fromkeys(names[hit.path] for hit in hits))
    return Output("\n".join([*lines, *remarks(notes)]), summary=counted(matches, "match", "matches"), paths=seen)


def _lines(hits: Sequence[SearchHit], names: Mapping[str, str]) -> Iterator[str]:
    """The hits, with `--` between groups of lines that do not follow each other when lines around matches are shown."""
    with_context = any(not hit.is_match for hit in hits)
    before: SearchHit | None = None
    for hit in hits:
        follows = before is None or (before.path == hit.path and hit.line is not None and before.line == hit.line - 1)
        if with_context and not follows:
            yield "--"
        yield _line(hit, printable(names[hit.path]))
        before = hit


def _line(hit: SearchHit, name: str) -> str:
    """One line of the answer."""
    mark = ":" if hit.is_match else "-"
    return f"{name}{mark}{'?' if hit.line is None else hit.line}{mark}{hit.text}"
