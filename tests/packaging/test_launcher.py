"""scripts/yagent and its set-up: quiet when nothing is to do, clear when something is missing."""

import fcntl
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "cksum", "readlink", "dirname")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the launcher consists of, in a folder with a space in its name."""
    folder = tmp_path / "my checkout"
    (folder / "scripts").mkdir(parents=True)
    for name in ("scripts/yagent", "scripts/find_python.sh", "scripts/set_up.py", "pyproject.toml"):
        shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for PATH with the few programs the launcher needs and no Python."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in TOOLS:
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def checksum(checkout: Path) -> str:
    text = (checkout / "pyproject.toml").read_bytes()
    return subprocess.run(["cksum"], input=text, capture_output=True, check=True).stdout.decode().strip()


def stamp(checkout: Path, kind: str = "run") -> None:
    """Make the environment of the checkout look complete; its Python only prints what it is given."""
    program(checkout / ".venv/bin/python", 'printf "<%s>" "$@"')
    (checkout / ".venv/yagent-stamp").write_text(f"{kind}\n{checksum(checkout)}\n{checkout.resolve()}\n", encoding="utf-8")


def launch(script: Path, *arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(path)}
    return subprocess.run([script, *arguments], env=environment, capture_output=True, text=True, timeout=50, check=False, cwd="/")


@pytest.mark.parametrize("kind", ["run", "dev"])
def test_a_complete_environment_is_used_at_once_and_quietly(checkout: Path, tools: Path, kind: str) -> None:
    stamp(checkout, kind)
    ended = launch(checkout / "scripts/yagent", "-p", "two words", "", path=tools)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "<-P><-m><yagent><-p><two words><>", "")


def test_the_launcher_works_through_a_symbolic_link(checkout: Path, tools: Path, tmp_path: Path) -> None:
    stamp(checkout)
    (tmp_path / "link").symlink_to("my checkout/scripts/yagent")
    assert launch(tmp_path / "link", "--version", path=tools).stdout == "<-P><-m><yagent><--version>"


@pytest.mark.parametrize("change", ["pyproject", "place"])
def test_a_changed_project_or_place_is_set_up_again(checkout: Path, tools: Path, change: str) -> None:
    stamp(checkout)
    if change == "pyproject":
        with (checkout / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write("# changed\n")
    else:
        checkout = checkout.rename(checkout.with_name("moved"))
    program(tools / "python3", f'[ "$1" = -c ] && exit 0; echo "set up: $2" >"{checkout}/called"')
    assert launch(checkout / "scripts/yagent", path=tools).returncode == 0
    assert (checkout / "called").read_text(encoding="utf-8") == "set up: run\n"


def test_without_python_one_line_says_what_to_install(checkout: Path, tools: Path) -> None:
    ended = launch(checkout / "scripts/yagent", "--version", path=tools)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert "Python 3.11" in ended.stderr
    assert "python3-venv" in ended.stderr


def test_without_the_venv_module_one_line_names_the_package(checkout: Path) -> None:
    code = "import runpy, sys; sys.modules['ensurepip'] = None; sys.argv[0:1] = []; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", code, str(checkout / "scripts/set_up.py"), "run", "1 2"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 2
    assert "python3-venv" in ended.stderr.splitlines()[-1]
    assert not (checkout / ".venv").exists()


def test_a_second_start_waits_for_the_first_and_then_finds_nothing_to_do(checkout: Path) -> None:
    with (checkout / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, str(checkout / "scripts/set_up.py"), "run", checksum(checkout)]
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(timeout=0.3)
        stamp(checkout)
    said = second.communicate(timeout=50)
    assert (second.returncode, said) == (0, ("", ""))


def test_the_gate_explains_a_wrong_option() -> None:
    ended = subprocess.run([ROOT / "scripts/check", "--quick"], capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, ended.stderr) == (2, "usage: scripts/check [--fast]\n")


def test_the_integration_server_runs_the_gate() -> None:
    assert "scripts/check" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert os.access(ROOT / "scripts/check", os.X_OK)
