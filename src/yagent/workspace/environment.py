"""The environment that commands get: the user's, without secrets, and set so that nothing asks, pages or paints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from yagent.patterns import pattern
from yagent.records import dataclass

_SECRET_NAME = pattern(
    r"(?:^|_)(?:API_?KEYS?|ACCESS_?KEY(?:_ID)?|SECRETS?|SECRET_?KEY|PRIVATE_?KEY|TOKENS?|PASSW(?:OR)?D|PASSPHRASE|PASS|PWD|CREDENTIALS?|PAT|JWT)(?:_|$)"
    r"|(?:^|_)(?<!PUBLIC_)(?:KEY|AUTH|COOKIES?)(?:_?\d+)?$"
    r"|(?:APIKEY|TOKEN|SECRET|PASSWORD)$"
    r"|(?<!ASK)(?<!COM)(?<!BY)(?<!SUR)(?<!TRES)PASS$",
    re.IGNORECASE,
)
_NOT_SECRET = frozenset(
    {"PWD", "OLDPWD", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "XAUTHORITY", "TOKENIZERS_PARALLELISM", "SECRETS_DIR", "GPG_KEY"}
)
"""`GPG_KEY` is the fingerprint that images of Python carry."""

_SECRET_VALUE = pattern(
    r"(?:sk-|sk_live_|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|hf_|npm_|pypi-)[A-Za-z0-9_\-]{12,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\."
    r"|[A-Za-z][A-Za-z0-9+.\-]*://[^\s/?#@:]*:[^\s/?#@]+@"
)
"""Last: a JSON web token, and an address with a password in it."""

_PATH_SUFFIXES = ("_FILE", "_PATH", "_DIR", "_HELPER", "_SOCK", "_URL", "_PROGRAM")

_CHANGES_READING = pattern(
    r"CDPATH|GLOBIGNORE|EXECIGNORE|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|BASH_COMPAT|BASH_ENV|ENV|BASH_FUNC_.*|BASH_LOADABLES_PATH|BASH_XTRACEFD"
    r"|PROMPT_COMMAND|PS[0124]|IFS|(?s:__BASH_FUNC<.*)"
)
"""With these bash reads a line in another way than it was judged, or runs more than the line says."""

_ORDINARY = frozenset({"PS0", "PS1", "PS2", "PS4", "IFS", "SHELLOPTS", "BASHOPTS"})
"""Of these, what many users have exported for their own prompt: no word is lost about them."""

_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "BAT_PAGER": "cat",
    "DELTA_PAGER": "cat",
    "GH_PAGER": "cat",
    "PSQL_PAGER": "cat",
    "AWS_PAGER": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",  # an edit of equal length in the same second would leave stale bytecode, and tests the old result
    "GH_PROMPT_DISABLED": "1",
    "COMPOSER_NO_INTERACTION": "1",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
}


@dataclass(frozen=True, slots=True)
class ChildEnvironment:
    """An environment for commands, and the names of what was kept from it: `removed` look secret, `changing` make the shell do other things
    than a line says (only those whose values can run something or are functions are worth a word)."""

    variables: Mapping[str, str]
    removed: tuple[str, ...]
    changing: tuple[str, ...] = ()


def child_environment(
    parent: Mapping[str, str], *, temporary: Path, pass_env: tuple[str, ...] = (), provider_keys: frozenset[str] = frozenset()
) -> ChildEnvironment:
    """Everything in `parent` except `provider_keys`, what looks like a secret by name or value (`pass_env` names exceptions), and what
    makes bash read or run a line in another way than it was judged.

    Source: decisions, "Child environment".
    """
    removed = sorted(
        name for name, value in parent.items() if name not in pass_env and (name in provider_keys or looks_secret(name, value))
    )
    changing = sorted(name for name in parent if _CHANGES_READING.fullmatch(name) and name not in removed)
    variables = {name: value for name, value in parent.items() if name not in removed and name not in changing}
    variables |= _QUIET | {"TMPDIR": str(temporary)}
    return ChildEnvironment(variables, tuple(removed), tuple(name for name in changing if name not in _ORDINARY))


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, judged by its name and by the shape of its value."""
    if not value or name in _NOT_SECRET:
        return False
    if _SECRET_VALUE.search(value):
        return True
    return bool(_SECRET_NAME.search(name)) and not name.upper().endswith(_PATH_SUFFIXES) and value not in ("0", "1", "true", "false")
