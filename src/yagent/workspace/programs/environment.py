"""Which variables a command line may set without changing what its other words mean (I-01)."""

from __future__ import annotations

import re

from yagent.workspace.shell_syntax.commands import Assignment

_CHANGES_MEANING = re.compile(
    r"PATH|IFS|HOME|SHELL|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|CDPATH|GLOBIGNORE|EXECIGNORE|PS[0-4]|PROMPT_COMMAND|TMPDIR|OLDPWD|PWD|POSIXLY_CORRECT"
    r"|BASH_.*|LD_.*|DYLD_.*|GIT_.*|SSH_.*|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|RES_OPTIONS|OPENSSL_.*|SSL_.*|CURL_.*|GNUPGHOME"
    r"|(?:https?|ftp|all|no)_proxy|(?:HTTPS?|FTP|ALL|NO)_PROXY|PIP_.*|UV_.*|npm_config_.*|NPM_CONFIG_.*|YARN_.*|CARGO_.*|GOPROXY|GOFLAGS"
    r"|XDG_.*|YAGENT_.*|.*_BASE_URL|.*_API_KEY"
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
    return _CHANGES_MEANING.fullmatch(assignment.name) is not None


def is_plain_assignment(assignment: Assignment) -> bool:
    """Say whether an assignment before a command may be ignored: a plain literal for a variable that starts nothing."""
    if assignment.value.value is None:
        return False
    if assignment.value.value in _HARMLESS_VALUES and re.fullmatch(
        r".*PAGER|.*EDITOR|TERM|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED", assignment.name
    ):
        return True
    return not changes_meaning(assignment) and _STARTS_PROGRAMS.fullmatch(assignment.name) is None
