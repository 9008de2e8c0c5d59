"""A word that names a secret place is refused wherever it stands in a line, whatever it is written as, in every mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.permission_room import Room, read
from yagent.workspace.permissions import Decision, Mode

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY

MODES = (Mode.ASK, Mode.YOLO, Mode.FULL_YOLO)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.write("a.txt")
    room.write("notes.md")
    room.write("src/a.py")
    (room.home / ".yagent" / "config").mkdir(parents=True)
    (room.home / ".yagent" / "config" / "config.toml").write_text("key")
    (room.workspace / "link").symlink_to(room.home / ".ssh")
    return room


LOOPS = (
    "for f in ~/.ssh/*; do cat $f; done",
    "for f in ~/.ss?/*; do cat $f; done",
    "for f in ~/.ss[[:alpha:]]/*; do cat $f; done",
    "for f in /etc/shado*; do head -c 20 $f; done",
    "for f in link/*; do cat $f; done",
    "for d in ~/.y*; do cat $d/config/config.toml; done",
    "select f in ~/.ssh/*; do cat $f; done",
    "case ~/.ssh/id_rsa in *) cat $_;; esac",
)
VARIABLES = (
    "X=~/.yagent; cat $X/config/config.toml",
    "X=~/.yagent && cat ${X}/config/config.toml",
    "X=~/.yagent; cat < $X/config/config.toml",
    'X=~/.yagent; cat "$X"/c*/c*',
    "P=$HOME/.ssh/id_rsa; cat $P",
    "X=~/.s; cat ${X}sh/id_rsa",
    "A=~; B=$A/.ssh; cat $B/id_rsa",
    "A=~/.s; A+=sh; cat $A/id_rsa",
    "export X=~/.yagent; cat $X/config/config.toml",
    "while true; do cat $X/config/config.toml; X=~/.yagent; done",
    "cat ${X:-~/.ssh/id_rsa}",
    "cat ~/.ssh/$X",
    "set -- ~/.ssh/id_rsa; cat $1",
)
FED = (
    "cat < ~/.y*/c*/c*",
    "xargs cat <<< ~/.yagent/config/config.toml",
    "cat <<< ~/.ssh/id_rsa",
    "echo ~/.ssh/id_rsa | xargs cat",
    "printf '%s\\n' ~/.ssh/id_rsa | xargs cat",
    "env echo ~/.ss?/id_rsa | xargs cat",
    "cat $(echo ~/.ssh/id_rsa)",
    "mapfile < ~/.ssh/id_rsa",
    "read x < ~/.ssh/id_rsa",
    "while read l; do echo $l; done < ~/.ssh/id_rsa",
    "while read l; do echo $l; done < ~/.ss?/id_rsa",
    "source ~/.ssh/*",
    "exec 3< ~/.ss?/id_rsa",
    "diff a.txt <(cat ~/.ss?/id*)",
    "cat ~/.{ssh,x}/id_rsa",
    "cat ~/.ss[[:alpha:]]/id_rsa",
    "cd ~/.ssh && cat id_rsa",
    "cd ~/.ss? && cat *",
    "pushd ~/.ssh && cat id_rsa",
    "git -C ~/.ssh diff --no-index . /dev/null",
    "tar c ~",
    "tar cf out.tar ~/.ss?",
    "cd ~ && tar cz .",
    "zip -r out.zip ~",
    "rsync -a ~/ copy/",
    "cp -r ~ copy",
)
PROCESSES = (
    "cat /proc/$PPID/environ",
    "cat /proc/$$/environ",
    "cat /proc/self/environ",
    "cat /proc/1/environ",
    "cat /proc/*/environ",
    "cat /proc/[0-9]*/environ",
    "P=1; cat /proc/$P/environ",
    "for p in /proc/[0-9]*; do cat $p/environ; done",
    "tr '\\0' '\\n' < /proc/$PPID/environ",
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("line", [*LOOPS, *VARIABLES, *FED, *PROCESSES])
def test_a_secret_is_not_read_by_any_spelling(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("line", [line for line in (*LOOPS, *VARIABLES, *FED, *PROCESSES) if not line.startswith(("select", "tar cf"))])
def test_it_is_refused_like_the_plain_name(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is DENY


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "while read f; do cat $f; done <<E\n$HOME/.ssh/id_rsa\nE",
        "while read f; do cat $f; done <<E\n${HOME}/.ssh/id_rsa\nE",
        "while read f; do cat $f; done <<'E'\n/etc/shadow\nE",
        "{ read f; cat $f; } <<E\n~/.ssh/id_rsa\nE",
        "(read f; cat $f) <<E\n$HOME/.ssh/id_rsa\nE",
        "if read f; then cat $f; fi <<E\n$HOME/.ssh/id_rsa\nE",
        "xargs cat <<E\n$HOME/.ssh/id_rsa\nE",
        "cat <<E | xargs cat\n$HOME/.ssh/id_rsa\nE",
    ],
)
def test_a_here_document_tells_of_secrets_too(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "echo 'the key is ~/.ssh/id_rsa' | cut -d' ' -f4 | xargs cat",
        "xargs cat <<'E'\n/etc/shadow\nE",
        "cat $(grep -o '/etc/shadow' a.txt)",
        "cd $(dirname '/etc/shadow') && cat shadow",
    ],
)
def test_an_operand_not_known_yet_asks_when_the_line_tells_of_a_secret(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("line", ["echo x > ~/.ss?/config", "echo x >> ~/.y*/c*/c*", "X=~/.bashrc; echo x >> $X", "echo x > /etc/shado*"])
def test_a_protected_place_is_not_written_by_a_pattern_or_variable(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["/proc/1/environ", "/proc/self/environ", "/proc/thread-self/environ"])
def test_the_environment_of_a_process_is_closed_to_the_reading_tool(room: Room, name: str, mode: Mode) -> None:
    assert read(name, room.permissions(mode)).decision is DENY


@pytest.mark.parametrize(
    ("line", "verdicts"),
    [
        ("for f in src/*.py; do wc -l $f; done", (ASK, ALLOW, ALLOW)),
        ("for i in 1 2 3; do echo $i; done", (ALLOW, ALLOW, ALLOW)),
        ("X=5; echo $X", (ALLOW, ALLOW, ALLOW)),
        ("for f in *.txt; do cat $f; done", (ASK, ALLOW, ALLOW)),
        ("cat < notes*", (ALLOW, ALLOW, ALLOW)),
        ("cat $(git ls-files)", (ASK, ALLOW, ALLOW)),
        ("cat /proc/cpuinfo /proc/mem*", (ASK, ALLOW, ALLOW)),
        ("echo 'keys belong into ~/.ssh'", (ALLOW, ALLOW, ALLOW)),
        ("for f in ~/*.md; do cat $f; done", (ASK, ALLOW, ALLOW)),
        ("for f in ~/.config/*; do echo $f; done", (ALLOW, ALLOW, ALLOW)),
        ("cat ~/*/*", (ASK, ALLOW, ALLOW)),
        ("tar xf a.tar", (ASK, ALLOW, ALLOW)),
        ("tar cf a.tar src", (ASK, ALLOW, ALLOW)),
        ("cp -r src copy", (ASK, ALLOW, ALLOW)),
        ("cat ${X:-a.txt}", (ASK, ASK, ALLOW)),
        ("find . -name '*.py' | xargs cat", (ASK, ALLOW, ALLOW)),
        ("while read f; do wc -l $f; done <<E\na.txt\nE", (ASK, ALLOW, ALLOW)),
        ("while read f; do wc -l $f; done < a.txt", (ASK, ALLOW, ALLOW)),
    ],
)
def test_harmless_lines_keep_their_verdicts(room: Room, line: str, verdicts: tuple[Decision, ...]) -> None:
    assert tuple(room.shell(line, room.permissions(mode)).decision for mode in MODES) == verdicts


COMPLETED = (
    "cat ~/.yagent/$(echo config)/config.toml",
    "cat ~/.yagent/$X",
    "cat ~/.yagent/`echo config`/config.toml",
    "head < ~/.yagent/$(echo config)/config.toml",
    "dd if=$HOME/.yagent/$X",
    "cat --file=$HOME/.yagent/$X",
    "cat ~/{.yagent,x}/$X",
    "cat ~/.s$X/id_rsa",
    "cat ~/.$X/id_rsa",
    "cat ~/$X/id_rsa",
    "cat /etc/sh$X",
    "cat /pr$X/1/environ",
    "cat /proc/self/$X",
    "cat link/$X",
    "ln -s ~/.yagent/$X l; cat l",
    "cp -r ~/.ya$X .",
    "tar -C ~/.ya$X -c .",
    "grep -r key ~/.y$X",
    "find ~/.yagent -exec cat {} ';'",
    "xargs -I{} cat ~/.yagent/{} < a.txt",
    "sudo cat ~/.yagent/$X",
    "bash -c 'cat ~/.yagent/\"$1\"' x config/config.toml",
    "for d in ~/.yagent/$X; do cat $d; done",
    "for d in $(ls ~); do cat ~/$d/*; done",
    "D=~/.yagent/$X; cat $D",
    "X=5; read X; cat ~/.s$X",
    "echo ~/.yagent/$X | xargs cat",
    ". ~/.yagent/$X",
    "echo x > ~/.yagent/$X",
)
"""The beginning of the name stands in the line, the rest comes when it runs."""

ENDING = (
    "cat ~root/.ssh/*",
    "cat ~$USER/.ssh/id_rsa",
    "cat $(echo ~)/.ssh/id_rsa",
    "cat $X/.yagent/config/config.toml",
    "cat $X/.yagent/config/$Y",
    "X=${HOME}; cat ${X%/}/.ssh/id_rsa",
    "cat ${X:-~/.yagent}/config/config.toml",
    "X=~/.yagent/; cat ${X%/}/config/config.toml",
    "D=$(dirname ~/.yagent/x); cat $D/config/config.toml",
)
"""The end of it stands there."""

ELSEWHERE = (
    "D=~/.yagent; cd $D; cat config/config.toml",
    "D=~; cd $D; cd .yagent; cat config/config.toml",
    "D=$(echo ~/.yagent); cd $D; cat config/config.toml",
    "cd $(echo ~); cat .ssh/id_rsa",
    "cd ~/.yagent/$X && cat config.toml",
    "cd ~/.$X && cat id_rsa",
    "cd ~/.yagent; cat $X",
    "cd ~/.yagent; cat $(ls)",
    "cd ~/.yagent; ls | xargs cat",
    "cd ~/.yagent/data; cat ../$X",
    "cd; cat .s$(echo sh)/id_rsa",
    "cd ~ && ls -a | xargs cat",
    "cd - && cat .yagent/config/config.toml",
    "cd link; cat $X",
    "pushd ~/.yagent; cat $X",
    "(cd ~/.yagent; cat $X)",
    "cat ~+/../home/.ssh/id_rsa",
)
"""It begins in the directory that the line went to."""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("line", [*COMPLETED, *ENDING, *ELSEWHERE])
def test_a_word_that_may_be_completed_to_a_secret_is_not_let_through(room: Room, line: str, mode: Mode) -> None:
    (room.home / ".yagent" / "data").mkdir()
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize(
    "more", ["{}; cat a.txt", "{}\nX=a.txt", "{}; HOME=/nowhere", "cd src; {}", "if true; then {}; fi; cd /tmp", "({})"]
)
@pytest.mark.parametrize("line", [*COMPLETED, *ENDING, *ELSEWHERE])
def test_more_commands_do_not_let_it_through(room: Room, line: str, more: str) -> None:
    (room.home / ".yagent" / "data").mkdir()
    if more.startswith("cd ") and (line.startswith("cat ~+") or "link" in line):
        line = f"cd ..; cd w; {line}"  # these say something only where they are
    assert room.shell(more.format(line), room.permissions(Mode.FULL_YOLO)).decision is not ALLOW


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Room:
    """A room for all examples, since it is only looked at."""
    room = Room(tmp_path_factory.mktemp("room"))
    (room.home / ".yagent" / "config").mkdir(parents=True)
    (room.home / ".yagent" / "config" / "config.toml").write_text("key")
    return room


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_part_of_a_secret_name_is_left_open_asks(shared: Room, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["~/.ssh/id_rsa", "~/.yagent/config/config.toml"]))
    start = data.draw(st.integers(len("~/"), len(name)))
    end = data.draw(st.integers(start, len(name)))
    hole = data.draw(st.sampled_from(["$(echo x)", "${X}", "`cat a`", '"$1"', "$@"]))
    frame = data.draw(st.sampled_from(["cat {}", "head -n 1 < {}", "python3 x.py {}", "D={}; cat $D/x", "cd {} && cat x", "x --in={}"]))
    line = frame.format(name[:start] + hole + name[end:]).replace("--in=~", "--in=$HOME")
    if not (frame.startswith("D=") and name[start - 1] == "/" and start == len("~/")):
        assert shared.shell(line, shared.permissions(Mode.FULL_YOLO)).decision is not ALLOW, line


@pytest.mark.parametrize(
    "line",
    [
        "cat src/$NAME.py",
        'for f in *.py; do wc -l "$f"; done',
        'cat "$1"',
        "cat $X /$X",
        "cd src && cat $X",
        'while read -r f; do sed -i s/a/b/ "$f"; done < a.txt',
        "cat ~/projects/$X/README.md ~/.cache/$X ~/.config/nvim/$X",
        "cat $PWD/src/$X /tmp/$X /usr/lib/$X/a /etc/nginx/$X /proc/cpu$X",
        "export PATH=$HOME/.local/bin:$PATH; make",
        'DEST="$HOME/$NAME"; echo hi',
        'cd "$(dirname "$0")" && make',
        "cd $(git rev-parse --show-toplevel) && cat README.md config/config.toml",
        "DIR=$(mktemp -d); cat $DIR/config/config.toml",
        "D=build; cd $D; cat config/config.toml",
        'git commit -m "fix $X in ~/.ssh/$Y"',
        "for i in {1..60}; do echo $i > out/$i.txt; done",
        "cat $DIR/.github/workflows/$X",
        "cd ~ && ls && make",
        'grep -rn "$PATTERN" src',
    ],
)
def test_words_that_lead_to_no_secret_run_under_full_yolo(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW


def test_a_name_right_above_secrets_counts_only_when_one_is_there(room: Room) -> None:
    line = "ls ~/.config/$X"
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW
    (room.home / ".config" / "gh").mkdir(parents=True)
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ASK


def test_too_many_values_of_variables_ask(room: Room) -> None:
    line = "".join(f"{name}={value}; " for name in "ABC" for value in range(20)) + "echo $A$B$C"
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ASK
