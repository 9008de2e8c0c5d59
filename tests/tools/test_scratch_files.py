"""What is told to a model that puts its scratch files where they may not be used."""

import pytest

from tests.tools.scopes import NOBODY, Desk


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run_bash", {"command": "tool /tmp/of_nobody/q.csv"}),
        ("run_bash", {"command": 'f=$(mktemp) && echo b > "$f"'}),
        ("rename_file", {"source": "/tmp", "target": "q"}),
    ],
)
async def test_the_model_alone_is_told_where_scratch_files_go(coding: Desk, name: str, arguments: dict[str, str]) -> None:
    coding.person.usually = NOBODY
    output = await coding.make(name, **arguments)
    assert f'Scratch files go to "$TMPDIR/name" (in file tools: {coding.workspace.parent}/temporary/name).' in output.text
    assert "Scratch" not in output.summary + str(coding.person.asked) + str(coding.denials)
