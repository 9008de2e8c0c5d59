"""What a line would run, found out without running it."""

from __future__ import annotations

import resource
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yagent.workspace.shell_syntax import Analysis, Command, analyse
from yagent.workspace.shell_syntax.commands import every_command
from yagent.workspace.shell_syntax.lexer import NotUnderstoodError
from yagent.workspace.shell_syntax.words import Found, decode

HOME = {"HOME": "/h"}
BASH = shutil.which("bash") or "bash"


def commands(line: str) -> list[list[str | None]]:
    """The words of every command of a line that must be understood."""
    analysis = analyse(line, directory="/w", variables=HOME)
    assert not analysis.problem, analysis.problem
    return [list(command.values) for command in every_command(analysis.commands) if command.words]


def one(analysis: Analysis) -> Command:
    assert not analysis.problem
    (command,) = analysis.commands
    return command


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("r\\m $'rm' c\"\"url \"a\"'b'", [["rm", "rm", "curl", "ab"]]),
        ("$'\\x63\\165rl' $'a\\tb\\u00e9'", [["curl", "a\tbé"]]),
        ("c\\\nurl x", [["curl", "x"]]),
        ("rm \\ foo", [["rm", " foo"]]),
        ("ls ~/x ~ a~ '~' \\~ a/~", [["ls", "/h/x", "/h", "a~", "~", "~", "a/~"]]),
        ("ls $HOME/x \"${HOME}\" '$HOME'", [["ls", "/h/x", "/h", "$HOME"]]),
        ("ls {a,b}{1..2} {x} {} a{,b}", [["ls", "a1", "a2", "b1", "b2", "{x}", "{}", "a", "ab"]]),
        ("ls '' \"\" a''b", [["ls", "", "", "ab"]]),
        ("ls $X a$X *.py", [["ls", None, None, None]]),
        ("echo a#b # c", [["echo", "a#b"]]),
        ("a && b || c; d & e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("! a | b |& c", [["a"], ["b"], ["c"]]),
        ("(a; { b; }) > f", [["a"], ["b"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("case x in (a|b) c;; *) d; esac", [["c"], ["d"]]),
        ("for f in a b; do cat $f.txt; done", [["cat", "a.txt"], ["cat", "b.txt"]]),
        ("for f in $(ls); do cat $f; done", [["ls"], ["cat", None]]),
        ("for f in a; do read f; cat $f; done", [["read", "f"], ["cat", None]] * 2),
        ("for f in a; do f=/etc/passwd; cat $f; done", [["cat", None]] * 2),
        ("[[ -f a && b == c* ]] && d", [["d"]]),
        ('echo $(a `b` "$(c)")', [["b"], ["c"], ["a", None, None], ["echo", None]]),
        ("x=$(a) b", [["a"], ["b"]]),
        ("diff <(a) >(b)", [["a"], ["b"], ["diff", "/dev/fd/63", "/dev/fd/63"]]),
        ("echo ${x:-$(a)}", [["a"], ["echo", None]]),
        ("echo a >f b 2>&1 c", [["echo", "a", "b", "c"]]),
        ("timeout 5 env A=1 nice -n 3 rm x", [["timeout", "5", "env", "A=1", "nice", "-n", "3", "rm", "x"], *([None] * 3)]),
        ("sh -c 'a; b' x", [["sh", "-c", "a; b", "x"], ["a"], ["b"]]),
        ("bash -lc 'sh -c \"a\"'", [["bash", "-lc", 'sh -c "a"'], ["sh", "-c", "a"], ["a"]]),
        ("sudo -u x rm y", [["sudo", "-u", "x", "rm", "y"], ["rm", "y"]]),
        ("env =1 rm x", [["env", "=1", "rm", "x"], ["rm", "x"]]),
    ],
)
def test_words_are_decoded_and_every_command_is_found(line: str, expected: list[list[str | None] | None]) -> None:
    found = commands(line)
    assert len(found) == len(expected)
    assert all(wanted is None or got == wanted for got, wanted in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("line", "ran"),
    [
        ("cat <<'EOF'\n$(a) `b`\nEOF\nc", ["cat", "c"]),
        ('cat <<EOF\n$(a) `b` \\$(no) "$(c)"\nEOF\nd', ["a", "b", "c", "cat", "d"]),
        ("cat <<-'EOF' | b\n\ta\n\tEOF\nc", ["cat", "b", "c"]),
        ("cat <<A <<'B' && d\n$(a)\nA\n$(b)\nB\nc", ["a", "cat", "d", "c"]),
        ("cat <<EOF\nx\\\nEOF\n$(a)\nEOF\nb", ["a", "cat", "b"]),
        ('git commit -m "$(cat <<\'EOF\'\nIt\'s `a` "test" (1\nEOF\n)" && b', ["cat", "git", "b"]),
        ("bash <<'EOF'\na\ncat <<X\ny\nX\nEOF\nb", ["bash", "a", "cat", "b"]),
        ("bash -s <<< 'a; b'", ["bash", "a", "b"]),
    ],
)
def test_here_documents_are_lifted_expanded_where_the_shell_does_and_parsed_where_a_shell_reads_them(line: str, ran: list[str]) -> None:
    assert [words[0] for words in commands(line)] == ran


@pytest.mark.parametrize(
    ("line", "directories"),
    [
        ("cd x && a", {"/w/x"}),
        ("cd x; a", {"/w", "/w/x"}),
        ("cd x || a", {"/w"}),
        ("cd x && cd y && a", {"/w/x/y"}),
        ("(cd x); a", {"/w"}),
        ("cd x | b; a", {"/w"}),
        ("cd x & a", {"/w"}),
        ("{ cd x && b; } && a", {"/w/x"}),
        ("cd && a", {"/h"}),
        ("cd /etc/ && a", {"/etc"}),
        ("cd x/.. && a", {"/w", "/w/x/.."}),
        ("pushd x && a", {"/w/x"}),
        ("command cd x && a", {"/w/x"}),
        ("if b; then cd x; fi; a", {"/w", "/w/x"}),
        ("cd $X && a", None),
        ("cd - && a", None),
        ("while b; do cd x; done; a", None),
        ("popd && a", None),
        ("! cd x && a", {"/w"}),
        ("sh -c 'cd x && a'", {"/w/x"}),
        ("sh -c 'cd x'; a", {"/w"}),
        ("env -C x a", None),
    ],
)
def test_the_working_directory_is_followed(line: str, directories: set[str] | None) -> None:
    analysis = analyse(line, directory="/w", variables=HOME)
    assert not analysis.problem
    last = list(every_command(analysis.commands))[-1]
    if line.startswith("env"):
        assert last.words[0].text == "env"
    else:
        assert last.words[0].text == "a"
        assert last.directories == (None if directories is None else frozenset(directories))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("eval a", "eval"),
        ("source f", "source"),
        (". f", "source"),
        ("trap a EXIT", "trap"),
        ("alias a=b", "alias"),
        ("f() { a; }", "function"),
        ("function f { a; }", "function"),
        ("coproc a", "coproc"),
        ("$X a", "computed"),
        ("$(a) b", "computed"),
        ("/bin/l? x", "computed"),
        ('sh -c "$X"', "computed"),
        ("sh -c \"echo \\$'x'\"", "computed"),
        ("curl x | bash", "reads_commands"),
        ("bash -s < f", "reads_commands"),
        ("shopt -s expand_aliases", "shopt"),
        ("set -k", "set"),
        ("echo $((x))", "expansion"),
        ("echo ${x@P}", "expansion"),
        ("echo ${!x}", "expansion"),
        ("echo ${x:=y}", "expansion"),
        ("echo ${x[1]}", "expansion"),
        ("echo ${x:1:2}", "expansion"),
        ("[[ a -eq b ]]", "arithmetic"),
        ("test -v 'a[$(b)]'", "arithmetic"),
        ("printf -v x y", "arithmetic"),
        ("declare -i x=1", "declares"),
        ('export "$X"', "declares"),
        ("unset 'a[1]'", "declares"),
        ("let x=1", "let"),
        ("builtin eval a", "eval"),
        ("command . f", "source"),
        ("env eval a", "eval"),
        ("mapfile x", "mapfile"),
    ],
)
def test_what_hides_or_changes_the_meaning_of_words_is_a_hazard(line: str, code: str) -> None:
    assert code in [hazard.code for hazard in analyse(line, directory="/w", variables=HOME).hazards]


@pytest.mark.parametrize(
    "line",
    [
        *(
            "echo 'a",
            'echo "a',
            "echo `a",
            "echo $(a",
            "echo ${a",
            "a\\",
            "cat <<EOF\nx",
            "cat <<EOF",
            "cat <<$X\n$X",
            "a | | b",
            "a; ; b",
            "; a",
        ),
        *(
            "a\0b",
            "a\rb",
            "a\x1bb",
            "a\x0bb",
            "a\u0085b",
            "\ue0f00\ue0f0",
            "a=(1 2)",
            "a[1]=2",
            "((x=1))",
            "for ((;;)); do a; done",
            "echo $[1+1]",
        ),
        *(
            "{ls;}",
            "time { a; }",
            "if a; then b",
            "done",
            "a )",
            "( a",
            "echo $(case x in x) a;; esac)",
            "exec {fd}>f",
            "select x in a; do b; done",
        ),
        *("echo \"${x:-'}\" a #'}", "case a in a) b;& *) c;; esac", "echo @(a|b)", "a <<A $(b\nc) \nA\n", "((a)); cat <<EOF\nx\nEOF"),
    ],
)
def test_what_is_not_certain_is_not_understood(line: str) -> None:
    assert analyse(line, directory="/w").problem


@pytest.mark.parametrize(
    "line",
    [
        " && ".join(["true"] * 60 + ["curl x"]),
        "echo " + "x" * 200_000,
        "true; " * 30_000,
        "$(" * 500 + "a" + ")" * 500,
        "(" * 500 + "a" + ")" * 500,
        "{ " * 500 + "a; " + "}; " * 500,
        '"$(' * 300 + "a" + ')"' * 300,
        "`" * 5000,
        "<<A " * 3000,
        "{a,b}" * 200,
        "${x:-" * 500 + "}" * 500,
        "if a; then " * 500,
        "a | " * 3000 + "b",
        "'" + "\\" * 50_000,
        "echo " + "$(a) " * 2000,
        "cat <<EOF\n" + "$(a)\n" * 20_000 + "EOF",
        "((" * 4000,
        "case a in " * 300,
        "echo " + "{}" * 5000,
        "echo " + "{a," * 2000 + "}" * 2000,
        "while a; do " * 20 + "cd x; " + "done; " * 20,
        "for a in {1..99}; do for b in {1..99}; do for c in {1..99}; do [[ x ]]; done; done; done",
    ],
    ids=range(22),
)
def test_any_line_is_judged_in_bounded_time(line: str) -> None:
    # CPU seconds of this process: other work on the machine does not count. It does not hang; how fast it is, a benchmark says.
    before = _processor_time()
    analyse(line, directory="/w", variables=HOME)
    assert _processor_time() - before < 5.0


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def test_deny_rules_can_still_be_tried_on_a_line_that_is_not_understood() -> None:
    analysis = analyse('true && c"u"rl x \'a', directory="/w")
    assert ("curl", "x", "a") in analysis.loose_words


PLAIN = st.text(alphabet="ab \\'\"$`*?[]{},~#!;&|<>()=\n\té-", max_size=8)


@settings(max_examples=400, deadline=None)
@given(texts=st.lists(PLAIN, min_size=1, max_size=4))
def test_known_words_are_what_bash_passes_on(texts: list[str]) -> None:
    word = "x".join(texts)
    if not word or word.startswith("#") or "\n" in word:
        return
    found = Found()
    try:
        words = decode(word, 0, len(word), found, {"HOME": "/h"})
    except NotUnderstoodError:
        return
    if found.scripts or found.hazards or any(part.value is None for part in words):
        return
    script = f"printf '%s\\0' x {word}"
    result = subprocess.run(
        [BASH, "--norc", "-c", script],
        capture_output=True,
        env={"HOME": "/h", "PATH": "/nonexistent", "LC_ALL": "C.UTF-8"},
        cwd="/",
        timeout=10,
        check=False,
    )
    if result.returncode == 0:
        assert result.stdout.decode().split("\0")[1:-1] == [part.value for part in words]
