"""What a user has: the wheel in a virtual environment of its own, compiled, and a HOME that has been used before."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCKS, BLOCK_LINES = 200, 32
PATH = os.defpath + ":/usr/local/bin:/opt/homebrew/bin"


@dataclass(frozen=True, slots=True)
class Installation:
    """A folder with `venv`, `home` and `repository` in it."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter that has yagent and httpx2."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def yagent(self) -> Path:
        """The installed program."""
        return self.folder / "venv" / "bin" / "yagent"

    @property
    def home(self) -> Path:
        """HOME of everything that is measured."""
        return self.folder / "home"

    @property
    def repository(self) -> Path:
        """The git repository in which everything is measured."""
        return self.folder / "repository"

    def environment(self) -> dict[str, str]:
        """The variables of everything that is measured, without those of whoever measures."""
        return {"PATH": PATH, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb"}


def install(folder: Path) -> Installation:
    """Build the wheel from this checkout, install it into `folder` and compile all that is there."""
    made = Installation(folder)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words: str | Path) -> None:
        subprocess.run(list(map(str, words)), cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)

    wheels = folder / "wheels"
    for old in wheels.glob("*.whl"):
        old.unlink()
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels)
    if not made.python.exists():
        run(sys.executable, "-m", "venv", folder / "venv")
    [wheel] = wheels.glob("*.whl")
    run(made.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    run(made.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall", wheel)
    run(made.python, "-m", "compileall", "-q", folder / "venv" / "lib")
    made.home.mkdir(exist_ok=True)
    _make_repository(made)
    return made


def _make_repository(made: Installation) -> None:
    """A small project with one file of numbered blocks to read."""
    if (made.repository / ".git").exists():
        return
    (made.repository / "data").mkdir(parents=True)
    (made.repository / "README.md").write_text("# Sample\n\nA project to measure in.\n", encoding="utf-8")
    lines = (f"line {number:05} ".ljust(63, "abcdefghij klmnopqrst uvwxyz"[number % 28]) + "\n" for number in range(BLOCKS * BLOCK_LINES))
    (made.repository / "data" / "blocks.txt").write_text("".join(lines), encoding="utf-8")
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "Sample")):
        subprocess.run(["git", *words], cwd=made.repository, env=made.environment(), check=True)
