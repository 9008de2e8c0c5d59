"""git: which commands only read, which work inside the repository, which lose work, publish or reach the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from yagent.records import dataclass
from yagent.workspace.programs.git_commands import (
    BARE_READS,
    COMPLETE,
    LOSING,
    NETWORK,
    ONLY_AFTER,
    PUBLISHING,
    READING,
    SETTINGS,
    VALUED_LETTERS,
    WORKING,
)
from yagent.workspace.programs.git_losses import lost_by
from yagent.workspace.programs.given import given
from yagent.workspace.programs.options import Arguments, read_arguments
from yagent.workspace.programs.outputs import outputs
from yagent.workspace.programs.rating import HARMLESS, Nature, Rating, Read, Write, asking
from yagent.workspace.shell_syntax.words import Word

_TEXT_AFTER = frozenset({"-m", "--message", "--author", "--date", "--trailer", "--fixup", "--squash", "-C", "-c", "--format"})
_RUNS_PROGRAMS = (
    *("--exec", "--template", "--separate-git-dir", "--interactive", "--edit-todo", "--upload-pack", "--receive-pack", "--remote"),
    "--unsafe-paths",
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
    options = given(call.words, VALUED_LETTERS.get(call.verb, ""), complete=COMPLETE)
    if options.letter("xi") or options.long(_RUNS_PROGRAMS):
        return asking("git_option", f"git {call.verb} is given an option that runs programs or waits for an editor")
    lost = lost_by(call.verb, call.words, exists)
    if lost:
        return asking("loses_work", f"git {call.verb} {lost}")
    mentions = [*call.directories, *_mentioned(call.words)]
    writes = tuple(Write(word, "replace", fills=True) for word in outputs("git", call.words)) if call.verb in _WRITES_FILES else ()
    if call.verb == "bundle" and [word.value for word in call.words[:1]] == ["create"]:
        writes = tuple(Write(word, "replace") for word in call.words[1:] if not word.text.startswith("-"))[:2]  # one may be a version
    return Rating(Nature.OPAQUE, writes=writes, mentions=tuple(mentions), pattern=f"git {call.verb} *" if call.verb in _PATTERNS else "")


_MAGIC = re.compile(r":(?:\([^)]*\)|[/!^]+:?)")
"""Source: gitglossary(7), pathspec."""
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
            result.append(plain_pathspec(word))
    return result


def plain_pathspec(word: Word) -> Word:
    """A pathspec without its magic, which only says how it is matched: `:/src` and `:(top)src` lie below the top of the repository."""
    if word.value is None or not _MAGIC.match(word.text):
        return word
    return Word(word.source, _MAGIC.sub("", word.text, count=1) or ".")
