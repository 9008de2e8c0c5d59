"""Shell lines that were once let through, continued: what runs by itself later, what is remembered, where the analysis gives up."""

from __future__ import annotations

import time
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
        "echo x > .git/hooks/post-commit",
        "echo x >> ~/.bashrc",
        "echo x | tee .git/config",
        "cp a .git/hooks/pre-commit",
        "chmod +x .git/hooks/pre-commit",
        "ln -s ../../a .git/hooks/pre-commit",
        "mv a .git/config",
        "sed -i s/a/b/ .git/config",
        "rm -rf .git",
        "cd .git && echo x > config",
        "dd of=.git/config",
        "vim .git/config",
        "touch ~/.ssh/authorized_keys2",
    ],
)
def test_I11_writing_what_git_or_a_shell_starts_by_itself_asks_in_every_mode(room: Room, line: str) -> None:
    room.write(".git/config", "")
    for mode in Mode:
        assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize(
    ("line", "offered", "worse"),
    [
        ("git status && rm -r ./tmp", None, "rm -r ./src"),
        ("python3 -c 'print(1)'", "shell(python3 -c 'print(1)')", "python3 -c 'import os'"),
        ("env X=1 python3 a.py", None, "env X=1 python3 b.py"),
        ("bash s.sh", "shell(bash s.sh)", "bash t.sh"),
        ("sudo ls", None, "sudo rm x"),
        ("npx foo", "shell(npx foo)", "npx bar"),
        ("curl http://a/", "shell(curl http://a/)", "curl http://b/"),
        ("git push", "shell(git push)", "git push --force"),
        ("git commit -m x", "shell(git commit *)", "git -c core.hooksPath=x commit -m x"),
        ("pytest tests", "shell(pytest *)", "pytest -p evil"),
        ("pytest -x", "shell(pytest *)", "pytest --rootdir=/x"),
        ("pytest -x", "shell(pytest *)", "pytest -x > ../outside/x"),
        ("pytest -x", "shell(pytest *)", "PYTHONPATH=evil pytest -x"),
        ("npm run test", "shell(npm run test *)", "npm run deploy"),
        ("make test", "shell(make test *)", "make test SHELL=./evil"),
        ("make test", "shell(make test *)", "make clean"),
        ("foo --bar", "shell(foo --bar)", "foo --baz"),
        ("rm a.txt", "shell(rm a.txt)", "rm b.txt"),
        ("touch '*'", None, "touch x"),
        ("timeout 5 pytest", "shell(pytest *)", "timeout 5 python3 x"),
        ("python3 - <<'E'\nx\nE", None, "python3 - <<'E'\ny\nE"),
        ("cat a | foo", None, "foo x"),
        ("eval foo", None, "eval bar"),
        ("echo \u202e | foo", None, "foo"),
    ],
)
def test_I27_what_is_remembered_is_what_was_shown_and_no_wider(room: Room, line: str, offered: str | None, worse: str) -> None:
    room.write("a.txt")
    room.write("b.txt")
    verdict = room.shell(line, room.permissions())
    assert verdict.decision is ASK
    rules = {offer.rule for offer in verdict.offers if offer.rule}
    assert rules == (set() if offered is None else {offered})
    if offered is not None:
        assert room.shell(line, room.permissions(allow=[offered])).decision is ALLOW
        assert room.shell(worse, room.permissions(allow=[offered])).decision is ASK


def test_I27_what_is_free_offers_nothing_and_risky_commands_are_never_kept_for_the_project(room: Room) -> None:
    assert room.shell("ls", room.permissions()).offers == ()
    for line in ("curl http://a/", "git push", "python3 -c x", "bash s.sh", "npm install -g x"):
        assert [offer.scope for offer in room.shell(line, room.permissions()).offers] == ["once", "session"], line


@pytest.mark.parametrize(
    "line",
    [
        " && ".join([*["true"] * 60, "curl x"]),
        "true " + "x" * 200_000,
        "true; " * 20_000 + "curl x",
        "$(" * 500 + "curl x" + ")" * 500,
        "true\rcurl x",
        "cu\rrl x",
        "$'\\x63url' x",
        'c""url x',
        "curl${IFS}x",
        "true ${IFS}; $X",
        "{curl,x}",
        "c\\\nurl x",
        "alias t=curl\nt x",
        "true() { curl x; }; true",
        "cat <<EOF\n$(curl x)\nEOF",
        "true 'unbalanced\ncurl x",
        "true \0 curl x",
        'eval "$(echo Y3VybA==|base64 -d)"',
        "source ./f",
        ". ./f",
        "true\x0bcurl x",
        "tru\u00a0e; $(printf curl) x",
        "\\c\\u\\r\\l x",
        "command -p curl x",
        "exec curl x",
        "true <(curl x)",
        "trap 'curl x' EXIT",
        "true || curl x",
        "x=curl; $x y",
        "bash -c \"$(printf 'curl x')\"",
        "true <<A\nA\ncurl x",
        "true <<'A B'\nA B\ncurl x",
        "true #\\\ncurl x",
        "true $((`curl x`))",
        "true ${x:=`curl x`}",
        "[[ 'a[$(curl x)]' -eq 1 ]]",
        "coproc curl x",
        "true &curl x",
        "busybox wget x; curl x",
    ],
    ids=range(39),
)
@pytest.mark.parametrize("mode", list(Mode))
def test_I31_where_the_analysis_gives_up_or_sees_through_a_trick_nothing_is_allowed(room: Room, line: str, mode: Mode) -> None:
    permissions = room.permissions(mode, allow=["shell(true *)"], deny=["shell(curl *)"])
    room.shell("true", permissions)
    started = time.process_time()
    verdict = room.shell(line, permissions)
    assert verdict.decision is not ALLOW
    assert time.process_time() - started < 5  # of processor time: it does not hang; how fast it is, a benchmark says


@pytest.mark.parametrize(
    "line", ["true && curl x", "true 'unbalanced; curl x", 'true; c"u"rl x \0', "$'\\x63url' x", "curl $X", "c\\\nurl x"]
)
def test_I31_a_denied_program_is_denied_wherever_its_decoded_words_can_be_seen(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO, deny=["shell(curl *)"])).decision is DENY
