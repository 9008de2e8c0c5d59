"""Which variables a command line may set without changing what its other words mean (I-01)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from yagent.workspace.shell_syntax.commands import Assignment

_CHANGES_MEANING = re.compile(
    r"PATH|IFS|HOME|SHELL|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|CDPATH|GLOBIGNORE|EXECIGNORE|PS[0-4]|PROMPT_COMMAND|TMPDIR|OLDPWD|PWD|POSIXLY_CORRECT"
    r"|BASH_.*|LD_.*|DYLD_.*|GIT_.*|SSH_.*|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|RES_OPTIONS|OPENSSL_.*|SSL_.*|CURL_.*|GNUPGHOME"
    r"|(?:https?|ftp|all|no)_proxy|(?:HTTPS?|FTP|ALL|NO)_PROXY|PIP_.*|UV_.*|npm_config_.*|NPM_CONFIG_.*|YARN_.*|CARGO_.*|GOPROXY|GOFLAGS"
    r"|XDG_.*|YAGENT_.*|.*_BASE_URL|.*_API_KEY"
)
_OF_BASH = re.compile(
    r"OPTIND|OPTERR|S?RANDOM|SECONDS|TMOUT|HIST[A-Z]*|histchars|LINENO|DIRSTACK|EPOCH[A-Z]*|FUNCNEST|GROUPS|E?UID|PPID|SHLVL|MAIL[A-Z]*"
    r"|COLUMNS|LINES|IGNOREEOF|COMP_[A-Z]*|COMPREPLY|COPROC|MAPFILE|INPUTRC|FCEDIT|HOSTFILE|READLINE_[A-Z]*|CHILD_MAX|FIGNORE|PIPESTATUS"
)
"""Variables that bash itself acts on when they are set: several are evaluated as arithmetic, which runs commands hidden in the value."""
_LOCALE = re.compile(r"LC_[A-Z]+|LANG|LANGUAGE")
_PLAIN_LOCALE = re.compile(r"(?:C|POSIX|[a-z]{2}(?:_[A-Z]{2})?)?(?:\.[Uu][Tt][Ff]-?8)?")
_HARMLESS_ENCODING = re.compile(r"(?i:utf-?8|8859-?[0-9]+|ascii)$|^[^.]*$")
_NUMBER = re.compile(r"[0-9]+")
_HARMLESS_FOR_READERS = re.compile(
    r"[a-z][a-z0-9_]*|CI|DEBUG|VERBOSE|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|TZ|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|COLUMNS|LINES"
)
_STARTS_PROGRAMS = re.compile(
    r"PYTHON.*|NODE_.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|JAVA_.*|_JAVA_OPTIONS|JDK_.*|CLASSPATH|MAVEN_.*|GRADLE_.*|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS"
    r"|RUSTC.*|RUSTFLAGS|CC|CXX|LD|AR|.*PAGER|.*EDITOR|VISUAL|BROWSER|LESS.*|MAN.*|PHP.*|LUA.*|R_.*|JULIA.*|DOTNET_.*|PYTEST_.*|TERM|EMACS.*|VIM.*"
)
_HARMLESS_VALUES = frozenset({"", "cat", "true", ":", "0", "1", "never", "dumb"})
_HARMLESS_FOR_GIT = re.compile(r"GIT_(PAGER|EDITOR|SEQUENCE_EDITOR|TERMINAL_PROMPT|OPTIONAL_LOCKS|MERGE_AUTOEDIT)")


def changes_meaning(assignment: Assignment) -> bool:
    """Say whether setting this variable changes what names, paths or files of the line stand for; asks in every mode but full-yolo."""
    if _HARMLESS_FOR_GIT.fullmatch(assignment.name) and assignment.value.value in _HARMLESS_VALUES:
        return False
    if _LOCALE.fullmatch(assignment.name):  # in some, the second byte of a letter is a quotation mark or a pipe
        return _PLAIN_LOCALE.fullmatch(assignment.value.value or "-") is None
    if _OF_BASH.fullmatch(assignment.name):
        return _NUMBER.fullmatch(assignment.value.value or "") is None
    return _CHANGES_MEANING.fullmatch(assignment.name) is not None


def reads_bytes_as_we_do(environment: Mapping[str, str]) -> bool:
    """Say whether bash, in the locale of an environment, finds the same quotation marks and operators in UTF-8 text."""
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return _HARMLESS_ENCODING.search(locale.partition("@")[0]) is not None


def is_harmless_to_readers(assignment: Assignment) -> bool:
    """Say whether a program that only reads still does with this in its environment: some start what a variable or a file named by one
    says, so that only names known to be harmless are."""
    if not is_plain_assignment(assignment):
        return False
    value = assignment.value.value or ""
    if _LOCALE.fullmatch(assignment.name) or _HARMLESS_FOR_GIT.fullmatch(assignment.name) or value in _HARMLESS_VALUES:
        return True
    return _HARMLESS_FOR_READERS.fullmatch(assignment.name) is not None and not (assignment.name == "TZ" and "/" in value[:1])


def is_plain_assignment(assignment: Assignment) -> bool:
    """Say whether an assignment before a command may be ignored: a plain literal for a variable that starts nothing."""
    if assignment.value.value is None:
        return False
    if assignment.value.value in _HARMLESS_VALUES and re.fullmatch(
        r".*PAGER|.*EDITOR|TERM|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED", assignment.name
    ):
        return True
    return not changes_meaning(assignment) and _STARTS_PROGRAMS.fullmatch(assignment.name) is None
