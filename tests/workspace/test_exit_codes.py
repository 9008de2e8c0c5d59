"""What the exit code of a line says, tried on bash itself."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.workspace.exit_codes import LONGEST, ExitCode, exit_code_of

CHECK = "python3 -c 'raise SystemExit(1)'"
"""A check that fails."""

PIPED = [
    "CHECK | cat",
    "cd / && CHECK | tail -2",
    "CHECK 2>&1 | tee /dev/null 2>&1",
    "CHECK |& cat",
    "true; CHECK | cat;",
    "CHECK | cat && echo ok",
    "CHECK |\ncat",
    "CHECK | cat # the end",
    "CHECK <<E | cat\na ; b\nE\n",
    "bash -c 'python3 -c \"raise SystemExit(1)\" | cat'",
    "set -e; CHECK | cat",
    "CHECK <<'E' 2>&1 | tail\nif (: ;\nE",
    "set -o pipefail; set +o pipefail; CHECK | cat",
    "CHECK | cat; exit $?",
]
LISTED = [
    "CHECK; echo done",
    "CHECK\necho finished",
    "CHECK; git --version",
    "CHECK; CHECK || true",
    "CHECK || true",
    "CHECK || echo failed",
    "CHECK && echo fine; true",
    "{ CHECK; echo a; }",
    "(CHECK; echo a)",
    "CHECK & wait",
    "CHECK & true",
    "if CHECK; then echo yes; fi",
    "if CHECK; then echo yes; else echo no; fi",
    "if true; then CHECK; true; fi",
    "for i in 1 2; do CHECK; echo $i; done",
    'for i in 1 0; do python3 -c "raise SystemExit($i)"; done',
    "case a in a) CHECK; true;; esac",
    "set -e; CHECK && true; true",
    "f() { CHECK; true; }; f",
    "echo $(CHECK)",
    'echo "$(CHECK)" && true',
    "bash -c 'python3 -c \"raise SystemExit(1)\"; true'",
    "(CHECK || exit 1); true",
    "set -e; if CHECK; then true; fi; true",
    "CHECK <<'E' || true\nx\nE",
    "CHECK > /dev/null <<'E' 2>&1 || true\nx\nE",
    "CHECK <<'E'; echo \"exit $?\"\nx\nE",
    "cat > /dev/null <<'E' && CHECK; echo x\ny\nE",
    "bash <<'E'\npython3 -c 'raise SystemExit(1)'\necho done\nE",
    "find /dev/null -exec python3 -c 'raise SystemExit(1)' \\;",
    "bash -lc \"python3 -c 'raise SystemExit(1)'; echo $HOME\"",
    "eval \"python3 -c 'raise SystemExit(1)'; echo x\"",
    "set -e; { CHECK; echo; } && echo x",
    "set -e; (CHECK; true) && echo x",
    "set -e; set +e; CHECK; echo x",
    "set -e; ! CHECK; echo x",
    "! CHECK",
    "export x=$(CHECK)",
    "CHECK; code=$?; true; exit $other",
    "CHECK || { echo failed; exit; }",
]
TOLD = [
    "CHECK",
    "cd / && CHECK",
    "cd /; CHECK",
    "export A=1; CHECK",
    "A=1 CHECK",
    "echo now\nCHECK",
    "CHECK && echo ok",
    "CHECK > /dev/null 2>&1",
    "CHECK <<E\nx; y\nE",
    "CHECK || exit 3",
    "CHECK || { echo failed; exit 1; }",
    "CHECK || exit 1; echo done",
    "if CHECK; then echo yes; else exit 1; fi",
    "for i in 1 2; do CHECK || exit 1; done; echo all",
    "set -e; CHECK; echo done",
    "set -euo pipefail\nCHECK | cat\necho done",
    "set -o pipefail; CHECK | cat",
    "echo 3 | CHECK",
    "timeout 9 CHECK",
    "time CHECK",
    "env A=1 CHECK",
    "bash -c 'python3 -c \"raise SystemExit(1)\"'",
    "(cd / && CHECK)",
    "[ a = b ]",
    "[[ a == b ]]",
    "test -e /nothing",
    "diff /dev/null /etc/passwd",
    "x=$(CHECK)",
    "set -o pipefail && CHECK | tail -1",
    "cd / && set -o pipefail && CHECK 2>&1 | tail -5",
    "CHECK 2>&1 | tee /dev/null; exit ${PIPESTATUS[0]}",
    "CHECK; exit $?",
    "CHECK; rc=$?; echo log; exit $rc",
    'CHECK > /dev/null 2>&1; rc=$?; true; exit "$rc"',
    "CHECK || exit $?",
    "CHECK || exit",
    "CHECK || { rc=$?; echo failed; exit $rc; }",
    "CHECK; test $? -eq 0",
    "CHECK & wait $!",
    ". /dev/null; CHECK",
    "set -a; . /dev/null; set +a; CHECK",
    "[ -d / ] || mkdir /; CHECK",
    "[ -f /nothing ] && source /nothing; CHECK",
    "ulimit -n 100; CHECK",
    'eval "$(echo a=1)"; CHECK',
    "if ! CHECK; then echo failed; exit 1; fi",
    "if [ -d / ]; then CHECK; else echo none; fi",
    "bash -o pipefail -c 'python3 -c \"raise SystemExit(1)\" | cat'",
    "bash -ec 'python3 -c \"raise SystemExit(1)\"; true'",
    "bash -e <<'E'\npython3 -c 'raise SystemExit(1)'\necho done\nE",
    "CHECK <<'E' 2>&1\nif (: ;\nE",
]
NO_CHECKS = [
    "git status --short",
    "git status; git diff --stat",
    "ls -la | head -3",
    "cat /etc/passwd; echo done",
    "echo 'a | b'",
    "mkdir -p /tmp && touch /dev/null",
    "true || false",
    "case a in a|b) true;; esac",
    "cat <<'E'\nfalse | cat\nE",
    "A=1",
    "pwd",
    "",
]
UNKNOWN = ["echo 'unclosed |", "for", "a &> ; | b", "x" * (LONGEST + 1)]


def ended(line: str) -> int:
    """How bash ends it."""
    return subprocess.run(["bash", "-c", line], check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=20).returncode


@pytest.mark.parametrize("line", PIPED)
def test_a_pipe_that_hides_how_a_check_ended_is_seen(line: str) -> None:
    line = line.replace("CHECK", CHECK)
    assert exit_code_of(line) == ExitCode("pipe", checks=True)
    assert ended(line) == 0


@pytest.mark.parametrize("line", LISTED)
def test_a_command_whose_end_takes_the_place_of_a_check_is_seen(line: str) -> None:
    line = line.replace("CHECK", CHECK)
    assert exit_code_of(line) == ExitCode("list", checks=True)
    assert ended(line) == 0


@pytest.mark.parametrize("line", TOLD)
def test_an_exit_code_that_is_the_checks_own_is_believed(line: str) -> None:
    line = line.replace("CHECK", CHECK)
    assert exit_code_of(line) == ExitCode(checks=True)
    assert ended(line) != 0


@pytest.mark.parametrize("line", NO_CHECKS)
def test_what_only_reads_or_moves_files_checks_nothing(line: str) -> None:
    assert exit_code_of(line) == ExitCode()
    assert ended(line) == 0


@pytest.mark.parametrize("line", UNKNOWN)
def test_a_line_that_cannot_be_read_is_given_the_benefit_of_the_doubt(line: str) -> None:
    assert exit_code_of(line) == ExitCode(checks=True)


SIGNS = [*"|&;\n(){}<>'\"$`\\!#", "&&", "||"]
WORDS = ["if ", "then ", "fi", "do ", "done", "for i in ", "case ", "esac", "make ", "x "]
PIECES = st.sampled_from([*SIGNS, *WORDS])


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_line_is_too_odd(line: str) -> None:
    assert isinstance(exit_code_of(line), ExitCode)


def test_a_deep_line_ends() -> None:
    assert exit_code_of("( " * 3000 + "make" + " )" * 3000).checks
    assert exit_code_of("make && " * 900 + "make; true").checks
    assert exit_code_of("make \ud83d; true").checks
