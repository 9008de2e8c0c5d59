"""The wheel, built from the checkout and installed into an environment of its own, has everything and runs."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("wheel")]


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that must succeed."""
    ended = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=200, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; its dependencies are those of the running environment, its yagent is not."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder


def data_files() -> dict[str, Path]:
    """Where each file that is no module lies in the wheel, and where it comes from."""
    found = {f"yagent/data/prompts/{path.relative_to(ROOT / 'prompts')}": path for path in (ROOT / "prompts").rglob("*") if path.is_file()}
    found |= {f"yagent/data/protocol/{path.name}": path for path in (ROOT / "protocol").glob("*.schema.json")}
    package = ROOT / "src/yagent"
    inside = (path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc"))
    return found | {f"yagent/{path.relative_to(package)}": path for path in inside}


def test_the_wheel_carries_what_the_checkout_has(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        expected = data_files()
        assert len(expected) > 10
        assert set(expected) - names == set()
        assert [name for name, path in expected.items() if archive.read(name) != path.read_bytes()] == []
        modules = {f"yagent/{path.relative_to(ROOT / 'src/yagent')}" for path in (ROOT / "src/yagent").rglob("*.py")}
        assert modules - names == set()
        assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_installed_command_tells_its_version(environment: Path, wheel: Path) -> None:
    version = re.search(r"yagent-([\d.]+)-", wheel.name)
    assert version
    assert run(environment / "bin/yagent", "--version", cwd=environment) == f"yagent {version.group(1)}\n"


def test_the_installed_command_explains_itself(environment: Path) -> None:
    assert "--output" in run(environment / "bin/yagent", "--help", cwd=environment)


def test_the_installed_package_is_the_one_of_the_wheel(environment: Path) -> None:
    place = run(environment / "bin/python", "-c", "import yagent; print(yagent.__file__)", cwd=environment)
    assert str(environment) in place
