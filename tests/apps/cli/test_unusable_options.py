"""Options whose value means nothing are refused before anything begins."""

import pytest

from yagent.apps.cli.main import main
from yagent.protocol.stop import USAGE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p", "x", "-m", ""], "-m is empty"),
        (["-p", "x", "--provider", " "], "--provider is empty"),
        (["-p", "x", "--pass-env", "A=B"], "--pass-env 'A=B' is no name of a variable"),
        (["-p", "x", "--pass-env", ""], "--pass-env '' is no name of a variable"),
        (["-p", "x", "-c", ""], "-c names no file"),
        (["-p", "x", "-c", "/nonexistent", "--output", "json"], "does not exist"),
        (["-f", ""], "-f names no file"),
        (["-r", ""], "-r is empty"),
        (["-r", " ", "-p", "x"], "-r is empty"),
        (["-r", "abc", "-C"], "not both"),
        (["-r", "abc", "demo"], "do not go with the command 'demo'"),
        (["-C", "resume"], "do not go with the command 'resume'"),
        (["-r", "abc", "-p", "x", "-f", "y"], "not both"),
        (["resume", ""], "The id is empty"),
        (["resume", "abc", "-m", ""], "-m is empty"),
        (["sessions", "rm"], "Name the sessions to remove"),
        (["sessions", "rm", "--older-than", "soon"], "no duration"),
        (["-p", "x", "--max-steps", "9" * 5000], "Invalid value for '--max-steps'"),
    ],
)
def test_a_value_that_means_nothing_is_wrong_usage(arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    out, told = capfd.readouterr()
    assert (end.value.code, out) == (USAGE, "")
    assert said in told
    assert len(told) < 300
