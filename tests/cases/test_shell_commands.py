"""Cases C01, C02, C03, C04, C06, C08, C09, C10, C16 and I-05, I-26: commands end, nothing of them stays, and output is bounded."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.command_line import LIMIT, until
from tests.support.held_clock import HeldClock
from tests.support.processes import gone, running, unique_sleep
from yagent.runtime.clock import Clock, SystemClock
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.changes import changed_files, state
from yagent.workspace.files import create
from yagent.workspace.git import Git
from yagent.workspace.search import Searcher, SearchRequest
from yagent.workspace.shell import Shell, ShellResult

pytestmark = pytest.mark.real_time

GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def make_shell(clock: Clock, tmp_path: Path) -> Shell:
    environment = {**os.environ, **GIT, "PAGER": "less", "GIT_PAGER": "less"}
    return Shell(clock=clock, environment=environment, temporary=tmp_path / "private")


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    async with make_shell(SystemClock(), tmp_path) as made:
        yield made


async def held_until_said(command: str, tmp_path: Path, timeout: float) -> ShellResult:
    """Run a command for which no time passes before it has made the file `said`, however slow the machine is."""
    clock = HeldClock()
    async with make_shell(clock, tmp_path) as shell:
        task = asyncio.ensure_future(shell.run(command, tmp_path, timeout=timeout))
        await until((tmp_path / "said").exists)
        clock.let_go()
        return await task


def make_repository(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)


def files_named(root: Path, name: str) -> list[Path]:
    return list(root.rglob(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "{nap} & echo done",
        "(while true; do echo tick; sleep 0.2; done; {nap}) & sleep 0.5; echo done",
        f"nohup {sys.executable} -c 'import time; print(\"up\", flush=True); time.sleep(98765)' {{nap}} & sleep 0.5; echo done",
    ],
)
async def test_C01_a_background_child_that_holds_the_pipe_delays_nothing(shell: Shell, tmp_path: Path, command: str) -> None:
    nap = unique_sleep()
    result = await shell.run(command.format(nap=nap), tmp_path, timeout=LIMIT)
    assert "done" in result.output
    assert (result.exit_code, result.timed_out) == (0, False)
    assert any(nap in name for name in result.left_behind)
    assert not running(nap)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "sh -c '{nap} | cat' & wait",
        'bash -c \'bash -c "trap \\"\\" TERM; {nap}"; echo never\'',
        "setsid {nap} & wait",
        f"setsid {sys.executable} -c 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(98765)' {{nap}} & wait",
    ],
)
async def test_C02_a_time_limit_ends_the_whole_tree(shell: Shell, tmp_path: Path, command: str) -> None:
    nap = unique_sleep()
    result = await held_until_said(f"echo begun; touch said; {command.format(nap=nap)}", tmp_path, 0.7)
    assert result.timed_out
    assert result.output == "begun\n"
    assert not running(nap)
    assert (await shell.run("echo next", tmp_path)).output == "next\n"


async def test_C03_a_process_substitution_does_not_hang(tmp_path: Path) -> None:
    nap = unique_sleep()
    result = await held_until_said(f"echo hello > >(cat; touch said; {nap})", tmp_path, LIMIT)
    assert (result.output, result.exit_code) == ("hello\n", 0)
    assert not running(nap)


@pytest.mark.slow
async def test_C04_no_pager_is_ever_started(shell: Shell, tmp_path: Path) -> None:
    setup = "git init -q . && git config core.pager less && git config pager.log less"
    commits = 'for i in $(seq 1 60); do echo $i > f; git add f; git commit -qm "commit $i"; done'
    assert (await shell.run(f"{setup} && {commits}", tmp_path)).exit_code == 0
    result = await shell.run("git log --format=%s", tmp_path, timeout=LIMIT)
    assert not result.timed_out
    assert result.output.splitlines() == [f"commit {number}" for number in range(60, 0, -1)]
    for command in ("git diff HEAD~5", "git branch -a", "git -p log -1 --format=%s"):
        result = await shell.run(command, tmp_path, timeout=LIMIT)
        assert not result.timed_out
        assert result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "ends"),
    [("seq 1 5000000", True), ("yes", False), ("cat /dev/zero | head -c 300000000", True), ("head -c 3000000 /dev/urandom", True)],
)
async def test_C06_a_flood_of_output_stays_small(shell: Shell, tmp_path: Path, command: str, ends: bool) -> None:
    result = await shell.run(command, tmp_path, timeout=LIMIT if ends else 1.0)
    assert result.timed_out == (not ends)
    assert len(result.output.encode()) < 100_000
    assert result.omitted > 1_000_000
    assert "bytes left out here" in result.output
    assert result.log is not None
    assert result.log.stat().st_size <= shell.settings.log_limit
    scale = 1 if sys.platform == "darwin" else 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale < 500_000_000
    assert (await shell.run("echo next", tmp_path)).output == "next\n"


async def test_C08_the_directory_never_persists_and_is_always_stated(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a b").mkdir()
    codes = []
    for command in ("cd sub && false", "pwd", 'cd "a b" ; exit 3', "pwd", "(cd /tmp)", "pwd", "export FOO=1; cd /", "pwd; echo $FOO"):
        result = await shell.run(command, tmp_path)
        codes.append(result.exit_code)
        assert result.directory == tmp_path
        if command.startswith("pwd"):
            assert result.output.strip() == str(tmp_path)
    assert codes == [1, 0, 3, 0, 0, 0, 0, 0]


async def test_C09_a_background_command_sees_the_end_of_its_input(tmp_path: Path) -> None:
    async with make_shell(HeldClock(), tmp_path) as shell, BackgroundJobs(shell) as jobs:
        job = await jobs.start("cat; echo after", tmp_path)
        read = await jobs.read(job.id, wait=2)
        assert (read.text, read.job.state) == ("after\n", "exited")


async def test_C10_what_is_not_declared_ends_with_the_call(shell: Shell, tmp_path: Path) -> None:
    nap = unique_sleep()
    result = await shell.run(f"for i in 1 2 3; do {nap} & done; echo started", tmp_path)
    assert result.output == "started\n"
    assert len(result.left_behind) == 3
    assert not running(nap)


async def test_C10_what_is_declared_ends_with_the_task(shell: Shell, tmp_path: Path) -> None:
    nap = unique_sleep()
    async with BackgroundJobs(shell) as jobs:
        await jobs.start(f"for i in 1 2 3; do setsid {nap} & done; wait", tmp_path)
        while len(running(nap)) < 4:
            await shell.clock.sleep(0.02)
        assert [job.command for job in jobs.list()] == [f"for i in 1 2 3; do setsid {nap} & done; wait"]
    assert not running(nap)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from yagent.runtime.clock import SystemClock
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.shell import Shell

async def main():
    here = Path(sys.argv[1])
    async with Shell(clock=SystemClock(), environment=dict(os.environ), temporary=here / "private") as shell, BackgroundJobs(shell) as jobs:
        job = await jobs.start(f"echo up; {sys.argv[2]} & setsid {sys.argv[2]} & wait", here)
        await jobs.read(job.id, wait=10)
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
def test_C10_nothing_outlives_a_killed_agent(tmp_path: Path) -> None:
    nap = unique_sleep()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), nap], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == b"ready\n"
        assert running(nap)
        agent.kill()
    assert gone(nap)


async def test_C16_exit_codes_and_text_are_those_of_bash(shell: Shell, tmp_path: Path) -> None:
    result = await shell.run('false | cat; echo "${PIPESTATUS[0]}"', tmp_path)
    assert (result.exit_code, result.output) == (0, "1\n")
    heredoc = "cat <<'EOF' > h.txt\n$HOME `id` \\x \"q\" 'z'\nEOF"
    assert (await shell.run(heredoc, tmp_path)).exit_code == 0
    assert (tmp_path / "h.txt").read_bytes() == b"$HOME `id` \\x \"q\" 'z'\n"
    assert (await shell.run("exit 7", tmp_path)).exit_code == 7
    killed = await shell.run("kill -9 $$", tmp_path)
    assert (killed.exit_code, killed.signal) == (137, "SIGKILL")
    missing = await shell.run("nosuchcmd", tmp_path)
    assert missing.exit_code == 127
    assert "nosuchcmd" in missing.output
    both = await shell.run("echo out; echo err >&2; exit 2", tmp_path)
    assert (both.exit_code, both.output) == (2, "out\nerr\n")


@pytest.mark.slow
async def test_I05_our_own_git_calls_run_no_program_of_the_repository(tmp_path: Path) -> None:
    root, pwned = tmp_path / "repository", tmp_path / "pwned"
    root.mkdir()
    script = tmp_path / "evil"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {pwned}\ncat\n')
    script.chmod(0o755)

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env={**os.environ, **GIT})

    git("init", "-q", "-b", "main")
    (root / "a.x").write_text("one\n")
    (root / ".gitattributes").write_text("*.x diff=evil filter=evil\n")
    git("add", ".")
    git("commit", "-qm", "first")
    for key in (
        "core.fsmonitor",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.pager",
        "core.sshCommand",
        "core.editor",
    ):
        git("config", key, str(script))
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "credential.helper", "gpg.program", "core.askPass"):
        git("config", key, str(script))
    git("config", "alias.status", f"!{script}")
    git("config", "alias.rev-parse", f"!{script}")
    hooks = root / ".git" / "hooks"
    for hook in ("post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"):
        (hooks / hook).write_text(script.read_text())
        (hooks / hook).chmod(0o755)
    caller = Git(SystemClock(), {**os.environ, "GIT_EXTERNAL_DIFF": str(script), "GIT_PAGER": str(script)})
    before = await state(caller, root)
    (root / "a.x").write_text("two\n")
    (root / "b.x").write_text("new\n")
    facts = await caller.facts(root)
    changed = await changed_files(caller, before)
    assert (facts.branch, facts.modified, facts.untracked) == ("main", 1, 1)
    assert [file.path for file in changed.files] == ["a.x", "b.x"]
    assert not pwned.exists(), pwned.read_text()


async def test_I26_file_names_are_never_read_by_a_shell(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    make_repository(root)
    caller = Git(SystemClock(), dict(os.environ))
    before = await state(caller, root)
    names = ["$(touch pwn).txt", "`touch pwn`.txt", "a;touch pwn", "-rf", "a b", 'a"b', "new\nline", "--output=pwn"]
    for name in names:
        await create(root / name, "needle\n")
    searcher = Searcher(SystemClock(), dict(os.environ))
    for name in names:
        assert len((await searcher.search(SearchRequest("needle", root / name))).hits) == 1
        assert len((await searcher.search(SearchRequest("needle", root, glob=name))).hits) == 1
    assert sorted(hit.path for hit in (await searcher.search(SearchRequest("needle", root))).hits) == sorted(names)
    assert sorted(file.path for file in (await changed_files(caller, before)).files) == sorted(names)
    assert sorted((await searcher.list_files(root)).paths) == sorted(names)
    assert not files_named(tmp_path, "pwn")
