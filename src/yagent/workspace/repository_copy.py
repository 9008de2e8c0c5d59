"""A copy of a repository as it was at one commit: made elsewhere, without a network, and without a byte written to the original.

The copy borrows the original's objects (git's alternates), so its size is that of the files. It has the original's branches, tags and
ignore rules, and of its configuration what changes how git reads and writes files or whom a commit is by. It has no hooks, no addresses of
other repositories, no filters, no submodules.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from yagent.errors import YagentError
from yagent.records import dataclass
from yagent.runtime.supervise import in_thread
from yagent.workspace.git import Git, reason

MOST_FILES: Final = 200_000
MOST_BYTES: Final = 4 * 1024**3
CHECKOUT_SECONDS: Final = 300.0
SMALL: Final = 1024 * 1024  # bytes; a larger file of git's own is not carried over

_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_CARRIED = re.compile(
    r"user\.(name|email)|(author|committer)\.(name|email)"
    r"|core\.(autocrlf|eol|safecrlf|filemode|ignorecase|precomposeunicode|symlinks|quotepath)"
    r"|branch\..+\.(remote|merge)|remote\..+\.fetch",
    re.IGNORECASE | re.DOTALL,
)
_NO_LARGE_FILES = ("filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false")  # it would ask a server


class CopyError(YagentError):
    """The repository cannot be had as it was at that commit."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy: its top directory, and the original's."""

    root: Path
    original: Path
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """What is taken over from the original."""

    root: Path
    objects: Path
    own_files: Mapping[str, bytes]
    object_format: str


async def copy_repository(git: Git, directory: Path, commit: str, branch: str | None, within: Path) -> Copied:
    """Copy the repository around `directory` as it was at `commit`, with `branch` checked out (None: no branch), to a directory of the same
    name `within` another.

    Raises CopyError when there is no such repository or commit, or when it is too large.
    """
    if not _COMMIT.fullmatch(commit):
        raise CopyError(f"{commit!r} is no commit.")
    source = await _source(git, directory)
    if not await _says(git, source.root, "cat-file", "-t", f"{commit}^{{commit}}") == "commit":
        raise CopyError(f"The commit {commit[:12]} is not in {source.root} any more.")
    remarks = await _judged(git, source.root, commit)
    target = within / (source.root.name or "repository")
    await in_thread(target.mkdir)
    await _done(git, target, "init", "--quiet", "--template=", f"--object-format={source.object_format}")
    references = await _references(git, source.root)
    settings = await _settings(git, source.root)
    await in_thread(_furnish, target / ".git", source, references, settings)
    name = f"refs/heads/{branch}"
    if branch and await _says(git, target, "check-ref-format", name) is not None:
        await _done(git, target, "symbolic-ref", "HEAD", name)
    await _done(git, target, "update-ref", *(() if branch else ("--no-deref",)), "HEAD", commit)
    answer = await git.ask(target, "reset", "--quiet", "--hard", filters_off=_NO_LARGE_FILES, seconds=CHECKOUT_SECONDS)
    if answer is None or answer.code != 0:
        raise CopyError(f"The files of {commit[:12]} could not be written to {target}: {reason(answer, 'git reset')}")
    return Copied(target, source.root, remarks)


async def _source(git: Git, directory: Path) -> _Source:
    place = (await git.place(directory)).facts
    if place.root is None:
        raise CopyError(f"{directory} is not in the working tree of a git repository any more.")
    names = ("objects", "shallow", "info/exclude")
    asked = [part for name in names for part in ("--git-path", name)]
    told = await _says(git, place.root, "rev-parse", *asked)
    paths = [place.root / line for line in (told or "").split("\n")]
    if len(paths) != len(names):
        raise CopyError(f"Where git keeps the objects of {place.root} cannot be told.")
    own = await in_thread(_read_small, dict(zip(names[1:], paths[1:], strict=True)))
    return _Source(place.root, paths[0], own, await _says(git, place.root, "rev-parse", "--show-object-format") or "sha1")


async def _judged(git: Git, root: Path, commit: str) -> tuple[str, ...]:
    """What to know about the files of a commit. Raises `CopyError` when they are too many or too large."""
    listed = await git.ask(root, "ls-tree", "-r", "-l", "-z", "--full-tree", commit, seconds=CHECKOUT_SECONDS)
    if listed is None or (listed.code != 0 and not listed.truncated):
        raise CopyError(f"The files of {commit[:12]} cannot be listed: {reason(listed, 'git ls-tree')}")
    heads = [entry.partition(b"\t")[0].split() for entry in listed.output.split(b"\0")]
    sizes = [int(head[3]) if head[3].isdigit() else 0 for head in heads if len(head) == 4]
    if listed.truncated or len(sizes) > MOST_FILES or sum(sizes) > MOST_BYTES:
        raise CopyError(f"The repository is too large for a copy (more than {MOST_FILES} files or {MOST_BYTES // 1024**3} GiB).")
    submodules = sum(head[:1] == [b"160000"] for head in heads)
    return (f"{submodules} submodules stay empty in the copy.",) if submodules else ()


async def _references(git: Git, root: Path) -> bytes:
    """Branches and tags as a file of git's; too many are left out."""
    answer = await git.ask(root, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes")
    return answer.output if answer is not None and answer.code == 0 else b""


async def _settings(git: Git, root: Path) -> str:
    """The lines of the configuration that the copy takes over."""
    answer = await git.ask(root, "config", "--list", "--local", "-z")
    listed = os.fsdecode(answer.output).split("\0") if answer is not None and answer.code == 0 else []
    return "".join(_lines(setting.partition("\n")) for setting in listed if _CARRIED.fullmatch(setting.partition("\n")[0]))


def _lines(setting: tuple[str, str, str]) -> str:
    """A setting as git's configuration file has it; nothing when it holds what such a file could take for something else."""
    key, _, value = setting
    section, _, name = key.rpartition(".")
    head, dot, rest = section.partition(".")
    if not (rest + value).isprintable():
        return ""
    label = f'{head} "{_escaped(rest)}"' if dot else head
    return f'[{label}]\n\t{name} = "{_escaped(value)}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _read_small(paths: Mapping[str, Path]) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file() and path.stat().st_size <= SMALL}


def _furnish(directory: Path, source: _Source, references: bytes, settings: str) -> None:
    """Give the new git directory what it shares with the original."""
    (directory / "info").mkdir(exist_ok=True)
    (directory / "objects/info").mkdir(exist_ok=True)
    (directory / "objects/info/alternates").write_bytes(os.fsencode(source.objects) + b"\n")
    for name, data in source.own_files.items():
        (directory / name).write_bytes(data)
    if references:
        (directory / "packed-refs").write_bytes(references)
    with (directory / "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
        config.write(settings)


async def _says(git: Git, directory: Path, *arguments: str) -> str | None:
    """What git prints, without the last line end; None when it fails."""
    answer = await git.ask(directory, *arguments)
    return None if answer is None or answer.code != 0 else os.fsdecode(answer.output).removesuffix("\n")


async def _done(git: Git, directory: Path, *arguments: str) -> None:
    answer = await git.ask(directory, *arguments)
    if answer is None or answer.code != 0:
        raise CopyError(f"The copy in {directory} could not be made: {reason(answer, f'git {arguments[0]}')}")
