"""Shell lines that were once let through (cases of the security set), by their ids."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision, Mode

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "X=`touch W/pwn` tool --version",
        "X=$(touch W/pwn) tool --version",
        "Y=1 X=$(touch W/pwn) tool --version",
        'X="a$(touch W/pwn)" tool --version',
        "X=<(touch W/pwn) tool --version",
        "X=${Y:-$(touch W/pwn)} tool --version",
        "X=$Y tool --version",
        *(f"{name}=x tool --version" for name in ("PATH", "LD_PRELOAD", "GIT_DIR", "GIT_SSH_COMMAND", "BASH_ENV", "PAGER", "GIT_PAGER")),
        *(
            f"{name}=x tool --version"
            for name in ("NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "DYLD_INSERT_LIBRARIES")
        ),
        "env PATH=x tool --version",
        "export PATH=x; tool --version",
        "declare PATH=x; tool --version",
        "for PATH in x; do tool --version; done",
        "read PATH; tool --version",
        "X=(`touch W/pwn`) tool --version",
        "X[`touch W/pwn`]=1 tool --version",
    ],
)
def test_I01_an_assignment_in_front_does_not_ride_on_an_allow_rule(room: Room, line: str) -> None:
    permissions = room.permissions(allow=["shell(tool --version)"])
    assert room.shell(line, permissions).decision is ASK


@pytest.mark.parametrize("line", ["tool --version", "X=1 tool --version", "X='a b' Y=z tool --version", "NO_COLOR=1 tool --version"])
def test_I01_plain_literals_of_harmless_names_do(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(allow=["shell(tool --version)"])).decision is ALLOW


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("git log && touch W/pwn", ASK),
        ("git log; touch W/pwn", ASK),
        ("git log | tee W/pwn", ASK),
        ("git log || touch W/pwn", ASK),
        ("git log & touch W/pwn", ASK),
        ("git log\ntouch W/pwn", ASK),
        ("git log > W/pwn", ASK),
        ("git log $(touch W/pwn)", ASK),
        ("(rm -r W/x)", DENY),
        ("{ rm -r W/x; }", DENY),
        ("true && rm -r W/x", DENY),
        ("true\nrm -r W/x", DENY),
        ("if true; then rm -r W/x; fi", DENY),
        ("while true; do rm -r W/x; done", DENY),
        ("case a in a) rm -r W/x;; esac", DENY),
        ("! rm -r W/x", DENY),
        ("echo `rm -r W/x`", DENY),
        ("cat <(rm -r W/x)", DENY),
        ("sudo -n rm -r W/x", DENY),
        ("env X=1 nice rm -r W/x", DENY),
        ("find . -exec rm -r {} \\;", DENY),
        ("ls | xargs rm", DENY),
        ("bash -c 'rm -r W/x'", DENY),
        ("bash <<< 'rm -r W/x'", DENY),
        ("bash <<EOF\nrm -r W/x\nEOF", DENY),
        ("/bin/rm -r W/x", DENY),
        ("command rm -r W/x", DENY),
        ("eval 'rm -r W/x'", DENY),
        ("f() { rm -r W/x; }; f", DENY),
    ],
)
def test_I02_every_part_of_a_compound_line_needs_its_own_allow(room: Room, line: str, decision: Decision) -> None:
    permissions = room.permissions(allow=["shell(git *)"], deny=["shell(rm *)"])
    assert room.shell(line, permissions).decision is decision
    assert room.shell(line, room.permissions(Mode.FULL_YOLO, deny=["shell(rm *)"])).decision is not (ALLOW if decision is DENY else DENY)


READ_ONLY_PROGRAMS_THAT_WRITE = [
    "git diff --output=W/pwn",
    "git log --output W/pwn",
    "sed -i s/a/b/ W/f",
    "sed -n 'w W/pwn' W/f",
    "sed 's/a/touch W\\/pwn/e' W/f",
    "sed 's/a/b/w W/pwn' W/f",
    "sed --in-place s/a/b/ W/f",
    "sed -n -f W/script W/f",
    "find W -exec touch W/pwn \\;",
    "find W -delete",
    "find W -fprint W/pwn",
    "find W -fls W/pwn",
    "find W -ok touch W/pwn \\;",
    "sort -o W/f W/g",
    "sort -oW/f W/g",
    "sort --output=W/f W/g",
    "sort --compress-program=./evil W/g",
    "rg --pre ./evil x",
    "rg --pre=./evil x",
    "rg --hostname-bin=./evil x",
    "tree -o W/pwn",
    "awk 'BEGIN{system(\"touch W/pwn\")}'",
    "awk '{print > \"W/pwn\"}' W/f",
    "date -s 2020-01-01",
    "date 010100002020",
    "javac -version -processor Evil A.java",
    "uniq W/f W/pwn",
    "xxd -r W/f W/pwn",
    "hostname evil",
    "git branch new",
    "git tag new",
    "git grep -O./evil x",
    "git diff --ext-diff",
    "git -p log",
    "python3 --version -c 'x'",
    "env touch W/pwn",
    "command touch W/pwn",
    "tail -f W/f > W/pwn",
    "sed -ne 'w W/pwn' -e p W/f",
    "sed -e p -e 'w W/pwn' W/f",
    "sed -ie p W/f",
    "git remote -v update",
    "git submodule --quiet foreach 'touch W/pwn'",
    "git reflog --all expire",
    "git stash drop",
    "jobs -x touch W/pwn",
    "wait -n -p 'a[$(touch W/pwn)]'",
    "getopts a 'x[$(touch W/pwn)]'",
    "./bash -c ls",
    "./timeout 5 ls",
    "W/env ls",
]


@pytest.mark.parametrize("line", READ_ONLY_PROGRAMS_THAT_WRITE)
def test_I04_a_program_known_to_read_asks_when_its_arguments_write_or_run(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions()).decision is ASK


@pytest.mark.parametrize(
    "line",
    [
        *(
            "ls -la",
            "cat a b",
            "head -20 a",
            "tail -n +5 a",
            "wc -l a",
            "grep -rn x src",
            "rg -n x",
            "find . -name '*.py' -type f",
            "sort -u a",
        ),
        *("sed -n '1,20p;30q' a", "git status -sb", "git log --oneline -5", "git diff HEAD~1 -- a", "git show HEAD:a", "git branch -a"),
        *("git blame -L 1,5 a", "cut -d: -f1 a", "diff -u a b", "which python3", "python3 --version", "test -f a && echo yes", "pwd"),
        *(
            "cat a | sort | uniq -c | head",
            "find . -name x -exec grep -l y {} +",
            "jq -r .x a",
            "stat a",
            "du -sh .",
            "tree -L 2",
            "date +%F",
        ),
        *("for f in a b; do head -3 $f; done", "cd src && ls", "ls 2>/dev/null || true", "cat a 2>&1 | grep x", "set -e; ls", "time ls"),
    ],
)
def test_I04_reading_with_known_arguments_does_not_ask(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions()).decision is ALLOW


@pytest.mark.slow
@pytest.mark.parametrize("line", READ_ONLY_PROGRAMS_THAT_WRITE[:20])
def test_I04_the_programs_of_this_machine_do_write_with_them(room: Room, line: str) -> None:
    """The control: an argument that asks is one that does something, where the program is here to show it."""
    program = line.split()[0]
    if shutil.which(program) is None or not any(word in line for word in ("W/pwn", "-i ", "--in-place", "-delete", " -o")):
        pytest.skip("nothing to show on this machine")
    folder = room.write("W/f", "a\n").parent
    (folder / "g").write_text("b\na\n")
    subprocess.run(["git", "init", "-q"], cwd=room.workspace, check=True)
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"], cwd=room.workspace, check=True
    )
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    subprocess.run(["bash", "-c", line], cwd=room.workspace, capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} if folder.exists() else {}
    if "-ok" in line:
        assert before == after
    else:
        assert before != after


GIT_SETTINGS = {
    "core.fsmonitor": '[core]\n\tfsmonitor = "touch pwn"\n',
    "diff.external": "[diff]\n\texternal = ./evil\n",
    "diff.x.textconv": '[diff "x"]\n\ttextconv = ./evil\n',
    "core.pager": "[core]\n\tpager = ./evil\n",
    "alias.x": "[alias]\n\tx = !./evil\n",
    "filter.x.clean": '[filter "x"]\n\tclean = ./evil\n',
    "include.path": "[include]\n\tpath = ../evil\n",
    "core.sshcommand": "[core]\n\tsshCommand = ./evil\n",
    "gpg.program": "[gpg]\n\tprogram = ./evil\n",
    "pager.log": "[pager]\n\tlog = ./evil\n",
    "merge.x.driver": '[merge "x"]\n\tdriver = ./evil\n',
    "credential.helper": "[credential]\n\thelper = ./evil\n",
    "core.worktree": "[core]\n\tworktree = /\n",
    "unheard.of": "[unheard]\n\tof = x\n",
}


@pytest.mark.parametrize("name", GIT_SETTINGS)
@pytest.mark.parametrize("line", ["git status", "git diff", "git log -p", "git show", "git -C . log", "cd sub && git status"])
def test_I05_reading_git_commands_ask_and_name_the_setting_when_the_repository_names_a_program(room: Room, name: str, line: str) -> None:
    room.write(".git/config", "[core]\n\tbare = false\n" + GIT_SETTINGS[name])
    for mode in (Mode.ASK, Mode.YOLO):
        verdict = room.shell(line, room.permissions(mode))
        assert verdict.decision is ASK
        assert name in verdict.explanation()


@pytest.mark.parametrize(
    "line",
    [
        "git -c core.pager='sh -c \"touch W/pwn\"' log",
        "git --exec-path=./x status",
        "git --config-env=core.pager=X log",
        "git ls-remote --upload-pack='touch W/pwn' .",
        "git --git-dir=evil log",
        "git --work-tree=/ status",
        "git x",
        "git config core.pager ./evil",
        "git log --show-signature",
        "git log --format=%GG",
        "GIT_EXTERNAL_DIFF=./evil git diff",
        "git submodule foreach 'touch W/pwn'",
        "git bisect run ./evil",
        "git rebase -x ./evil main",
        "git difftool -x ./evil",
    ],
)
def test_I05_git_options_that_start_programs_ask_in_both_modes(room: Room, line: str) -> None:
    for mode in (Mode.ASK, Mode.YOLO):
        assert room.shell(line, room.permissions(mode)).decision is ASK


def test_I05_an_ordinary_repository_with_large_files_and_submodules_stays_free(room: Room) -> None:
    room.write(
        ".git/config",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\thooksPath = .husky\n# x\n"
        '[remote "origin"]\n\turl = git@example.org:x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        '[branch "main"]\n\tremote = origin\n[filter "lfs"]\n\tprocess = git-lfs filter-process\n\trequired = true\n[user]\n\tname = x\n',
    )
    assert room.shell("git status", room.permissions()).decision is ALLOW


def test_I05_settings_of_submodules_of_bare_repositories_and_index_hooks_count_too(room: Room) -> None:
    room.write(".git/config", "[core]\n\tbare = false\n")
    room.write(".git/HEAD")
    assert room.shell("git status", room.permissions()).decision is ALLOW
    room.write(".git/modules/sub/HEAD")
    hidden = room.write(".git/modules/sub/config", "[core]\n\tfsmonitor = ./evil\n")
    assert room.shell("git status", room.permissions()).decision is ASK
    hidden.write_text("")
    hook = room.write(".git/hooks/post-index-change")
    assert room.shell("git status", room.permissions()).decision is ASK
    hook.unlink()
    for name in ("HEAD", "objects/x", "refs/x"):
        room.write(f"evil/{name}")
    room.write("evil/config", "[core]\n\tfsmonitor = ./evil\n")
    assert room.shell("cd evil && git status", room.permissions()).decision is ASK


def test_I09_shell_operands_obey_deny_rules_for_reading_through_links_and_patterns(room: Room) -> None:
    room.write("secrets.env")
    (room.workspace / "link.txt").symlink_to("secrets.env")
    permissions = room.permissions(Mode.FULL_YOLO, deny=["read(secrets.env)"])
    for line in (
        *("cat link.txt", "cat secrets.env", "cat SECRETS.env", "cat ./x/../secrets.env", "cat secrets.*", "cat s*", "cat < link.txt"),
        *("grep -r x .", "rg x", "find . -exec cat {} +", "head -1 'secrets.env'", "python3 x.py secrets.env", "tar cf x.tar secrets.env"),
        *(
            "cp secrets.env y",
            "cat $PWD/secrets.env",
            "git show HEAD:secrets.env",
            "sort link.txt",
            "bash -c 'cat link.txt'",
            "mv secrets.env y",
        ),
        *("dd if=secrets.env", "tool --input=secrets.env", "ln link.txt y", "diff a link.txt"),
    ):
        assert room.shell(line, permissions).decision is DENY, line
    assert room.shell("cat other", permissions).decision is ALLOW
