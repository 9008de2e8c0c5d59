"""A workspace, a home and the permissions between them, for tests of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from yagent.workspace.permissions import EditPath, Granted, Mode, Permissions, PermissionSettings, ReadPath, ShellLine, Verdict
from yagent.workspace.protected import ProtectedSettings


@dataclass
class Room:
    """Everything is under `base`: the workspace `w`, the home `home` with a key in `.ssh`, and `outside`."""

    base: Path
    variables: dict[str, str] = field(default_factory=dict)
    moved: list[Path] = field(default_factory=list)  # where something not recoverable may have got to

    def __post_init__(self) -> None:
        for name in ("w", "home/.ssh", "outside", "temporary"):
            (self.base / name).mkdir(parents=True)
        (self.home / ".ssh" / "id_rsa").write_text("secret")
        (self.outside / "victim.txt").write_text("victim")

    @property
    def workspace(self) -> Path:
        return self.base / "w"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    def write(self, name: str, text: str = "text\n") -> Path:
        """Make a file in the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def permissions(
        self,
        mode: Mode = Mode.ASK,
        *,
        grants: Granted | None = None,
        recoverable: Callable[[Path], bool] = lambda path: False,
        **rules: Sequence[str],
    ) -> Permissions:
        """Build permissions for this room; `rules` are `allow`, `ask` and `deny`."""
        settings = PermissionSettings(
            workspace=self.workspace,
            mode=mode,
            allow=tuple(rules.pop("allow", ())),
            ask=tuple(rules.pop("ask", ())),
            deny=tuple(rules.pop("deny", ())),
            home=self.home,
            task_temporary=self.base / "temporary",
            system_temporary=self.base / "shared",
            protected=ProtectedSettings(home=self.home, data_home=self.home / ".yagent"),
            environment={"HOME": str(self.home), "PATH": "/usr/bin:/bin", **self.variables},
            recoverable=recoverable,
            moved=self.moved.append,
        )
        assert not rules, f"no such rules: {rules}"
        return Permissions(settings, grants)

    def shell(self, line: str, permissions: Permissions) -> Verdict:
        """Judge a line that starts in the workspace."""
        return permissions.judge("run_bash", [ShellLine(line, str(self.workspace))])


def read(path: str, permissions: Permissions) -> Verdict:
    """Judge reading one path."""
    return permissions.judge("read_file", [ReadPath(path)])


def create(path: str, permissions: Permissions) -> Verdict:
    """Judge creating one file."""
    return permissions.judge("create_file", [EditPath(path, "create")])
