"""Build or complete the repository's own virtual environment. Called by scripts/yagent and scripts/check, with any Python >= 3.11.

    python scripts/set_up.py run|dev CHECKSUM

`run` installs what yagent needs to run, `dev` what its tests need as well. CHECKSUM is that of pyproject.toml; it goes into the stamp
by which the callers see that nothing is to do. Uses the standard library only.
"""

import fcntl
import importlib.util
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "yagent-stamp"
PYTHON = ENVIRONMENT / "bin" / "python"
FAILED = 2


def main(kind: str, checksum: str) -> int:
    """Bring the environment up to date while holding a lock, so that two starts at once do not build it twice."""
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _stamped(checksum) in ("dev", kind):
            return 0
        kind = "dev" if STAMP.is_file() and STAMP.read_text(encoding="utf-8").startswith("dev\n") else kind
        say("setting up its own environment in .venv (once, about a minute) ...")
        problem = _create() or _install(kind)
        if problem:
            say(problem)
            return FAILED
        STAMP.write_text(f"{kind}\n{checksum}\n{ROOT}\n", encoding="utf-8")
    return 0


def say(text: str) -> None:
    """One line for the person who waits."""
    sys.stderr.write(f"yagent: {text}\n")


def _stamped(checksum: str) -> str | None:
    """The kind of environment that is complete for this checksum and place."""
    try:
        kind, found, place = STAMP.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    return kind if (found, place) == (checksum, str(ROOT)) and PYTHON.exists() else None


def _create() -> str | None:
    """Make the environment unless a working one is here; the problem, if there is one."""
    is_here = PYTHON.exists() and _works([str(PYTHON), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"])
    was_moved = STAMP.is_file() and STAMP.read_text(encoding="utf-8").splitlines()[-1:] != [str(ROOT)]
    if is_here and not was_moved:
        return None
    if importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"{sys.executable} comes without its venv module; install the package python3-venv (or python{version}-venv) and try again."
    try:
        venv.create(ENVIRONMENT, clear=True, with_pip=True, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"the environment {ENVIRONMENT} could not be made ({error}); check that its folder can be written to and has space."
    return None


def _install(kind: str) -> str | None:
    target = f"{ROOT}[dev]" if kind == "dev" else str(ROOT)
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--editable", target]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH", "PIP_USER")}
    # pip's own output goes to standard error: standard output belongs to the answer of the task that follows
    ended = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    if ended.returncode:
        return "the packages could not be installed; see pip's message above, and check the network or pip's configuration."
    _works([str(PYTHON), "-m", "compileall", "-q", str(ROOT / "src")])
    return None


def _works(command: list[str]) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("run", "dev"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
