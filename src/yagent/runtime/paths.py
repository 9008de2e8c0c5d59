"""Where yagent keeps its data: `YAGENT_HOME`, else `~/.yagent`. The current directory is never asked."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from yagent.records import dataclass
from yagent.runtime.left_behind import private_prefix

NAME_BYTES = 80
UNUSABLE = Path(os.devnull) / "yagent"  # absolute, and every use of it fails


@dataclass(frozen=True, slots=True)
class DataHome:
    """The data directory. `problem` is None, or the sentence to show when this run cannot keep anything.

    With a problem, `root` is a private temporary directory made for this run (or, where even that fails, the directory
    that cannot be used): everything works, nothing is kept, and the caller removes it at the end. Configuration and
    grants stay where they were asked for (`asked`): what cannot be written may still be read.
    """

    root: Path
    asked: Path
    problem: str | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], home: Path | None) -> Self:
        """Find the data directory; `home` is the user's home, None when it is unknown. Creates nothing in it."""
        asked, problem = _asked(environ, home)
        if asked is not None and problem is None:
            problem = _unusable(asked, is_home_default=not environ.get("YAGENT_HOME"))
            if problem is None:
                return cls(asked, asked)
        sentence = f"{problem}; this run works without persistence. Set YAGENT_HOME to a directory you can write to."
        try:
            root = Path(tempfile.mkdtemp(prefix=private_prefix()))
        except OSError:
            root = asked or UNUSABLE
        return cls(root, asked or root, sentence)

    @property
    def config_file(self) -> Path:
        """The user's configuration."""
        return self.asked / "config" / "config.toml"

    @property
    def settings_file(self) -> Path:
        """Grants given for a project."""
        return self.asked / "settings.json"

    @property
    def binaries_dir(self) -> Path:
        """Programs the user wants to be used instead of those shipped or installed."""
        return self.asked / "bin"

    @property
    def logs_dir(self) -> Path:
        """Logs and crash reports."""
        return self.root / "logs"

    @property
    def data_dir(self) -> Path:
        """What is recorded and derived."""
        return self.root / "data"

    @property
    def notes_dir(self) -> Path:
        """Notes agents leave for each other, one directory per board."""
        return self.root / "notes"

    @property
    def artifacts_dir(self) -> Path:
        """Deliverables too long for the conversation."""
        return self.data_dir / "artifacts"

    def rollout_dir(self, project: str) -> Path:
        """Records of runs in one project, given its `project_id`."""
        return self.data_dir / "rollout" / project


def project_id(absolute_path: str) -> str:
    """A name for a project that every file system takes: the end of its path made harmless, and a hash of all of it.

    The hash tells apart what the harmless form confuses (`/a/b` and `/a-b`, upper and lower case). Source: requirement I-35.

    Raises:
        ValueError: the path is relative.
    """
    if not os.path.isabs(absolute_path):
        raise ValueError(f"a project is named after its absolute path, not {absolute_path!r}")
    normal = os.path.normpath(absolute_path)
    if normal.startswith("//"):
        normal = normal[1:]
    digest = hashlib.sha256(os.fsencode(normal)).hexdigest()[:10]
    harmless = re.sub(r"[^A-Za-z0-9._]+", "-", normal).strip("-.")[-NAME_BYTES:].lstrip("-.")
    return f"{harmless or 'root'}-{digest}"


def _asked(environ: Mapping[str, str], home: Path | None) -> tuple[Path | None, str | None]:
    """The directory asked for, None when it cannot even be named, and what is wrong with it."""
    chosen = environ.get("YAGENT_HOME", "")
    if chosen and chosen != "~" and not chosen.startswith("~/"):
        path = Path(chosen)
        if not path.is_absolute():
            return None, f"YAGENT_HOME is {chosen!r}, which is not an absolute path"
        return path, "YAGENT_HOME is the root of the file system" if path == Path(path.anchor) else None
    if home is None:
        return None, "the home directory is unknown"
    if not home.is_absolute():
        return None, f"HOME is {str(home)!r}, which is not an absolute path"
    return home / (chosen[2:] if chosen else ".yagent"), None


def _unusable(root: Path, *, is_home_default: bool) -> str | None:
    """Why the directory cannot be used, or None."""
    try:
        if is_home_default and not root.parent.is_dir():
            return f"the home directory {root.parent} does not exist"
        existing = next(path for path in (root, *root.parents) if path.exists() or path.is_symlink())
        if not existing.is_dir():
            return f"{existing} is not a directory"
    except OSError as error:
        return f"{root} cannot be read ({error.strerror})"
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        return f"{existing} cannot be written to"
    return None
