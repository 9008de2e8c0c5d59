"""git: what a command that works inside the repository would lose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from yagent.records import dataclass
from yagent.workspace.programs.git_commands import COMPLETE, VALUED_LETTERS
from yagent.workspace.programs.given import Given, given
from yagent.workspace.shell_syntax.words import Word

_PATHSPEC = re.compile(r":|.*[*?\[\\]", re.DOTALL)
"""What no name of a branch or commit may be."""

_MESSAGE = frozenset({"-m", "--message"})


@dataclass(frozen=True, slots=True)
class _Losing:
    """The options and second verbs by which a command loses something."""

    letters: str = ""
    longs: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()


def _losing(letters: str = "", longs: str = "", verbs: str = "") -> _Losing:
    return _Losing(letters, tuple(longs.split()), frozenset(verbs.split()))


_LOSSES: dict[str, _Losing] = {
    "reset": _losing(longs="--hard --merge --keep"),
    "switch": _losing("fCm", "--discard-changes --force --force-create --merge --conflict"),
    "stash": _losing(verbs="drop clear"),
    "branch": _losing("dDfMC", "--delete --force"),
    "tag": _losing("df", "--delete --force"),
    "worktree": _losing("fB", "--force", "remove prune move unlock"),
    "rm": _losing("f", "--force"),
    "mv": _losing("f", "--force"),
    "bisect": _losing(verbs="run reset visualize view start"),
    "notes": _losing("f", "--force", "remove prune edit"),
    "read-tree": _losing("u", "--reset --index-output"),
    "apply": _losing(longs="--build-fake-ancestor"),
}
_CHECKOUT = _losing("fBpm", "--force --patch --merge --conflict --pathspec-from-file --ours --theirs --no-overlay")
_RESTORE = _losing("W", "--worktree --no-staged")


def lost_by(verb: str, words: Sequence[Word], exists: Callable[[Word], bool]) -> str:
    """Return what a git command would lose, "" when nothing is. `exists` says whether a word names a file."""
    if verb not in ("commit", "add", "tag") and any(word.value is None for word in words):
        return "has words that are only known when it runs"
    options = given(words, VALUED_LETTERS.get(verb, ""), complete=COMPLETE)
    if verb == "checkout":
        return _by_checkout(options, words, exists)
    if verb == "restore":
        return _by_restore(options, words)
    losing = _LOSSES.get(verb)
    if losing is None:
        return ""
    if _is_given(losing, options):
        return "can lose work"
    spoken = (word.value for word, before in zip(words, (None, *words), strict=False) if before is None or before.value not in _MESSAGE)
    return "can lose work, or runs a program" if not losing.verbs.isdisjoint(spoken) else ""


def _is_given(losing: _Losing, options: Given) -> bool:
    return options.letter(losing.letters) or options.long(losing.longs)


def _by_checkout(options: Given, words: Sequence[Word], exists: Callable[[Word], bool]) -> str:
    operands = [word for word in words if not word.text.startswith("-")]
    creates = options.letter("b") or not options.longs.isdisjoint({"--orphan", "--track"})
    if (
        _is_given(_CHECKOUT, options)
        or any(word.text == "--" for word in words)
        or any(_PATHSPEC.match(word.text) or exists(word) for word in operands)
        or (len(operands) > 1 and not creates)
    ):
        return "can overwrite uncommitted work"
    return ""


def _by_restore(options: Given, words: Sequence[Word]) -> str:
    staged = any(word.text == "--staged" or re.fullmatch(r"-q*Sq*", word.text) for word in words)
    return "" if staged and not _is_given(_RESTORE, options) else "overwrites uncommitted work"
