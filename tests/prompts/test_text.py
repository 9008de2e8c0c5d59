"""Prompts are found in the package or the checkout, and filled exactly."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.prompts.text import PromptError, Prompts, resource

PROMPT_FILES = Path(__file__).parents[2] / "prompts"


def prompts_with(directory: Path, name: str, text: str) -> Prompts:
    (directory / name).write_bytes(text.encode())
    return Prompts(directory)


def test_each_variable_is_replaced_and_other_braces_are_text(tmp_path: Path) -> None:
    prompts = prompts_with(tmp_path, "a.md", "Hi {{name}}, {{ name }} {name} {{Name}} {{{name}}} {{}} ${{x_1}}\n")
    assert prompts.text("a.md", name="Ann", x_1="1") == "Hi Ann, {{ name }} {name} {{Name}} {Ann} {{}} $1"
    assert prompts.variables("a.md") == {"name", "x_1"}


@given(st.text())
def test_a_value_is_never_read_as_a_template(value: str) -> None:
    with TemporaryDirectory() as directory:
        prompts = prompts_with(Path(directory), "a.md", "<{{a}}|{{b}}>")
        assert prompts.text("a.md", a=value + "{{b}}", b=value) == f"<{value}{{{{b}}}}|{value}>"


@pytest.mark.parametrize("variables", [{}, {"a": "1"}, {"a": "1", "b": "2", "c": "3"}, {"a": "1", "c": "3"}])
def test_a_missing_or_extra_variable_is_an_error_that_names_it(tmp_path: Path, variables: dict[str, str]) -> None:
    prompts = prompts_with(tmp_path, "a.md", "{{a}} {{b}}")
    with pytest.raises(PromptError) as caught:
        prompts.text("a.md", **variables)
    for name in {"a", "b", "c"} & (variables.keys() ^ {"a", "b"}):
        assert name in str(caught.value)


def test_a_file_is_read_once_per_instance(tmp_path: Path) -> None:
    prompts = prompts_with(tmp_path, "a.md", "one")
    assert prompts.text("a.md") == "one"
    (tmp_path / "a.md").write_text("two")
    assert prompts.text("a.md") == "one"
    assert Prompts(tmp_path).text("a.md") == "two"


def test_a_missing_file_and_one_that_is_not_text_are_errors(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"absent\.md"):
        Prompts(tmp_path).text("absent.md")
    (tmp_path / "a.md").write_bytes(b"ab\xff")
    with pytest.raises(PromptError, match="byte 2"):
        Prompts(tmp_path).text("a.md")


def test_a_resource_is_found_in_the_checkout() -> None:
    assert resource("prompts/director.prompt.md") == (PROMPT_FILES / "director.prompt.md").read_bytes()


@pytest.mark.parametrize("name", ["prompts/absent.md", "prompts", "../pyproject.toml", "/etc/hostname", "prompts/../pyproject.toml", ""])
def test_what_is_no_packaged_file_is_refused(name: str) -> None:
    with pytest.raises(PromptError):
        resource(name)


@pytest.mark.parametrize("name", sorted(path.relative_to(PROMPT_FILES).as_posix() for path in PROMPT_FILES.rglob("*.md")))
def test_every_prompt_file_can_be_filled_and_leaves_no_marks(name: str) -> None:
    prompts = Prompts()
    filled = prompts.text(name, **dict.fromkeys(prompts.variables(name), "value"))
    assert filled.strip()
    assert "{{" not in filled
