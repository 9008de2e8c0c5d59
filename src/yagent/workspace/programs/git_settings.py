"""Does a repository's own configuration start programs?

Reading git commands are free only while it does not (I-05). The settings are compared with those known to be harmless, so that a
program-naming setting of a later git asks instead of passing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from yagent.workspace.file_system import FileSystem
from yagent.workspace.git_directory import common_directory, git_directory

MAX_BYTES = 256 * 1024
MAX_CONFIGURATIONS = 64

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$")

_HARMLESS_SECTIONS = frozenset(
    {
        *(
            "user",
            "author",
            "committer",
            "branch",
            "init",
            "pull",
            "color",
            "column",
            "advice",
            "status",
            "rerere",
            "apply",
            "blame",
            "push",
        ),
        *(
            "commit",
            "tag",
            "log",
            "gc",
            "pack",
            "index",
            "feature",
            "lfs",
            "http",
            "https",
            "url",
            "format",
            "versionsort",
            "grep",
            "stash",
        ),
        *(
            "maintenance",
            "worktree",
            "checkout",
            "clone",
            "rebase",
            "transfer",
            "receive",
            "commitgraph",
            "i18n",
            "clean",
            "safe",
            "whatchanged",
        ),
    }
)
_HARMLESS: dict[str, frozenset[str]] = {
    "core": frozenset(
        {
            *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf"),
            *(
                "eol",
                "safecrlf",
                "quotepath",
                "abbrev",
                "compression",
                "bigfilethreshold",
                "longpaths",
                "protecthfs",
                "protectntfs",
                "trustctime",
            ),
            *(
                "whitespace",
                "untrackedcache",
                "preloadindex",
                "sparsecheckout",
                "sparsecheckoutcone",
                "commentchar",
                "excludesfile",
                "hookspath",
            ),
            *("sharedrepository", "checkstat", "fscache", "multipackindex", "commitgraph", "attributesfile", "deltabasecachelimit"),
        }
    ),
    "remote": frozenset({"url", "pushurl", "fetch", "push", "tagopt", "prune", "prunetags", "mirror", "promisor", "partialclonefilter"}),
    "submodule": frozenset({"url", "active", "branch", "path", "ignore", "recurse", "fetchrecursesubmodules"}),
    "diff": frozenset(
        {"renames", "renamelimit", "algorithm", "context", "mnemonicprefix", "noprefix", "colormoved", "xfuncname", "wordregex", "binary"}
    ),
    "merge": frozenset({"conflictstyle", "ff", "renames", "log", "name"}),
    "fetch": frozenset({"prune", "prunetags", "all", "parallel", "recursesubmodules"}),
    "extensions": frozenset({"objectformat", "partialclone", "refstorage", "noop"}),
    "credential": frozenset({"username"}),
    "gpg": frozenset({"format"}),
}
_LARGE_FILES = frozenset({("clean", "git-lfs clean -- %f"), ("smudge", "git-lfs smudge -- %f"), ("process", "git-lfs filter-process")})


def program_named(directory: str, environment: Mapping[str, str], file_system: FileSystem) -> str:
    """Return the setting (`core.fsmonitor`), hook or file that may start a program when git reads here, "" when there is none."""
    repository = git_directory(directory, environment, file_system)
    if repository is None:
        return ""
    common = common_directory(repository, environment, file_system)
    files = [f"{common}/config", f"{repository}/config.worktree", *_of_submodules(f"{common}/modules", file_system)]
    if len(files) > MAX_CONFIGURATIONS:
        return "the configuration of many submodules"
    for file in files:
        found = _in_file(file, common, file_system)
        if found:
            return found
    if file_system.look(f"{common}/hooks/post-index-change") is not None:
        return "the hook post-index-change"
    return ""


def settings_in(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, subsection, name and value of a git configuration; the name is "" for a line that is not understood."""
    section = subsection = ""
    for line in text.replace("\\\n", " ").splitlines():
        rest = line.strip()
        header = _SECTION.match(rest)
        if header:
            section, _, dotted = header[1].lower().partition(".")
            subsection = header[2] if header[2] is not None else dotted
            rest = rest[header.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        setting = _SETTING.match(rest)
        yield (section, subsection, setting[1].lower(), (setting[2] or "").strip()) if setting else (section, subsection, "", rest)


def _in_file(file: str, common: str, file_system: FileSystem) -> str:
    if file_system.look(file) is None:
        return ""
    text = file_system.text(file, MAX_BYTES)
    if text is None or len(text) >= MAX_BYTES:
        return f"the file {file}, which cannot be read"
    for section, subsection, name, value in settings_in(text):
        shown = ".".join(part for part in (section, subsection, name or "(a line that is not understood)") if part)
        if not _is_harmless(section, name, value):
            return shown
        if (section, name) == ("core", "hookspath") and _has_index_hook(value, common, file_system):
            return f"{shown} (post-index-change)"
    return ""


def _is_harmless(section: str, name: str, value: str) -> bool:
    if not name:
        return False
    if section == "filter":
        return name == "required" or (name, value) in _LARGE_FILES
    if (section, name) == ("core", "fsmonitor"):
        return value.lower() in ("false", "0", "no", "off", "true", "1", "yes", "on")
    if section in _HARMLESS:
        return name in _HARMLESS[section]
    return section in _HARMLESS_SECTIONS and not name.endswith(("program", "command", "cmd", "helper", "tool"))


def _has_index_hook(value: str, common: str, file_system: FileSystem) -> bool:
    value = value.strip('"')
    if value.startswith(("~", "$")):
        return False
    directory = posixpath.join(posixpath.dirname(common), value)
    return file_system.look(f"{directory}/post-index-change") is not None


def _of_submodules(modules: str, file_system: FileSystem) -> list[str]:
    found: list[str] = []
    waiting = [modules]
    while waiting and len(found) <= MAX_CONFIGURATIONS:
        directory = waiting.pop()
        names = file_system.names(directory)
        if "HEAD" in names and "config" in names:
            found.append(f"{directory}/config")
            waiting.append(f"{directory}/modules")
        elif len(names) <= MAX_CONFIGURATIONS:
            waiting += [f"{directory}/{name}" for name in names]
    return found
