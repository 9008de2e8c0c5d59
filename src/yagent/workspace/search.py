"""Finding text in the user's tree with ripgrep, or without it, and saying what was not looked at."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, replace
from pathlib import Path

from yagent.errors import YagentError
from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.runtime.clock import Clock
from yagent.workspace.builtin_search import Options
from yagent.workspace.matches import MatchReader, SearchHit
from yagent.workspace.named_path import NamedPath, printable
from yagent.workspace.passed_over import said_of
from yagent.workspace.pattern_problem import pattern_problem
from yagent.workspace.processes import Bounded, ProcessError, Program, capture, start
from yagent.workspace.reading import explain, kind_of

__all__ = ["FileList", "SearchError", "SearchHit", "SearchRequest", "SearchResult", "Searcher"]

TIME_LIMIT = 30.0
SHOWN_CHARACTERS = 40_000
_HIDDEN_LOOK = 3.0
_PROBE_SECONDS = 5.0
_ROOT = Path("/")
_SHOWN_REASON = 200
_COUNT_LIMIT = 2.0
_NOT_COUNTED = ("!.git", "!.gitignore", "!.gitattributes", "!.gitmodules", "!.gitkeep", "!.ignore", "!.rgignore")  # about files, not files
_LISTED_BYTES = 60_000_000
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from yagent.workspace.builtin_search import main; sys.exit(main(sys.argv[2]))"


class SearchError(YagentError):
    """The search could not be made; the text says why."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search: a regular expression (with `fixed_text`, a plain text) in the lines of the files below `root`, or of the file `root`.

    `glob` narrows it by path, as gitignore patterns do; one that names an existing path means that path. `named` says that the asker named
    `root` itself, so it is searched even where everything in it is ignored; `name` is what messages call it. What it may not read, the
    asker leaves out of the hits; the notes name nothing of it.
    """

    pattern: str
    root: Path
    glob: str | None = None
    max_results: int = 200
    include_ignored: bool = False
    fixed_text: bool = False
    ignore_case: bool = False
    context_lines: int = 0
    named: bool = False
    name: str = ""
    may_read: Callable[[Path], bool] = lambda path: True


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Lines in the order of their paths, which are relative to `base`. `truncated` says why there may be more, None when these are all.

    `notes` say what was not searched and how to search it; `engine` is "ripgrep" or "built-in". `searched` is how many files were
    searched, None when the search did not come to its end or files could not be read.
    """

    base: Path
    hits: tuple[SearchHit, ...] = field(repr=False)
    notes: tuple[str, ...]
    truncated: str | None
    engine: str
    searched: int | None = None


@dataclass(frozen=True, slots=True)
class FileList:
    """Paths relative to the root, sorted; `truncated` says why there may be more."""

    paths: tuple[str, ...] = field(repr=False)
    truncated: str | None


class Searcher:
    """Searches with ripgrep (the given one, the one among the user's `binaries`, that installed with us, or one on the environment's
    `PATH`), else by our own search."""

    def __init__(
        self,
        clock: Clock,
        environment: Mapping[str, str],
        *,
        binaries: Path | None = None,
        ripgrep: str | None = None,
        use_ripgrep: bool = True,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self._clock = clock
        self._environment = {name: value for name, value in environment.items() if name != "RIPGREP_CONFIG_PATH"}
        self._time_limit = time_limit
        self._places = (*(() if binaries is None else (binaries,)), Path(sys.executable).parent)
        self._ripgrep = ripgrep
        self._use_ripgrep = use_ripgrep
        self._has_looked = False  # whether ripgrep runs here
        self._trouble = ""  # why it does not

    async def search(self, request: SearchRequest) -> SearchResult:
        """Search; bounded in time, memory and result. Sources: requirement D-33.

        Raises:
            SearchError: the pattern or glob is not valid, or the root is missing, or no file or directory.
        """
        await self._settle()
        request = await supervise.in_thread(_located, request)
        result, failure = await self._pass(request, self._time_limit)
        if failure is not None:
            raise SearchError(failure)
        is_whole = request.include_ignored or await supervise.in_thread(request.root.is_file)
        if result.hits or result.truncated:
            return result if is_whole else await self._count_ignored(request, result)
        if is_whole:
            passed_over = await self._passed_over(request)
            return _with_note(result, passed_over) if passed_over else result
        return await self._look_at_ignored(request, result)

    async def list_files(self, root: Path, *, include_ignored: bool = False, limit: int = 200_000) -> FileList:
        """All files below a directory, hidden ones too, without .git and (by default) without ignored ones.

        Raises:
            SearchError: the root is missing or cannot be listed.
        """
        await self._settle()
        await supervise.in_thread(_require_place, NamedPath(root))
        options = Options(path=".", everything=include_ignored, hidden=True, globs=("!.git",))
        captured = await capture(
            await supervise.in_thread(self._program, options, root), clock=self._clock, timeout=self._time_limit, limit=_LISTED_BYTES
        )
        pieces = captured.output.split(b"\0")
        paths = sorted(os.fsdecode(piece).removeprefix("./") for piece in pieces[:-1])
        truncated = "listing took too long" if captured.timed_out else "there are too many files" if captured.truncated else None
        if len(paths) > limit:
            truncated = f"there are more than {limit} files"
        return FileList(tuple(paths[:limit]), truncated)

    async def _pass(self, request: SearchRequest, seconds: float) -> tuple[SearchResult, str | None]:
        """One run of the engine; the failure, if it failed, in words."""
        directory, path = await supervise.in_thread(_directory_and_path, request.root)
        per_file = request.max_results + 1 if directory != request.root else max(20, request.max_results // 4)
        globs = (() if request.glob is None else (request.glob,)) + (("!.git",) if request.include_ignored else ())
        options = Options(
            path=path,
            pattern=request.pattern,
            globs=globs,
            everything=request.include_ignored,
            hidden=request.include_ignored,
            fixed_text=request.fixed_text,
            ignore_case=request.ignore_case,
            context_lines=request.context_lines,
            max_count=per_file,
        )
        errors = Bounded(20_000)
        reader = MatchReader(request.max_results, SHOWN_CHARACTERS)
        try:
            program = await supervise.in_thread(self._program, options, directory)
            child = await start(program, output=reader.add, errors=errors.add)
        except ProcessError as error:
            if self._gives_way(str(error)):
                return await self._pass(request, seconds)
            return SearchResult(directory, (), (), None, self.engine), str(error)
        reader.when_enough = child.kill
        truncated, code = None, None
        try:
            if reader.enough is not None:
                child.kill()
            with supervise.outside("search"):
                async with self._clock.timeout(seconds):
                    code = await child.exited()
                    await child.drained()
        except TimeoutError:
            truncated = f"the search was stopped after {seconds:g} seconds; narrow it by path or glob"
        finally:
            await child.end(self._clock)
        said = bytes(errors.data).decode("utf-8", "replace")
        if code not in (0, 1) and reader.enough is None and truncated is None and not (code == 2 and _only_unreadable(said)):
            if code != 2 and self._gives_way(f"it ended with {code}"):
                return await self._pass(request, seconds)
            return SearchResult(directory, (), (), None, self.engine), _failure(said, request, self.engine)
        notes = (*_left_out(reader, said, per_file), *self._dialect())
        searched = None if said else reader.searched
        return SearchResult(directory, tuple(reader.hits), notes, truncated or reader.enough, self.engine, searched), None

    async def _count_ignored(self, request: SearchRequest, result: SearchResult) -> SearchResult:
        """Say how many files were passed over; nothing when there are none, or when what was searched is not known."""
        if result.searched is None:
            return result
        globs = (() if request.glob is None else (request.glob,)) + _NOT_COUNTED
        options = Options(path=".", globs=globs, everything=True, hidden=True, in_order=False)
        program = await supervise.in_thread(self._program, options, request.root)
        listed = await capture(program, clock=self._clock, timeout=_COUNT_LIMIT, limit=_LISTED_BYTES)
        if listed.timed_out or listed.truncated:
            return _with_note(
                result, "ignored or hidden files, if there are any, were not searched; include_ignored=true searches them, too"
            )
        count = listed.output.count(b"\0") - result.searched
        if count <= 0:
            return result
        files = "1 ignored or hidden file was" if count == 1 else f"{count} ignored or hidden files were"
        return _with_note(result, f"{files} not searched; include_ignored=true searches {'it' if count == 1 else 'them'}, too")

    async def _look_at_ignored(self, request: SearchRequest, result: SearchResult) -> SearchResult:
        """Nothing was found: before that is believed, look where nobody looked."""
        wider, failure = await self._pass(replace(request, include_ignored=True), self._time_limit if request.named else _HIDDEN_LOOK)
        if failure is not None or not wider.hits:
            looked = "" if failure is not None or wider.truncated else ", nor in ignored or hidden files"
            passed_over = await self._passed_over(replace(request, include_ignored=True))
            return _with_note(result, f"nothing was found{looked}{'; ' if passed_over else ''}{passed_over}")
        if request.named:
            return _with_note(wider, "these matches are in ignored or hidden files; there are none elsewhere below that path")
        shown = await supervise.in_thread(_named, wider, request.may_read)
        return _with_note(
            result, f"ignored and hidden files were not searched; there are matches in {shown}: include_ignored=true searches them"
        )

    async def _passed_over(self, request: SearchRequest) -> str:
        """What a search that found nothing has to say of the binary files it passed over, "" when there are none."""
        directory, path = await supervise.in_thread(_directory_and_path, request.root)
        everything = request.include_ignored
        globs = (() if request.glob is None else (request.glob,)) + (("!.git",) if everything else ())
        options = Options(path=path, globs=globs, everything=everything, hidden=everything, binary_only=True)
        program = await supervise.in_thread(self._program, options, directory)
        listed = await capture(program, clock=self._clock, timeout=_COUNT_LIMIT, limit=_LISTED_BYTES)
        if listed.timed_out or listed.truncated or listed.code not in (0, 1):
            return "binary files are not searched"
        return await supervise.in_thread(said_of, directory, listed.output, request.may_read)

    async def _settle(self) -> None:
        """Find out, once, whether ripgrep runs here: one for another system or library fails, or says that nothing matches."""
        if self._has_looked:
            return
        path = await supervise.in_thread(self._program_path)
        self._has_looked = True
        if path is None:
            return
        try:
            told = await capture(Program((path, "--version"), _ROOT, self._environment), clock=self._clock, timeout=_PROBE_SECONDS)
        except ProcessError as error:
            self._gives_way(str(error))
            return
        if told.code != 0 or not told.output.startswith(b"ripgrep "):
            self._gives_way(" ".join(told.errors.split())[:_SHOWN_REASON] or f"it ended with {told.code}")

    def _gives_way(self, why: str) -> bool:
        """From now on search without ripgrep; False when that was so already."""
        if self._program_path() is None:
            return False
        self._ripgrep, self._trouble = "", f" ({why})"
        return True

    @property
    def engine(self) -> str:
        """The engine in use."""
        return "ripgrep" if self._program_path() else "built-in"

    def _program(self, options: Options, directory: Path) -> Program:
        ripgrep = self._program_path()
        if ripgrep is None:
            package_root = str(Path(__file__).parents[2])
            return Program((sys.executable, "-I", "-c", _BOOT, package_root, json.dumps(asdict(options))), directory, self._environment)
        return Program((ripgrep, *_arguments(options, directory)), directory, self._environment)

    def _program_path(self) -> str | None:
        if not self._use_ripgrep:
            return None
        if self._ripgrep is None:
            ours = next((str(place / "rg") for place in self._places if os.access(place / "rg", os.X_OK)), "")
            self._ripgrep = ours or shutil.which("rg", path=self._environment.get("PATH", "")) or ""
        return self._ripgrep or None

    def _dialect(self) -> tuple[str, ...]:
        if self._program_path():
            return ()
        return (f"ripgrep is not available{self._trouble}: a slower built-in search was used, with Python's regular expressions",)


def _named(found: SearchResult, may_read: Callable[[Path], bool]) -> str:
    """The first files with hits that may be read. Blocks."""
    files = [path for path in dict.fromkeys(hit.path for hit in found.hits) if may_read(found.base / path)]
    return (", ".join(map(printable, files[:10])) or "protected files") + (" and more" if len(files) > 10 or found.truncated else "")


def _arguments(options: Options, directory: Path) -> list[str]:
    arguments = ["--no-config", *(["--sort=path"] if options.in_order else []), "--no-follow"]
    if not _in_repository(directory):
        # Outside a repository, ignore files of distant parent directories say nothing about this one.
        arguments += ["--no-require-git", "--no-ignore-parent"]
    if options.everything:
        arguments.append("--no-ignore")
    if options.hidden:
        arguments.append("--hidden")
    arguments += [f"--glob={glob}" for glob in options.globs]
    if options.binary_only:
        return [*arguments, "--files-with-matches", "--null", "--text", r"--regexp=(?-u)\x00", "--", options.path]
    if options.pattern is None:
        return [*arguments, "--files", "--null", "--", options.path]
    arguments += ["--json", "--crlf", f"--max-count={options.max_count}", "--fixed-strings" if options.fixed_text else "--engine=auto"]
    if options.ignore_case:
        arguments.append("--ignore-case")
    if options.context_lines:
        arguments.append(f"--context={options.context_lines}")
    return [*arguments, f"--regexp={options.pattern}", "--", options.path]


def _in_repository(directory: Path) -> bool:
    return any(os.path.lexists(place / ".git") for place in (directory, *directory.parents))


def _located(request: SearchRequest) -> SearchRequest:
    """The request with a glob that is really a path made its root. Blocks."""
    _require_place(NamedPath(request.root, request.name))
    if "\0" in request.pattern or "\n" in request.pattern:
        raise SearchError("a pattern cannot hold a line break or a NUL character: the search goes line by line; search for one line of it")
    if request.glob is None or not request.root.is_dir():
        return replace(request, glob=None)
    literal = request.root / request.glob.removeprefix("/")
    if ".." in literal.parts or "\0" in request.glob or not literal.exists():
        return request
    _require_place(NamedPath(literal, request.glob))
    return replace(request, root=literal, glob=None, named=True)


def _directory_and_path(root: Path) -> tuple[Path, str]:
    """Where to start the engine, and what it searches from there: never a name that could be taken for an option."""
    return (root.parent, f"./{root.name}") if root.is_file() else (root, ".")


def _require_place(root: NamedPath) -> None:
    try:
        kind = kind_of(root.path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise SearchError(str(explain(error, root, "search"))) from error
    if kind not in ("file", "directory"):
        raise SearchError(f"cannot search {root}: it is a {kind}, not a file or directory")


def _only_unreadable(said: str) -> bool:
    lines = said.splitlines()
    return (
        bool(lines) and all(line.startswith("rg: ") and ": " in line[4:] for line in lines) and "regex" not in said and "glob" not in said
    )


def _failure(said: str, request: SearchRequest, engine: str) -> str:
    if "regex" in said and not request.fixed_text:
        return pattern_problem(request.pattern, said)
    lines = " ".join(said.strip().removeprefix("rg: ").split()) or "no reason was given"
    return f"{engine} could not search: {lines[:500]}"


def _left_out(reader: MatchReader, said: str, per_file: int) -> list[str]:
    notes = []
    capped = [path for path, count in reader.matches.items() if count >= per_file]
    if capped:
        notes.append(
            f"only the first {per_file} matches of a file are shown (give its path to see more): {', '.join(map(printable, capped[:5]))}"
        )
    if reader.oversized:
        names = ", ".join(map(printable, dict.fromkeys(reader.oversized)))
        notes.append(f"matches in extremely long lines, which cannot be shown, are in: {names[:500]}")
    if reader.binary:
        notes.append(f"not searched to their end, because they turn out binary: {', '.join(map(printable, reader.binary[:5]))}")
    unreadable = [_ending(printable(line.removeprefix("rg: "))) for line in said.splitlines() if line.startswith("rg: ")]
    if unreadable:
        more = f" and {len(unreadable) - 3} more" if len(unreadable) > 3 else ""
        notes.append(f"could not be read: {'; '.join(unreadable[:3])}{more}")
    return notes


def _ending(text: str) -> str:
    """The end of a text, where the reason is: a path may be longer than the answer ought to be."""
    return text if len(text) <= _SHOWN_REASON else f"…{text[-_SHOWN_REASON:]}"


def _with_note(result: SearchResult, note: str) -> SearchResult:
    return replace(result, notes=(*result.notes, note))
