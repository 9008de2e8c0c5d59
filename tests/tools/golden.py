"""Texts that are compared with committed files. After reading the difference, `UPDATE_GOLDEN=1 pytest tests/tools` accepts it."""

import os
from pathlib import Path


def assert_matches(path: Path, text: str) -> None:
    """The file holds exactly this text."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name} differs; read the difference, then accept it with UPDATE_GOLDEN=1"
