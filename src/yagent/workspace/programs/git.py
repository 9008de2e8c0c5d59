"""git: which commands only read, which work inside the repository, which lose work, publish or reach the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from yagent.records import dataclass
from yagent.workspace.programs.acting import outputs
from yagent.workspace.programs.git_commands import BARE_READS, LOSING, NETWORK, ONLY_AFTER, PUBLISHING, READING, SETTINGS, WORKING
from yagent.workspace.programs.options import Arguments, read_arguments
from yagent.workspace.programs.rating import HARMLESS, Nature, Rating, Read, Write, asking
from yagent.workspace.shell_syntax.words import Word

_TEXT_AFTER = frozenset({"-m", "--message", "--author", "--date", "--trailer", "--fixup", "--squash", "-C", "-c", "--format"})
_RUNS_PROGRAMS = re.compile(
    r"-x.*|--exec(=.*)?|--template(=.*)?|--separate-git-dir(=.*)?|-i|--interactive|--edit-todo|--upload-pack.*|--receive-pack.*|--remote(=.*)?|--unsafe-paths"
)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A git command taken apart: directories of `-C`, the verb, its words. `unusual` names a global option that can run programs."""

    directories: tuple[Word, ...]
    verb: str
    words: tuple[Word, ...]
    unusual: str = ""


def take_apart(words: Sequence[Word]) -> Invocation:
    """Split the words after `git` at the verb."""
    directories: list[Word] = []
    index = 0
    while index < len(words):
        value = words[index].value
        if value == "-C" and index + 1 < len(words):
            directories.append(words[index + 1])
            index += 2
        elif value in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs"):
            index += 1
        elif value in ("--version", "--help", "-v", "-h"):
            return Invocation(tuple(directories), "version", ())
        elif value is None or value.startswith("-"):
            return Invocation(tuple(directories), _verb_behind(words[index:]), tuple(words[index:]), value or words[index].source)
        else:
            return Invocation(tuple(directories), value, tuple(words[index + 1 :]))
    return Invocation(tuple(directories), "", ())


def _verb_behind(words: Sequence[Word]) -> str:
    """The likely verb behind options that are not understood, for deny rules."""
    skip = False
    for word in words:
        value = word.value or ""
        if skip:
            skip = False
        elif value in ("-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "-C"):
            skip = True
        elif value and not value.startswith("-"):
            return value
    return ""


def rate_git(words: Sequence[Word], exists: Callable[[Word], bool], program_named: Callable[[Sequence[Word]], str]) -> Rating:
    """Rate a git command. `exists` says whether a word names a file; `program_named` what the configuration starts, given `-C` words."""
    call = take_apart(words)
    if call.unusual:
        return asking("git_option", f"git {call.unusual} can run programs or change settings")
    if not call.verb:
        return HARMLESS if not words else asking("git", "git is given options and no command")
    refused = _always_asks(call)
    if refused is not None and not _reads(call):
        return refused
    named = program_named(call.directories)
    if named:
        return asking("git_configuration", f"git {call.verb} may start a program here: the repository's own configuration has {named}")
    read = _reading(call)
    if read is not None:
        return read
    if call.verb not in WORKING:
        return asking("git_verb", f"git {call.verb} is not a command known here (it may be an alias or an extension)")
    return _working(call, exists)


def _always_asks(call: Invocation) -> Rating | None:
    if call.verb in PUBLISHING or call.verb == "remote":
        return asking("publishing", f"git {call.verb} changes what others see, or where it goes")
    if call.verb in NETWORK or call.verb == "submodule":
        return asking("network", f"git {call.verb} reaches another repository")
    if call.verb in SETTINGS:
        return asking("git_settings", f"git {call.verb} can change settings or start programs")
    if call.verb in LOSING:
        return asking("loses_work", f"git {call.verb} can lose work")
    return None


def _reads(call: Invocation) -> bool:
    return _reading(call) is not None


def _reading(call: Invocation) -> Rating | None:
    options = READING.get(call.verb)
    if options is None:
        return None
    words = call.words
    seconds = ONLY_AFTER.get(call.verb)
    bare = seconds is not None and (not words or words[0].value not in seconds)
    if bare and call.verb not in BARE_READS:
        return None
    words = words[1:] if seconds is not None and not bare else words
    arguments = read_arguments(words, options)
    if (
        arguments is None
        or any("%G" in word.text or "%(signature" in word.text for word in words)
        or (bare and not _is_bare_reading(call.verb, arguments))
    ):
        return None
    if (
        call.verb in ("branch", "tag")
        and arguments.operands
        and not arguments.has("-l", "--list", "--contains", "--points-at", "--merged", "--no-merged")
    ):
        return None
    if call.verb == "symbolic-ref" and len(arguments.operands) > 1:
        return None
    operands = arguments.operands[1:] if call.verb == "grep" and not arguments.has("-e") else arguments.operands
    reads = [*call.directories, *(part for word in operands for part in _paths_in(word))]
    # Outside a repository's tree directories are compared and searched with everything in them; `git diff` finds out by itself.
    everything = arguments.has("--no-index") or (call.verb == "diff" and any(_LEADS_AWAY.match(word.text) for word in operands))
    return Rating(Nature.READS, reads=tuple(Read(word, recursive=everything) for word in reads))


def _is_bare_reading(verb: str, arguments: Arguments) -> bool:
    """Without a second verb nothing may stand where git would look for one."""
    if verb == "reflog":
        return all(word.value is not None and not re.fullmatch(r"[a-z-]+", word.value) for word in arguments.operands)
    return not arguments.operands


def _paths_in(word: Word) -> tuple[Word, ...]:
    """`REVISION:path` names a path as well."""
    if word.value is None:
        return (word,)
    revision, colon, path = word.text.partition(":")
    if not colon or not revision or not path:
        return () if word.text.startswith((":", "^")) else (word,)
    return (Word(word.source, path),)


def _working(call: Invocation, exists: Callable[[Word], bool]) -> Rating:
    values = [word.value for word in call.words]
    if any(value is not None and _RUNS_PROGRAMS.fullmatch(value) for value in values):
        return asking("git_option", f"git {call.verb} is given an option that runs programs or waits for an editor")
    lost = _loses(call, values, exists)
    if lost:
        return asking("loses_work", f"git {call.verb} {lost}")
    mentions = [*call.directories, *_mentioned(call.words)]
    writes = tuple(Write(word, "replace", fills=True) for word in outputs("git", call.words)) if call.verb in _WRITES_FILES else ()
    if call.verb == "bundle" and [word.value for word in call.words[:1]] == ["create"]:
        writes = tuple(Write(word, "replace") for word in call.words[1:] if not word.text.startswith("-"))[:1]
    return Rating(Nature.OPAQUE, writes=writes, mentions=tuple(mentions), pattern=f"git {call.verb} *" if call.verb in _PATTERNS else "")


_LEADS_AWAY = re.compile(r"/|~|\.\.(/|$)|.*/\.\.(/|$)")
_WRITES_FILES = frozenset({"archive", "format-patch"})
_PATTERNS = frozenset({"add", "commit", "mv", "merge", "cherry-pick", "revert", "tag", "apply"})


def _mentioned(words: Sequence[Word]) -> list[Word]:
    """The words that may be paths: messages and the like are not."""
    result: list[Word] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text in _TEXT_AFTER:
            skip = True
        elif not word.text.startswith(("--message=", "--author=", "--date=", "-m", "--trailer=")):
            result.append(word)
    return result


def _loses(call: Invocation, values: Sequence[str | None], exists: Callable[[Word], bool]) -> str:
    """Return what would be lost, "" when nothing is."""
    given = {value for value in values if value is not None and value.startswith("-")}
    if None in values and call.verb not in ("commit", "add", "tag"):
        return "has words that are only known when it runs"
    check = _LOSSES.get(call.verb)
    return check(call, given, exists) if check else ""


def _short(given: set[str], letters: str) -> bool:
    return any(re.fullmatch(r"-[A-Za-z]+", option) and any(letter in option for letter in letters) for option in given)


def _loses_checkout(call: Invocation, given: set[str], exists: Callable[[Word], bool]) -> str:
    operands = [word for word in call.words if not word.text.startswith("-")]
    if _short(given, "fBp") or "--force" in given or "--patch" in given or "--" in given:
        return "can overwrite uncommitted work"
    if any(option.startswith("--pathspec-from-file") for option in given):
        return "can overwrite uncommitted work"
    creates = _short(given, "b") or bool(given & {"--orphan", "--track"})
    if any(exists(word) for word in operands) or (len(operands) > 1 and not creates):
        return "can overwrite uncommitted work"
    return ""


def _loses_reset(call: Invocation, given: set[str], exists: Callable[[Word], bool]) -> str:
    return "drops uncommitted work" if given & {"--hard", "--merge", "--keep"} else ""


def _loses_restore(call: Invocation, given: set[str], exists: Callable[[Word], bool]) -> str:
    staged_only = ("--staged" in given or "-S" in given) and not (given & {"--worktree", "-W"})
    return "" if staged_only else "overwrites uncommitted work"


def _loses_by_options(*options: str, letters: str = "") -> Callable[[Invocation, set[str], Callable[[Word], bool]], str]:
    def check(call: Invocation, given: set[str], exists: Callable[[Word], bool]) -> str:
        return "can lose work" if given & set(options) or (letters and _short(given, letters)) else ""

    return check


def _loses_after(*verbs: str) -> Callable[[Invocation, set[str], Callable[[Word], bool]], str]:
    def check(call: Invocation, given: set[str], exists: Callable[[Word], bool]) -> str:
        return "can lose work, or runs a program" if call.words and call.words[0].value in verbs else ""

    return check


_LOSSES: dict[str, Callable[[Invocation, set[str], Callable[[Word], bool]], str]] = {
    "checkout": _loses_checkout,
    "reset": _loses_reset,
    "restore": _loses_restore,
    "switch": _loses_by_options("--discard-changes", "--force", "--force-create", letters="fC"),
    "stash": _loses_after("drop", "clear"),
    "branch": _loses_by_options("--delete", "--force", letters="dDfMC"),
    "tag": _loses_by_options("--delete", "--force", letters="df"),
    "worktree": _loses_after("remove", "prune", "move", "unlock"),
    "rm": _loses_by_options("--force", letters="f"),
    "mv": _loses_by_options("--force", letters="f"),
    "bisect": _loses_after("run", "reset", "visualize", "view", "start"),
    "notes": _loses_after("remove", "prune", "edit"),
    "read-tree": _loses_by_options("--reset", letters="u"),
    "apply": _loses_by_options("--unsafe-paths"),
}
