"""Breaks each invariant of docs/invariants.md in a copy of the repository, and looks whether the test named there turns red.

python -m scripts.break_invariants [FIRST [LAST]] takes the rows of these numbers (1 is the first row); some minutes for all.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/invariants.md"
ROW = re.compile(r"\| \d+ \| [^|]+ \| `([^`|]+)` \| `([^`|]+)` → `([^`|]+)` \| `(test_\w+)` \|")
COPIED = ("src", "tests", "scripts", "prompts", "protocol", "docs", "pyproject.toml", "README.md", "AGENTS.md")
LIMIT = 300.0  # seconds for one test; one that hangs has not turned red
RED = 1  # what pytest ends with when a test failed


@dataclass(frozen=True, slots=True)
class Break:
    """In `file` (below `src/yagent`) `old`, which is there once, becomes `new`; then `test` fails."""

    file: str
    old: str
    new: str
    test: str


def breaks(page: str) -> list[Break]:
    """The rows of the page."""
    return [Break(*found.groups()) for line in page.splitlines() if (found := ROW.fullmatch(line))]


def turns_red(root: Path, each: Break) -> bool:
    """Whether the test fails, as a test and not for another reason, while the break is made in the copy at `root`."""
    place = root / "src/yagent" / each.file
    whole = place.read_text(encoding="utf-8")
    module = next(path for path in (root / "tests").rglob("test_*.py") if f"def {each.test}(" in path.read_text(encoding="utf-8"))
    place.write_text(whole.replace(each.old, each.new), encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{module}::{each.test}"]
    try:
        environment = {**os.environ, "PYTHONPATH": str(root / "src")}
        return subprocess.run(words, cwd=root, env=environment, capture_output=True, timeout=LIMIT, check=False).returncode == RED
    except subprocess.TimeoutExpired:
        return False
    finally:
        place.write_text(whole, encoding="utf-8")


def main(words: list[str]) -> int:
    """The exit code: 0 when every test turned red."""
    rows = breaks(PAGE.read_text(encoding="utf-8"))
    first, last = (*map(int, words), *(1, len(rows))[len(words) :])
    unnoticed = 0
    with TemporaryDirectory() as folder:
        for name in COPIED:
            source, target = ROOT / name, Path(folder) / name
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for number, each in enumerate(rows[first - 1 : last], first):
            is_red = turns_red(Path(folder), each)
            unnoticed += not is_red
            print(f"{number:3} {'red' if is_red else 'NOT RED'}  {each.file}: {each.test}", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
