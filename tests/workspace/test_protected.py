"""The protected set: secret, guarded, and what runs later."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yagent.workspace.guard import Guard
from yagent.workspace.protected import ProtectedSet, ProtectedSettings, fold


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("w/.git/hooks", "home/.ssh", "home/.yagent/config", "gitdir"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/.yagent/config/config.toml").write_text("key")
    (tmp_path / "given.toml").write_text("key")
    return tmp_path


def protection(base: Path, path: str) -> str:
    guard = Guard(base / "w", home=base / "home")
    settings = ProtectedSettings(
        home=base / "home", data_home=base / "home/.yagent", secrets=(base / "given.toml",), git_directories=(base / "gitdir",)
    )
    found = ProtectedSet(settings, guard).of(guard.locate(path))
    return found.strength if found else ""


@pytest.mark.parametrize(
    ("path", "strength"),
    [
        ("~/.ssh/id_rsa", "secret"),
        ("~/.SSH/id_rsa", "secret"),
        ("~/.aws/credentials", "secret"),
        ("~/.netrc", "secret"),
        ("~/.yagent/config/config.toml", "secret"),
        ("~/.yagent/settings.json", "secret"),
        ("~/.yagent/data/rollout/x.jsonl", "guarded"),
        ("../given.toml", "secret"),
        ("../gitdir/hooks/pre-commit", "guarded"),
        ("~/.bashrc", "guarded"),
        ("~/.config/git/config", "guarded"),
        (".git/hooks/post-commit", "guarded"),
        (".git/config", "guarded"),
        (".GIT/Hooks/x", "guarded"),
        (".g\u200cit/config", "guarded"),
        ("sub/.git", "guarded"),
        (".envrc", "runs_later"),
        ("sub/.envrc", "runs_later"),
        (".vscode/tasks.json", "runs_later"),
        (".npmrc", "runs_later"),
        ("packages/a/.npmrc", "runs_later"),
        (".yarnrc.yml", "runs_later"),
        (".yarnrc", "runs_later"),
        (".pnpmfile.cjs", "runs_later"),
        (".cargo/config.toml", "runs_later"),
        (".claude/settings.json", "runs_later"),
        (".claude/settings.local.json", "runs_later"),
        (".cursor/mcp.json", "runs_later"),
        (".claude/commands/x.md", ""),
        (".cargo/audit.toml", ""),
        (".pypirc", ""),
        *((f"~/{name}", "secret") for name in (".npmrc", ".yarnrc.yml", ".pypirc", ".oci/config", ".fly/config.yml", ".databrickscfg")),
        *((f"~/{name}", "secret") for name in (".config/heroku/x", ".config/sops/age/keys.txt", ".claude/.credentials.json")),
        *((f"~/{name}", "secret") for name in (".codex/auth.json", ".cache/huggingface/token", ".huggingface/token")),
        *((f"~/{name}", "") for name in (".claude/settings.json", ".codex/config.toml", ".cache/huggingface/hub/x", ".config/sops/x")),
        (".idea/workspace.xml", "runs_later"),
        (".husky/pre-commit", "runs_later"),
        (".github/workflows/x.yml", "published"),
        ("/proc/1/environ", "secret"),
        ("/proc/self/environ", "secret"),
        ("/etc/shadow", "secret"),
        ("README.md", ""),
        (".gitignore", ""),
        (".github/CODEOWNERS", ""),
        ("git/config", ""),
        ("/etc/hostname", ""),
    ],
)
def test_each_place_has_the_strength_it_needs(base: Path, path: str, strength: str) -> None:
    assert protection(base, path) == strength


def test_a_link_to_a_secret_is_a_secret(base: Path) -> None:
    (base / "w" / "innocent").symlink_to(base / "home/.ssh")
    assert protection(base, "innocent/id_rsa") == "secret"


def test_a_hard_link_to_the_configuration_is_a_secret(base: Path) -> None:
    os.link(base / "home/.yagent/config/config.toml", base / "w/innocent.toml")
    assert protection(base, "innocent.toml") == "secret"


def test_a_workspace_below_a_directory_called_like_an_editor_is_not_flagged_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / ".idea/w").mkdir(parents=True)
    guard = Guard(tmp_path / ".idea/w")
    assert ProtectedSet(ProtectedSettings(), guard).of(guard.locate("a.py")) is None


def test_reading_everything_below_an_ancestor_of_a_secret_is_found(base: Path) -> None:
    guard = Guard(base / "w", home=base / "home")
    protected = ProtectedSet(ProtectedSettings(home=base / "home"), guard)
    assert protected.secret_below(guard.locate("~"))
    assert protected.secret_below(guard.locate(str(base)))
    assert protected.secret_below(guard.locate("/"))
    assert protected.secret_below(guard.locate("/proc"))
    assert protected.secret_below(guard.locate(".")) is None


def test_folding_takes_away_what_some_file_system_ignores() -> None:
    assert fold("E\u0301\u200d.GIT") == fold("é.git")
