"""Machines on which something is missing, full, shut or moved under the program's feet."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.hostile.places import can_mount, exists, fill, names_in, read_only, small_disk, without_rights_of_root
from tests.hostile.tour import LOOKS, WORKS, Tour
from tests.support.command_line import CommandLine
from tests.support.fixtures import commit
from tests.support.model_server import Call, ModelServer

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
LOOK = (Call("list_dir", {}),)
READS = tuple(Call("read_file", {"path": "notes.txt", "max_lines": count}) for count in range(1, 60))
mounting = pytest.mark.skipif(not can_mount(), reason="makes file systems of its own, which takes root on Linux")


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"HOME": None}, ""),
        ({"HOME": "{missing}", "YAGENT_HOME": None}, "works without persistence"),
        ({"HOME": "{file}", "YAGENT_HOME": None}, "works without persistence"),
        ({"HOME": "relative"}, ""),
        ({"TMPDIR": "/nonexistent/tmp"}, ""),
        ({"LC_ALL": "C", "LANG": None}, ""),
        ({"LC_ALL": "POSIX", "LANG": None, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, ""),
        ({"PATH": "/nonexistent"}, ""),
    ],
)
async def test_a_poor_environment_is_worked_in(
    yagent: CommandLine, model_server: ModelServer, workspace: Path, variables: dict[str, str | None], told: str
) -> None:
    (workspace / "grüße ✓.txt").write_text("needle\n")
    (workspace.parent / "file").write_text("")
    yagent.environment["YAGENT_HOME"] = str(yagent.data)
    given = {
        name: value and value.format(file=workspace.parent / "file", missing=workspace.parent / "no home")
        for name, value in variables.items()
    }
    visit = await Tour(yagent, model_server, start={"environment": given}).visit()
    assert visit.run.code == 0, visit.run.told
    if "PYTHONUTF8" not in variables:  # else the user switched UTF-8 off, and its bytes are shown
        assert "grüße ✓.txt" in visit.looks[0]
    assert told in visit.run.told
    assert visit.works[5] == "Deleted made/moved.txt."


@pytest.mark.parametrize(("mask", "mode"), [(0o000, 0o666), (0o077, 0o600)])
async def test_the_users_mask_holds_for_their_files_and_ours_are_private_whatever_it_is(
    yagent: CommandLine, model_server: ModelServer, workspace: Path, mask: int, mode: int
) -> None:
    works = [Call("create_file", {"path": "new.txt", "content": "x"})]
    visit = await Tour(yagent, model_server, start={"umask": mask}).visit(LOOK, works)
    assert visit.run.code == 0, visit.run.told
    assert stat.S_IMODE((workspace / "new.txt").stat().st_mode) == mode
    for place in yagent.data.rglob("*"):
        assert stat.S_IMODE(place.stat().st_mode) == (0o700 if place.is_dir() else 0o600), place


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_closed_descriptors_are_nothing_to_fall_over(yagent: CommandLine, model_server: ModelServer, closed: str) -> None:
    model_server.play({"Director": ["hello"]})
    ended = await yagent.shell(f"yagent -p hi {closed}; echo code $? > code")
    delivered = ">&-" not in closed.replace("2>&-", "")
    assert (yagent.workspace / "code").read_text() == f"code {0 if delivered else 141}\n"
    assert ended.answer == ("hello\n" if delivered else "")
    assert [record[-1]["payload"]["name"] for record in yagent.records()] == ["task_complete"]


async def test_a_start_in_a_deleted_directory_is_refused_in_words(yagent: CommandLine) -> None:
    ended = await yagent.shell("mkdir gone; cd gone; rmdir ../gone; yagent -p hi; echo code $?")
    assert ended.answer == "code 2\n"
    assert ended.told.startswith("yagent: The current directory cannot be used")


def deleted(place: Path) -> None:
    shutil.rmtree(place)


def renamed(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))


@pytest.mark.parametrize("mishap", [deleted, renamed])
async def test_a_workspace_that_goes_away_is_not_brought_back(
    yagent: CommandLine, model_server: ModelServer, workspace: Path, mishap: Callable[[Path], None]
) -> None:
    works = [*WORKS, *LOOKS]
    visit = await Tour(yagent, model_server, mishap=lambda: mishap(workspace)).visit(LOOK, works)
    assert not exists(workspace)
    assert "there is no such directory" in visit.works[0]
    for answer in visit.works[1:]:
        assert answer.startswith(f"The working directory {workspace} is gone"), answer


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    with small_disk(tmp_path / "disk", "1m") as place:
        yield place


SHUT = ("notes", "logs", "data", "data/rollout", "data/artifacts", "data/tokens.json", "settings.json", "bin")


@pytest.mark.parametrize(("shut", "rights"), [*((name, 0) for name in SHUT), ("notes", 0o444)])
async def test_what_is_ours_and_shut_is_told_and_done_without(
    yagent: CommandLine, model_server: ModelServer, workspace: Path, shut: str, rights: int
) -> None:
    place = yagent.data / shut
    (place.parent if "." in place.name else place).mkdir(parents=True, mode=0o700)
    place.touch()
    place.chmod(rights)
    visit = await Tour(yagent, model_server, start={"preexec_fn": without_rights_of_root}).visit(
        LOOK, [Call("create_file", {"path": "n", "content": "x"})]
    )
    place.chmod(0o700)
    assert visit.run.code == 0, visit.run.told
    silent = ("bin", "data/artifacts", "data/tokens.json", "logs")  # the rights of the last are given back
    assert shut in silent or str(yagent.data / shut) in visit.run.told
    assert shut != "notes" or "cannot be read (Permission denied); this run works without" in visit.run.told


async def test_a_pipe_in_place_of_the_log_holds_nothing_up(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"Director": ["hello"]})
    logs = yagent.data / "logs"
    logs.mkdir(parents=True, mode=0o700)
    for day in range(2):
        os.mkfifo(logs / f"app-{datetime.now(UTC) + timedelta(days=day):%Y-%m-%d}.log")
    run = await yagent.run("-p", "hi")
    assert (run.code, run.answer) == (0, "hello\n")
    assert "is not a regular file" in run.told


@mounting
async def test_a_read_only_workspace_can_be_read(yagent: CommandLine, model_server: ModelServer, disk: Path) -> None:
    (disk / "notes.txt").write_text("needle\n")
    commit(disk, "init", "-q")
    read_only(disk)
    visit = await Tour(CommandLine(yagent.home, disk, yagent.environment), model_server).visit()
    assert visit.run.code == 0
    assert visit.looks[2].startswith("notes.txt:1:needle")
    assert visit.works[1] == "cannot write made/new.txt: Read-only file system"


@mounting
async def test_on_a_full_disk_a_file_is_written_whole_or_stays_as_it_was(
    yagent: CommandLine, model_server: ModelServer, disk: Path
) -> None:
    (disk / "notes.txt").write_text("needle\n")
    commit(disk, "init", "-q")
    fill(disk)
    works = [
        Call("create_file", {"path": "new.txt", "content": "x" * 50_000}),
        Call("read_file", {"path": "notes.txt"}),
        Call("search_replace_in_file", {"path": "notes.txt", "edits": [{"search": "needle", "replace": "x" * 50_000}]}),
        Call("run_bash", {"command": "echo x > y"}),
    ]
    visit = await Tour(CommandLine(yagent.home, disk, yagent.environment), model_server).visit(works=works)
    assert visit.run.code == 0
    assert [visit.works[0], visit.works[2]] == [f"cannot write {name}: No space left on device" for name in ("new.txt", "notes.txt")]
    assert (disk / "notes.txt").read_text() == "needle\n"
    assert names_in(disk) == [".git", "fill", "notes.txt", "y"]


@mounting
@pytest.mark.parametrize("when", ["from the start", "while it runs"])
async def test_a_run_that_cannot_be_recorded_ends_and_says_what_to_do(
    yagent: CommandLine, model_server: ModelServer, tmp_path: Path, when: str
) -> None:
    with small_disk(tmp_path / "small", "64k") as home:
        if when == "from the start":
            fill(home)
        line = CommandLine(home, yagent.workspace, yagent.environment)
        visit = await Tour(line, model_server, keeps_records=False).visit(READS, ())
    assert visit.run.code == 1
    assert "free some space and resume" in visit.run.told or "Set YAGENT_HOME" in visit.run.told
    assert len(visit.looks) < len(READS)


@mounting
async def test_a_home_that_cannot_be_written_costs_persistence_only(yagent: CommandLine, model_server: ModelServer, disk: Path) -> None:
    read_only(disk)
    visit = await Tour(CommandLine(disk, yagent.workspace, yagent.environment), model_server).visit()
    assert visit.run.code == 0
    assert "works without persistence" in visit.run.told


@mounting
async def test_a_full_place_for_temporary_files_costs_the_kept_output_only(
    yagent: CommandLine, model_server: ModelServer, disk: Path
) -> None:
    fill(disk)
    works = [Call("run_bash", {"command": "seq 100000"})]
    visit = await Tour(yagent, model_server, start={"environment": {"TMPDIR": str(disk)}}).visit(LOOK, works)
    assert visit.run.code == 0
    assert "left out" in visit.works[0]
    assert "[exit code 0" in visit.works[0]


async def test_a_limit_on_the_size_of_files_ends_a_run_in_words(yagent: CommandLine, model_server: ModelServer) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    visit = await Tour(yagent, model_server, keeps_records=False, start={"preexec_fn": limit}).visit(READS, ())
    assert visit.run.code == 1
    assert "cannot be written: File too large" in visit.run.told


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="takes rights away from root, which Linux can")
async def test_a_delegation_that_cannot_be_recorded_says_why_to_the_user_as_well(yagent: CommandLine, model_server: ModelServer) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    works = [Call("read_file", {"path": "notes.txt", "max_lines": count}) for count in range(1, 60)]
    visit = await Tour(yagent, model_server, keeps_records=False, start={"preexec_fn": limit}).visit(LOOK, works)
    assert "! coding#1: " in visit.run.told
    assert "cannot be written: File too large" in visit.run.told.partition("! coding#1: ")[2].partition("\n")[0]


async def test_what_may_not_be_read_is_named_and_the_rest_is_read(yagent: CommandLine, model_server: ModelServer, workspace: Path) -> None:
    (workspace / "locked").mkdir()
    (workspace / "locked" / "x.txt").write_text("needle\n")
    (workspace / "secret.txt").write_text("needle\n")
    (workspace / "open.txt").write_text("needle\n")
    (workspace / "locked").chmod(0)
    (workspace / "secret.txt").chmod(0)
    looks = [
        *LOOKS,
        Call("list_dir", {"path": "locked"}),
        Call("read_file", {"path": "secret.txt"}),
        Call("read_file", {"path": "locked/x"}),
    ]
    works = [Call("create_file", {"path": "locked/new.txt", "content": "x"}), *WORKS]
    visit = await Tour(yagent, model_server, start={"preexec_fn": without_rights_of_root}).visit(looks, works)
    (workspace / "locked").chmod(0o700)
    assert visit.run.code == 0, visit.run.told
    assert "locked/" in visit.looks[0]
    assert "open.txt:1:needle" in visit.looks[2]
    assert "could not be read: ./locked: IO error" in visit.looks[2]
    assert [answer.rpartition(": ")[2] for answer in visit.looks[4:]] == ["Permission denied"] * 3
    assert visit.works[0].endswith("Permission denied")
    assert visit.works[-1] == "Deleted made/moved.txt."
