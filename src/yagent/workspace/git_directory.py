"""Where a repository's git directory is, found as git finds it but without starting git: it is asked on the way to every first request."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path

from yagent.workspace.file_system import FileSystem


def git_directories(directory: str, environment: Mapping[str, str], file_system: FileSystem) -> tuple[Path, ...]:
    """The git directory that is used in `directory` and the one it shares hooks and configuration with; none outside a repository."""
    repository = git_directory(directory, environment, file_system)
    if repository is None:
        return ()
    return tuple(dict.fromkeys((Path(repository), Path(common_directory(repository, environment, file_system)))))


def git_directory(directory: str, environment: Mapping[str, str], file_system: FileSystem) -> str | None:
    """GIT_DIR, else `.git` here or above (a file of that name says where it is), else a bare repository here or above."""
    told = environment.get("GIT_DIR")
    if told:
        return posixpath.normpath(posixpath.join(directory, told))
    current = directory.rstrip("/") or "/"
    while True:
        entry = file_system.look(f"{current.rstrip('/')}/.git")
        if entry is not None:
            return _pointed_to(current, f"{current.rstrip('/')}/.git", file_system)
        if all(file_system.look(f"{current}/{name}") is not None for name in ("HEAD", "objects", "refs")):
            return current
        if current == "/":
            return None
        current = posixpath.dirname(current)


def tree_around(directory: str, file_system: FileSystem) -> str:
    """The top of the working tree that a directory is in, the directory itself where there is none."""
    current = directory.rstrip("/") or "/"
    while file_system.look(f"{current.rstrip('/')}/.git") is None:
        if current == "/":
            return directory
        current = posixpath.dirname(current)
    return current


def _pointed_to(current: str, path: str, file_system: FileSystem) -> str:
    text = file_system.text(path, 4096)
    if text is None or not text.startswith("gitdir:"):
        return path
    return posixpath.normpath(posixpath.join(current, text.removeprefix("gitdir:").strip()))


def common_directory(repository: str, environment: Mapping[str, str], file_system: FileSystem) -> str:
    """The directory whose hooks and configuration a git directory uses: its own, but for a worktree's."""
    told = environment.get("GIT_COMMON_DIR")
    text = told or file_system.text(f"{repository}/commondir", 4096)
    return repository if text is None else posixpath.normpath(posixpath.join(repository, text.strip()))
