"""Of which command the exit code of a line tells, tried on bash itself."""

from __future__ import annotations

import subprocess

import pytest

from yagent.workspace.pipes import exit_code_of_pipe

HIDING = [
    "false | cat",
    "cd / && false | tail -2",
    "false 2>&1 | tee /dev/null 2>&1",
    "false |& cat",
    "true; false | cat;",
    "false | cat && echo ok",
    "false |\ncat",
    "false | cat # the end",
    "false <<E | cat\na ; b\nE\n",
]
TELLING = [
    "false",
    "false || true",
    "echo 'a | b'",
    'echo "$(false | cat)"',
    "echo $(false | cat)",
    "false | cat; true",
    "false | cat\ntrue",
    "false | cat || true",
    "set -o pipefail; true | cat",
    "cat <<'E'\nfalse | cat\nE",
    "case a in a|b) true;; esac",
    "echo 'unclosed |",
    "echo a >| /dev/null",
    "echo a &> /dev/null",
]


@pytest.mark.parametrize("command", HIDING)
def test_the_exit_code_of_a_pipe_hides_others(command: str) -> None:
    assert exit_code_of_pipe(command)
    assert subprocess.run(["bash", "-c", command], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("command", TELLING)
def test_nothing_is_said_of_other_lines(command: str) -> None:
    assert not exit_code_of_pipe(command)
