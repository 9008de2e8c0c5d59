"""What commands get of the user's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from yagent.workspace.environment import child_environment, looks_secret

TEMPORARY = Path("/private")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "abc"),
        ("GITHUB_TOKEN", "abc"),
        ("AWS_SECRET_ACCESS_KEY", "abc"),
        ("DB_PASSWORD", "abc"),
        ("MYSQL_PWD", "abc"),
        ("MY_CREDENTIALS", "abc"),
        ("npm_config__authToken", "abc"),
        *((name, "abc") for name in ("OPENAI_KEY", "STRIPE_KEY", "RAILS_MASTER_KEY", "ENCRYPTION_KEY", "SIGNING_KEY", "AUTH_KEY", "KEY")),
        *((name, "abc") for name in ("AZURE_STORAGE_KEY", "OPENAI_KEY_2", "SSHPASS", "PGPASS", "NPM_AUTH", "npm_config__auth", "_AUTH")),
        *((name, "abc") for name in ("CI_JOB_JWT", "CI_JOB_JWT_V2", "SESSION_COOKIE", "COOKIE")),
        *((name, "postgres://user:pw@host/db") for name in ("DATABASE_URL", "INNOCENT", "CONFIG_FILE")),
        ("CACHE", "redis://:pw@host:6379/0"),
        ("HTTPS_PROXY", "http://user:p%40ss@proxy:8080"),
        ("URLS", "http://a/ https://user:pw@b/"),
        ("WHO", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc"),
        ("INNOCENT", "sk-abcdefghijklmnopqrstuv"),
        ("DEPLOY", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc"),
    ],
)
def test_secrets_are_recognised_by_name_or_value(name: str, value: str) -> None:
    assert looks_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/home/u"),
        ("OLDPWD", "/home/u"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("KEYBOARD", "de"),
        ("MONKEY", "x"),
        ("COMPASS", "n"),
        ("GOOGLE_CREDENTIALS_FILE", "/x.json"),
        ("AUTHOR", "me"),
        ("EMPTY_TOKEN", ""),
        ("SSH_ASKPASS", "/usr/bin/ask"),
        ("GIT_ASKPASS", "true"),
        ("BYPASS", "x"),
        ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
        ("STRIPE_PUBLIC_KEY", "pk"),
        ("USE_AUTH", "1"),
        ("KEYMAP", "de"),
        ("AUTHENTICATION", "none"),
        ("HOTKEY", "x"),
        ("KEY_FILE", "/x"),
        ("DATABASE_URL", "postgres://user@host:5432/db"),
        ("HTTP_PROXY", "http://proxy:8080"),
        ("GIT_SSH_URL", "ssh://git@host:22/a:b@c"),
        ("MAIL", "http://host/a:b@c"),
    ],
)
def test_ordinary_variables_are_not_secrets(name: str, value: str) -> None:
    assert not looks_secret(name, value)


def test_secrets_and_provider_keys_are_kept_back_and_named() -> None:
    parent = {"HOME": "/h", "A_TOKEN": "x", "STRANGE": "key", "B_TOKEN": "y"}
    made = child_environment(parent, temporary=TEMPORARY, pass_env=("B_TOKEN",), provider_keys=frozenset({"STRANGE"}))
    assert made.removed == ("A_TOKEN", "STRANGE")
    assert made.variables["HOME"] == "/h"
    assert made.variables["B_TOKEN"] == "y"
    assert "A_TOKEN" not in made.variables
    assert "STRANGE" not in made.variables


def test_nothing_asks_or_pages_even_if_the_user_set_it_so() -> None:
    made = child_environment({"PAGER": "less", "GIT_PAGER": "less", "TERM": "xterm", "TMPDIR": "/tmp"}, temporary=TEMPORARY)
    expected = {"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0", "TMPDIR": "/private"}
    assert expected.items() <= made.variables.items()
