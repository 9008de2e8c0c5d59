"""Lines found by attacking the judge: each stands for a kind; tried on bash where bash does the hidden part."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision, Mode

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.write("a.txt")
    room.write("src/a.py")
    return room


@pytest.mark.parametrize(
    "line",
    [
        *("RANDOM='a[$(touch pwned)]'", "OPTIND='a[$(touch pwned)]'", "SRANDOM='a[$(touch pwned)]'", "HISTCMD='a[$(touch pwned)]'"),
        *("export RANDOM='a[$(touch pwned)]'", "read RANDOM <<< 'a[$(touch pwned)]'", "for RANDOM in 'a[$(touch pwned)]'; do :; done"),
        *("for SECONDS in 'a[$(touch pwned)]'; do :; done", "read -r OPTIND <<< 'a[$(touch pwned)]'", "PS4='$(touch pwned)'; set -x; :"),
        "printf 'xx%n' PATH; ls",
    ],
)
def test_a_variable_that_bash_acts_on_does_not_run_what_is_hidden_in_it(tmp_path: Path, line: str) -> None:
    room = Room(tmp_path)
    room.write("2/ls", "#!/bin/sh\n: > pwned\n").chmod(0o700)
    for mode in (Mode.ASK, Mode.YOLO):
        assert room.shell(line, room.permissions(mode)).decision is ASK
    subprocess.run(["bash", "--norc", "-c", line], cwd=room.workspace, check=False, capture_output=True, timeout=10)
    assert (room.workspace / "pwned").exists() or "SRANDOM" in line or "HISTCMD" in line, "bash does not run it: it proves nothing here"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "RIPGREP_CONFIG_PATH=x rg y",
            "export RIPGREP_CONFIG_PATH=x; rg y",
            "EXPORTED=x; rg y",
            "GETCONF_DIR=. getconf -a",
            "MAGIC=x file a.txt",
        ),
        *("LC_ALL=zh_CN.GBK ls", "export LANG=ja_JP.SJIS; ls"),
    ],
)
def test_a_program_that_reads_is_not_given_variables_that_could_start_something(tmp_path: Path, line: str) -> None:
    room = Room(tmp_path, {"EXPORTED": "y"})
    assert room.shell(line, room.permissions()).decision is ASK


@pytest.mark.parametrize("line", ["LC_ALL=C sort a.txt", "x=1 ls", "CI=1 ls", "FOO=bar; echo $FOO", "SECONDS=0; ls", "LANG=en_US.UTF-8 ls"])
def test_plain_variables_do_not_keep_a_reading_line_from_running(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions()).decision is ALLOW


def test_letters_that_another_locale_reads_as_half_of_an_operator_ask(tmp_path: Path) -> None:
    """In GBK the last byte of the sign and the backslash are one letter: the semicolon is an operator."""
    line = "echo \u20ac\\;ls"
    for variables, decision in (
        ({"LC_ALL": "zh_CN.GBK"}, ASK),
        ({"LANG": "de_DE.UTF-8"}, ALLOW),
        ({}, ALLOW),
        ({"LANG": "de_DE.ISO-8859-1"}, ALLOW),
    ):
        room = Room(tmp_path / decision.value / (variables.get("LANG") or "none"), variables)
        assert room.shell(line, room.permissions()).decision is decision
        assert room.shell("echo x\\;ls", room.permissions()).decision is ALLOW


@pytest.mark.parametrize(
    "line",
    [
        *("tar xf a.tar --to-command=ls", "tar cf x --checkpoint-action=exec=ls a.txt", "tar -I x -xf a", "tar xPf a.tar", "rg --pre x y"),
        *("cpio -i < a", "unzip -: a", "git init --template=src .", "man -P x y", "fd x -x ls", "sort --compress-program=x a.txt"),
    ],
)
def test_options_that_start_something_ask_under_yolo(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.YOLO)).decision is ASK


@pytest.mark.parametrize("line", ["git diff --no-index . ~", "git diff a.txt ~", "git grep --no-index x ~", "git diff ../home a.txt"])
def test_git_comparing_directories_outside_reads_everything_in_them(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.YOLO)).decision is DENY


@pytest.mark.parametrize("line", ['jq -n \'import "config" as $c {search: "/x"}; $c\'', "jq 'include \"x\"; .' a.txt"])
def test_a_jq_filter_that_reads_other_files_asks(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions()).decision is ASK
    assert room.shell("jq '.imports' a.txt", room.permissions()).decision is ALLOW


@pytest.mark.parametrize("line", ["git checkout --pathspec-from-file=x", "git bundle create a.txt HEAD"])
def test_git_overwriting_files_that_are_not_named_as_such_asks(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.YOLO)).decision is ASK


def test_a_bash_that_the_workspace_brings_asks_whatever_the_line(tmp_path: Path) -> None:
    room = Room(tmp_path, {"PATH": f"{tmp_path}/w/bin:/usr/bin:/bin"})
    assert room.shell("ls", room.permissions()).decision is ALLOW
    room.write("bin/bash")
    assert room.shell("ls", room.permissions()).decision is ASK
