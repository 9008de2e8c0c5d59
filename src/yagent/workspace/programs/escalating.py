"""Options that an allow rule's `*` does not cover: they run something else, or write elsewhere, than what the user saw."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from yagent.records import dataclass
from yagent.workspace.programs.git import take_apart
from yagent.workspace.programs.git_commands import COMPLETE, VALUED_LETTERS
from yagent.workspace.programs.given import abbreviates, letters_of
from yagent.workspace.programs.known_actors import PASSING_ON
from yagent.workspace.programs.outputs import ARCHIVERS, TOLD_BY_ARCHIVERS
from yagent.workspace.shell_syntax.commands import Command
from yagent.workspace.shell_syntax.words import Word
from yagent.workspace.shell_syntax.wrappers import FORMS

EVERYWHERE = (
    *("--force", "--hard", "--delete", "--mirror", "--exec", "--output", "--eval", "--config", "--global", "--system", "--privileged"),
    *("--index-url", "--extra-index-url", "--no-verify", "--unsafe", "--upload", "--publish", "--plugin"),
)


@dataclass(frozen=True, slots=True)
class Beyond:
    """What must be spelled out for a program: `letters` (after `valued` ones a word goes on with a value), `longs` and all that begin
    so, `spelled`: beginnings of words in a way of its own. `complete` long options are none of these by abbreviation."""

    letters: str = ""
    longs: tuple[str, ...] = ()
    valued: str = ""
    spelled: re.Pattern[str] | None = None
    complete: frozenset[str] = frozenset()

    def covers(self, text: str) -> bool:
        """Say whether a word has to be spelled out."""
        if self.spelled is not None and self.spelled.match(text):
            return True
        if not text.startswith("--"):
            return not frozenset(self.letters).isdisjoint(letters_of(text, self.valued))
        longs = (*EVERYWHERE, *self.longs)
        name = text.partition("=")[0]
        return text.startswith(longs) or (name not in self.complete and abbreviates(name, longs))


def _beyond(letters: str = "", longs: str = "", valued: str = "", spelled: str = "", complete: str = "") -> Beyond:
    return Beyond(letters, tuple(longs.split()), valued, re.compile(spelled) if spelled else None, frozenset(complete.split()))


_NOTHING_MORE = Beyond()
_PYTEST = _beyond(
    "pco",
    "--rootdir --confcutdir --override-ini --import-mode --basetemp --pyargs --pdbcls --cov-config --pastebin",
    valued="kmrnW",
    complete="--co --cov",
)
_GIT = _beyond(
    "cCfDdxpOi", "--exec-path --upload-pack --receive-pack --git-dir --work-tree --ext-diff --namespace", complete=" ".join(COMPLETE)
)
_GIT_LETTERS: dict[str, str] = {"commit": "n", "am": "n", "branch": "M", "checkout": "B", "worktree": "B"}
"""Letters that do more after one verb only."""

_TAR = _beyond(
    "CPIF",
    " ".join((*TOLD_BY_ARCHIVERS, "--directory", "--recursive-unlink", "--remove-files")),
    valued="fbTXgKLNVH",
)
_PACKAGES = "--prefix --script-shell --location --registry --cwd --dir"

BEYOND: dict[str, Beyond] = {
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    **dict.fromkeys(ARCHIVERS, _TAR),
    **dict.fromkeys(("npm", "pnpm"), _beyond("gC", _PACKAGES)),
    **dict.fromkeys(("yarn", "bun"), _beyond("", f"{_PACKAGES} --preload --require")),
    "make": _beyond("fCIE", "--file --directory --makefile --include-dir", valued="loWO"),
    "cargo": _beyond("ZC", "--manifest-path --target-dir", valued="pFj", complete="--target"),
    "go": _beyond(spelled="--?(?:exec|toolexec|vettool|o|ldflags|C|overlay|modfile)"),
    "rm": _beyond("rRf", "--recursive"),
    "find": _beyond(spelled="-(?:exec|ok|delete|fprint|fls)"),
    "sed": _beyond("if", "--in-place --file", valued="el"),
    "sort": _beyond("oT", "--temporary-directory --compress-program", valued="ktS"),
    "rg": _beyond("z", "--pre --hostname-bin --search-zip", valued="ABCefgtTmMdrEj"),
    "mypy": _beyond("", "--python-executable --install-types"),
    "eslint": _beyond("c", "--rulesdir --parser --resolve-plugins-relative-to", valued="fo"),
    "uv": _beyond("p", "--python --directory --project --with --index --default-index --find-links"),
    "poetry": _beyond("CP", "--directory --project"),
    "tox": _beyond("cx", "--workdir --root --installpkg --override", valued="ekmfp"),
    "nox": _beyond("f", "--noxfile", valued="septkrR"),
    "pylint": _beyond("", "--rcfile --load-plugins --init-hook"),
    "flake8": _beyond("", "--append-config"),
    "isort": _beyond("", "--settings-path --settings-file", spelled="-sp|--sp"),
    "bandit": _beyond("c", "--ini", valued="nxbtsf"),
    "pyright": _beyond("", "--pythonpath --venvpath"),
    "tsc": _beyond(spelled="(?i)--?(?:outDir|outFile|declarationDir|tsBuildInfoFile)$"),
    "jest": _beyond(
        "c",
        "--rootDir --setupFiles --globalSetup --globalTeardown --transform --testEnvironment --runner --resolver",
        valued="tw",
    ),
    "vitest": _beyond("cr", "--root --globalSetup", valued="t"),
    "mocha": _beyond("r", "--require --package --import --loader", valued="RgfuSst"),
    "ava": _beyond("", "--node-arguments"),
    "stylelint": _beyond("", "--custom-syntax --custom-formatter"),
    "clang-tidy": _beyond(spelled="--?(?:load|vfsoverlay|checks-plugin)"),
    "coverage": _beyond("", "--rcfile"),
    "rspec": _beyond("rIO", "--require --options --default-path", valued="fepto"),
    "rubocop": _beyond("rc", "--require", valued="fo"),
    "phpunit": _beyond("cd", "--bootstrap --configuration --include-path --extension"),
    "ctest": _beyond("SDMT", "--script --build-and-test --build-makeprogram --dashboard", valued="RELIjC"),
    "ninja": _beyond("fC", "", valued="jlkdtw"),
    "pre-commit": _beyond("c"),
    "golangci-lint": _beyond("c", "--modules-download-mode", valued="Ep"),
    "mvn": _beyond("", "--file --settings --global-settings --toolchains", spelled="-(?:f|s|gs|t)(?![a-z])"),
    "gradle": _beyond("bcpIg", "--build-file --settings-file --project-dir --init-script --gradle-user-home --include-build", valued="xPD"),
    "just": _beyond("fdc", "--justfile --working-directory --shell --dotenv-path --command"),
    "rake": _beyond("frReEpIC", "--rakefile --require --execute --libdir --rakelibdir"),
    "cmake": _beyond("PCE", "", valued="DGABSUj"),
}
"""By program. What the dialog offers a narrow pattern for is here, unless no such option is known of it."""


def escalating(command: Command) -> list[str]:
    """Return the words of a command that an allow rule must spell out."""
    name = posixpath.basename(command.name or "")
    words = command.words[1:]
    beyond, verb = _of(name, words)
    passes = name in PASSING_ON or name in FORMS
    makes = name in ("make", "env")
    found = []
    for index, word in enumerate(words):
        text = word.text
        if beyond.covers(text) or _is_reference(name, verb, text) or (makes and "=" in text) or (_is_bundle(name, index, text)):
            found.append(text)
        elif passes and posixpath.basename(text) in BEYOND:  # from here on it is that program's words
            beyond, makes = BEYOND[posixpath.basename(text)], makes or text == "make"
    return found


def _of(name: str, words: Sequence[Word]) -> tuple[Beyond, str]:
    if name != "git":
        return BEYOND.get(name, _NOTHING_MORE), ""
    verb = take_apart(words).verb
    letters = _GIT.letters + _GIT_LETTERS.get(verb, "")
    longs = (*_GIT.longs, "--prune") if verb == "push" else _GIT.longs
    return Beyond(letters, longs, VALUED_LETTERS.get(verb, ""), complete=_GIT.complete), verb


def _is_reference(name: str, verb: str, text: str) -> bool:
    """Whether it makes `git push` delete a branch, or overwrite it whatever is there."""
    return name == "git" and (text.startswith("+") or (verb == "push" and text.startswith(":")))


def _is_bundle(name: str, index: int, text: str) -> bool:
    """Whether the letters that may stand first without a dash do more."""
    return name in ARCHIVERS and index == 0 and not text.startswith("-") and _TAR.covers(f"-{text}")
