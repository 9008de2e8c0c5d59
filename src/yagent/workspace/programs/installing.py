"""Package managers: an install is free under `-y` only when what it fills is inside the workspace and nothing comes from a URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from yagent.workspace.programs.given import abbreviates, letters_of
from yagent.workspace.programs.rating import Nature, Rating, asking
from yagent.workspace.shell_syntax.words import Word

_URL = re.compile(r"(?:.*@\s*)?(?:[a-z][a-z0-9+.-]*://|git@|git\+|github:|gitlab:|file:)", re.IGNORECASE)
_ELSEWHERE = (
    *("-i", "-f", "--index-url", "--extra-index-url", "--find-links", "--index", "--default-index", "--registry", "--source", "--proxy"),
    *("--trusted-host", "--git", "--cert", "--client-cert", "--keyring-provider", "--config-settings", "--python", "--constraint-url"),
)
_OUTSIDE = (
    "-g",
    "--global",
    "--location",
    "--user",
    "--prefix",
    "--root",
    "--target",
    "-t",
    "--system",
    "--break-system-packages",
    "--dir",
)

_INTO_PROJECT: dict[str, frozenset[str]] = {
    "npm": frozenset(
        {"install", "i", "ci", "add", "uninstall", "remove", "rm", "update", "dedupe", "prune", "rebuild", "install-test", "it"}
    ),
    "pnpm": frozenset({"install", "i", "add", "remove", "update", "prune", "rebuild", "import"}),
    "yarn": frozenset({"install", "add", "remove", "upgrade", "up", "dedupe"}),
    "bun": frozenset({"install", "i", "add", "remove", "update"}),
    "uv": frozenset({"add", "remove", "sync", "lock", "venv"}),
    "composer": frozenset({"install", "require", "update", "remove", "dump-autoload"}),
    "pdm": frozenset({"install", "add", "remove", "sync", "lock", "update"}),
    "cargo": frozenset({"add", "remove", "update", "fetch", "vendor"}),
    "go": frozenset({"mod", "get"}),
    "bundle": frozenset(),
    "poetry": frozenset(),
    "deno": frozenset(),
}
"""Commands that fill the project's own directory."""

_ELSEWHERE_VERBS: dict[str, frozenset[str]] = {
    "npm": frozenset(
        {"exec", "x", "init", "create", "link", "config", "set", "token", "access", "owner", "dist-tag", "star", "explore", "edit"}
    ),
    "pnpm": frozenset({"dlx", "exec", "create", "link", "config", "env", "setup", "store"}),
    "yarn": frozenset({"dlx", "exec", "create", "link", "config", "global", "set"}),
    "bun": frozenset({"x", "create", "link", "upgrade"}),
    "uv": frozenset({"tool", "python", "self", "cache"}),
    "composer": frozenset({"global", "create-project", "config", "exec"}),
    "cargo": frozenset({"install", "uninstall", "owner"}),
    "go": frozenset({"install", "env", "clean", "telemetry"}),
    "bundle": frozenset({"install", "update", "add", "config", "exec"}),
    "poetry": frozenset({"install", "add", "update", "remove", "sync", "self", "config", "env", "source", "cache"}),
    "deno": frozenset({"install", "add", "upgrade", "compile"}),
    "pdm": frozenset({"self", "config", "cache", "python"}),
}
"""Commands that fill a shared place, fetch and run something, or change settings."""


def rate_install(name: str, words: Sequence[Word], environment_inside: Callable[[str], bool]) -> Rating | None:
    """Rate an install, None when it is none. `environment_inside(program)` says whether a program's environment is in the workspace."""
    if re.fullmatch(r"pip[0-9.]*", name):
        return _pip(name, words, environment_inside)
    if re.fullmatch(r"(python|pypy)[0-9.]*", name) and [word.value for word in words[:2]] == ["-m", "pip"]:
        return _pip(name, words[2:], environment_inside)
    if name == "uv" and words and words[0].value == "pip":
        return _pip("uv", words[1:], environment_inside)
    verb = next((word.value for word in words if not word.text.startswith("-")), "")
    if name == "yarn" and not verb:
        verb = "install"
    if verb in _ELSEWHERE_VERBS.get(name, ()):
        return asking("installs", f"{name} {verb} installs outside the workspace, or fetches and runs something, or changes settings")
    if verb not in _INTO_PROJECT.get(name, ()):
        return None
    return _unusual(name, words) or Rating(Nature.OPAQUE, mentions=tuple(words), pattern="")


def _pip(name: str, words: Sequence[Word], environment_inside: Callable[[str], bool]) -> Rating:
    verb = words[0].value if words else "help"
    if verb in ("list", "show", "freeze", "check", "help", "--version", "debug"):
        return Rating(Nature.OPAQUE, pattern=f"{name} {verb} *", lasting=False)
    if verb not in ("install", "uninstall", "download", "wheel", "sync", "compile"):
        return asking("installs", f"{name} {verb or '(not known yet)'} is not certain to stay inside the workspace")
    refused = _unusual(name, words)
    if refused is not None:
        return refused
    if not environment_inside(name):
        return asking("installs", f"{name} {verb} changes an environment outside the workspace")
    return Rating(Nature.OPAQUE, mentions=tuple(words))


def _unusual(name: str, words: Sequence[Word]) -> Rating | None:
    longs = [option for option in (*_OUTSIDE, *_ELSEWHERE) if option.startswith("--")]
    letters = {option[1] for option in (*_OUTSIDE, *_ELSEWHERE) if len(option) == 2}
    for word in words:
        value = word.value
        if value is None:
            return asking("installs", f"{name} is given words that are only known when it runs")
        option = value.split("=", 1)[0]
        short = letters_of(value, "rec") if name not in _SPELLED_OUT else option[1:] if len(option) == 2 and option[0] == "-" else ""
        if option in _OUTSIDE or (option not in _COMPLETE and abbreviates(option, longs)) or letters.intersection(short):
            return asking("installs", f"{name} {value} can install outside the workspace, or from elsewhere")
        if _URL.match(value):
            return asking("installs", f"{name} is told to install from {value}")
    return None


_COMPLETE = frozenset({"--pre"})
"""Options that begin as longer ones do, and are no abbreviations of them."""

_SPELLED_OUT = frozenset({"go"})
"""Programs whose options are words after one dash."""
