"""A secret is not reached by links that are followed, patterns of bash, other directories than the known one, or text that bash is fed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision, Mode
from yagent.workspace.protected import MAX_FOLLOWED

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
MODES = (Mode.ASK, Mode.YOLO, Mode.FULL_YOLO)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.write("a.txt")
    room.write("src/a.py")
    room.write("src/b.py")
    (room.home / ".yagent" / "config").mkdir(parents=True)
    (room.home / ".yagent" / "config" / "config.toml").write_text("key")
    (room.home / ".netrc").write_text("key")
    (room.home / "projects").mkdir()
    return room


@pytest.fixture
def linked(room: Room) -> Room:
    """The workspace holds a link to a secret place, and one to the directory above."""
    (room.workspace / "link").symlink_to(room.home / ".ssh")
    (room.workspace / "hl").symlink_to(room.home)
    return room


FOLLOWING = (
    "grep -R key .",
    "grep -Rn key src .",
    "grep --dereference-rec key",
    "grep -d recurse key hl",
    "rg -L key",
    "rg --follow key src .",
    "diff -r src .",
    "diff -rN src .",
    "zip -r o.zip .",
    "tar chf o.tar .",
    "tar -cf o.tar -h .",
    "tar --dereference -cf o.tar .",
    "cp -rL . ../copy",
    "rsync -aL . copy",
    "find -L . -type f -exec cat {} +",
    "find . -follow -exec cat {} +",
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("line", FOLLOWING)
def test_links_below_are_looked_at_where_they_are_followed(linked: Room, line: str, mode: Mode) -> None:
    assert linked.shell(line, linked.permissions(mode)).decision is DENY


@pytest.mark.parametrize(
    "line", ["grep -r key .", "rg key", "diff -r --no-dereference src .", "zip -ry o.zip .", "tar cf o.tar .", "cp -r . ../w/c"]
)
def test_links_that_are_not_followed_do_no_harm(linked: Room, line: str) -> None:
    assert linked.shell(line, linked.permissions(Mode.FULL_YOLO)).decision is ALLOW


@pytest.mark.parametrize("line", [line for line in FOLLOWING if "hl" not in line])
def test_following_links_that_lead_to_no_secret_runs(room: Room, line: str) -> None:
    (room.workspace / "here").symlink_to("src")
    (room.workspace / "round").symlink_to(".")
    (room.workspace / "projects").symlink_to(room.home / "projects")
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW


def test_more_names_than_can_be_looked_at_are_refused(room: Room) -> None:
    for number in range(MAX_FOLLOWED + 1):
        (room.workspace / f"n{number}").touch()
    verdict = room.shell("grep -R key .", room.permissions(Mode.FULL_YOLO))
    assert verdict.decision is DENY
    assert "grep -r" in verdict.reasons[0].text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "grep -d recurse key ~",
        "grep --directories=recurse key ~",
        "grep --recurs key ~",
        "mkdir c; cp -r -t c ~",
        "cp -rt c ~/.",
        "cp -r --t=c ~",
        "grep --di=recurse key ~",
        "grep --rege key --rec ~",
        "cp --rec ~ c",
        "cp --archiv ~ c",
        "cp --recursive --target-directory=c ~",
        "tar --directory=$HOME -cf o.tar .",
        "tar --directory=$HOME -cf o.tar projects",
        "tar -C ~/projects -c ..",
        "cd ~ && git grep --no-index key",
        "git --work-tree=$HOME add -A",
        *("cd ~ && git add .", "cd ~ && git add :/", "git -C ~ add ':(top)'", "cd ~ && git add ':/.netrc'", "git add ':(top)/etc/shadow'"),
    ],
)
def test_a_directory_above_a_secret_is_not_gathered_by_any_option(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is DENY


@pytest.mark.parametrize(
    "line", ["cp -r src ~/projects", "rsync -a src ~", "grep -rn / src", "rg '~' src", "tar xf a.tar -C ~/projects", "git add -A"]
)
def test_gathering_what_holds_no_secret_runs(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW


@pytest.mark.parametrize(
    "line", ["git add :/", "git add :/src", "git add ':(top)src'", "git add . ':!a.txt'", "git add :^a.txt .", "git add -A"]
)
def test_the_magic_of_a_pathspec_is_no_path(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.YOLO)).decision is ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("line", "takes_all"),
    [("git add -A", True), ("git add --all", True), ("git add :/", True), ("git add .", False), ("git add a.txt", False)],
)
def test_a_tree_with_a_secret_is_not_taken_from_a_directory_below_its_top(room: Room, line: str, takes_all: bool, mode: Mode) -> None:
    (room.home / ".git").mkdir()
    below = f"cd ~/projects && {line}"
    assert (room.shell(below, room.permissions(mode)).decision is DENY) == takes_all


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("magic", [":/", ":(top)", ":(top,literal)", ":/:"])
@pytest.mark.parametrize("verb", ["add", "diff HEAD --", "grep key --", "commit -m x --"])
@pytest.mark.parametrize("name", [".ssh/id_rsa", ".netrc"])
def test_a_secret_named_from_the_top_of_the_tree_is_not_reached_unasked(room: Room, verb: str, magic: str, name: str, mode: Mode) -> None:
    below = f"cd ~/projects && git {verb} '{magic}{name}'"
    (room.home / ".git").mkdir()
    assert room.shell(below, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    ["ln -s ~ x", "ln -s ~", "ln -st src ~", "ln -s --target-directory=src ~", "ln -s ../home x", "ln -s ../../home src/x", "cp -s ~ x"],
)
def test_a_link_to_a_directory_above_a_secret_asks(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("line", ["ln -s ~/projects x", "ln -s $PWD/src ~/projects", "ln -sf a.py src/c.py", "ln -s $PWD/src ~/x"])
def test_other_links_run(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "cat [[:lower:]]ink/id_rsa",
        "cat [[=h=]]l/.netrc",
        "cat [[.h.]]l/.netrc",
        "cat [h[:digit:]]l/.netrc",
        "cat [^x]l/.netrc",
        "cat < [[:alpha:]]l/.netrc",
        "for f in [[:alpha:]]l/.netrc; do cat $f; done",
        "cat ~/.n[[=e=]]trc",
        "cat ~/.n[[.e.]]trc",
        "cat ../hom[[=e=]]/.netrc",
    ],
)
def test_sets_in_brackets_match_what_bash_matches(linked: Room, line: str, mode: Mode) -> None:
    assert linked.shell(line, linked.permissions(mode)).decision is DENY


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "cat hl$X/.netrc",
        "cat hl$(true)/.netrc",
        "cat $X'hl/.netrc'",
        "cat ..$X/home/.netrc",
        "cat $X../home/.netrc",
        "cat h$(echo l)/.netrc",
        'cat h"$@"l/.netrc',
        "cat [h$X]l/.netrc",
        "grep '' hl$X/.netrc",
        "sort < h`echo l`/.netrc",
        "read x y <<< 'link id_rsa'; cat $x/$y",
    ],
)
def test_a_word_may_be_completed_to_a_link(linked: Room, line: str, mode: Mode) -> None:
    assert linked.shell(line, linked.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
def test_a_whole_name_behind_a_variable_asks(room: Room, mode: Mode) -> None:
    assert room.shell(f"cat $X{room.home}/.netrc", room.permissions(mode)).decision is not ALLOW
    assert room.shell("find src -execdir cat ../../home/.netrc ';'", room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "env -C ~ cat .netrc",
        "env --chdir=$HOME cat .netrc",
        "tar --directory=$HOME -cf o.tar .netrc",
        "tar -C$HOME -cf o.tar .netrc",
        "tar -C ~/projects -c ../.netrc",
        "git -C ~/projects diff --no-index /dev/null ../.netrc",
        "git --work-tree=../home add -f .netrc",
        "GIT_WORK_TREE=$HOME git add .netrc",
        "export GIT_WORK_TREE=$HOME; git add .netrc",
        "HOME=../home; cat ~/.netrc",
        "CDPATH=~; cd .yagent && cd config && cat config.toml",
        "PWD=~; cat ~+/.netrc",
        "OLDPWD=~; cd -; cat .netrc",
        "GLOBIGNORE=x; cat ~/*",
        "f() { cd ../home; }; f; cat .netrc",
        "eval cd ../home; cat .netrc",
        "trap 'cd ../home' USR1; kill -USR1 $$; cat .netrc",
    ],
)
def test_a_relative_name_is_tried_where_the_line_says_it_may_be(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize(
    "line",
    ["ls ~ .netrc.example", "HOME=/tmp/x make", "cp src/a.py ~/projects", "env -C src cat a.py", "make -C src test", "PWD_OLD=x make"],
)
def test_other_relative_names_run(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'cat $0' link/id_rsa",
        "bash -c 'cat \"$@\"' x link/id_rsa",
        "bash -c 'cat $0/id_rsa' link",
        "bash +x -c 'cat link/id_rsa'",
        "bash -O extglob -c 'cat link/id_rsa'",
        "bash <(echo 'cat ~/.netrc')",
        "bash /dev/stdin <<< 'cat ~/.netrc'",
        "echo 'cat ~/.netrc' | bash",
        "echo 'cat link/id_rsa' | sh",
        "source <(echo 'cat ~/.netrc')",
        "cat <<'E' | bash -s\ncat $HOME/.netrc\nE",
        "cat${IFS}$HOME/.netrc",
        "x='cat ../home/.netrc'; $x",
        "x='cat ../home/.netrc'; bash -c \"$x\"",
        "x='cat ../home/.netrc'; eval $x",
        "env -S 'cat ~/.netrc'",
        "env -S 'cat link/id_rsa'",
        "trap 'cat ~/.ssh/id_rsa' EXIT",
        "trap 'x=~; cat $x/.netrc' EXIT",
        "f() { cat; } < link/id_rsa; f",
        ": ${x:=~/.s}; cat ${x}sh/id_rsa",
        ": ${x=link}; cat $x/id_rsa",
        "sed 'r link/id_rsa' a.txt",
        "git -c alias.x='!cat ~/.netrc' x",
        "gcc -x c @hl/.netrc",
        "node -r ../home/.netrc",
    ],
)
def test_text_that_bash_is_fed_does_not_hide_a_secret(linked: Room, line: str, mode: Mode) -> None:
    assert linked.shell(line, linked.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "echo 'make -C src' | bash",
        "trap 'rm -f a.txt' EXIT",
        "trap - INT",
        "source .venv/bin/activate",
        "env -S 'make test'",
        "f() { make; }; f",
    ],
)
def test_text_that_names_no_secret_runs_under_full_yolo(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "f() { echo x; } > ~/.bashrc; f",
        "f() { echo x; } >> ../home/.bashrc; f",
        "trap 'echo x >> ~/.bashrc' EXIT",
        "trap 'echo >> ../home/.bashrc' 0",
    ],
)
def test_a_guarded_file_is_not_written_at_another_time(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize(
    "line",
    [
        'for f in src/*.py; do echo "== $f"; head -5 "$f"; done',
        'f=src/a.py; cat "$f"',
        'for f in src/*.py; do python3 -m py_compile "$f" || exit 1; done',
        'for d in src; do (cd "$d" && ls); done',
    ],
)
def test_variables_whose_values_stand_in_the_line_are_judged_by_them(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.YOLO)).decision is ALLOW


@pytest.mark.parametrize(
    "line",
    [
        'f=../outside/victim.txt; python3 x.py "$f"',
        'f=a.txt; read f < a.txt; python3 x.py "$f"',
        "f=a.txt; env f=link/id_rsa bash -c 'cat \"$f\"'",
        'for f in $(ls); do python3 x.py "$f"; done',
        'f="a.txt ../outside"; python3 x.py $f',
        'f=src/-x; python3 "${f#src/}"',
    ],
)
def test_variables_that_may_hold_something_else_ask(linked: Room, line: str) -> None:
    assert linked.shell(line, linked.permissions(Mode.YOLO)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
def test_a_variable_that_may_be_kept_from_commands_may_be_empty(tmp_path: Path, mode: Mode) -> None:
    room = Room(tmp_path, {"MY_TOKEN": "inside", "PLACE": "src"})
    assert room.shell("cat $MY_TOKEN/etc/shadow", room.permissions(mode)).decision is not ALLOW
    assert room.shell("cat $PLACE/a.py", room.permissions(Mode.FULL_YOLO)).decision is ALLOW


def test_a_denied_file_stays_denied_behind_a_variable(room: Room) -> None:
    room.write(".env")
    for line in ('f=.env; cat "$f"', 'for f in .e*; do cat "$f"; done', "f=.env; python3 x.py $f"):
        assert room.shell(line, room.permissions(Mode.YOLO, deny=["read(.env)"])).decision is DENY
