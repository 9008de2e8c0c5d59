"""Find a prompt file and fill it. `{{name}}` is a variable; any other brace is text. A variable too many or too few is an error."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from yagent.errors import YagentError
from yagent.patterns import pattern

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_PLACES: Final = (_PACKAGE / "data", _PACKAGE.parent.parent)
_VARIABLE: Final = pattern(r"\{\{([a-z][a-z0-9_]*)\}\}")


class PromptError(YagentError):
    """A packaged text is missing, or is filled with other variables than it has. Both are faults of the program, not of its user."""


def resource(name: str) -> bytes:
    """The bytes of a file that ships with the program, such as `prompts/tools/read_file.md`; PromptError when there is none.

    An installed program has it in its data directory, a checkout at the same place under its top directory.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise PromptError(f"{name!r} is not the name of a packaged file: it must be relative, without '..'.")
    for place in _PLACES:
        try:
            return (place / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
    raise PromptError(f"The packaged file {name} is missing under {_PLACES[0]} and {_PLACES[1]}. Install yagent again.")


def resource_directory(name: str) -> Path:
    """The directory of packaged files called `name`, such as `demo/repository`; PromptError when there is none."""
    for place in _PLACES:
        if (place / name).is_dir():
            return place / name
    raise PromptError(f"The packaged directory {name} is missing under {_PLACES[0]} and {_PLACES[1]}. Install yagent again.")


class Prompts:
    """The prompt files, each read once. `root` is the directory to take them from; None is the packaged one."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._pieces: dict[str, tuple[str, ...]] = {}

    def text(self, name: str, /, **variables: str) -> str:
        """The text of a file under `prompts/` (such as `director.prompt.md`), filled, without the blank end of its last line.

        Values are put in as they are: braces in them mean nothing.

        Raises:
            PromptError: there is no such file, it is not UTF-8, or `variables` are not exactly those in it.
        """
        pieces = self._split(name)
        names = set(pieces[1::2])
        if names != variables.keys():
            raise PromptError(_mismatch(name, names, variables))
        return "".join(variables[piece] if index % 2 else piece for index, piece in enumerate(pieces))

    def variables(self, name: str) -> frozenset[str]:
        """The variables of a file."""
        return frozenset(self._split(name)[1::2])

    def _split(self, name: str) -> tuple[str, ...]:
        """Text and variable names in turn, text first and last."""
        if name not in self._pieces:
            data = resource(f"prompts/{name}") if self._root is None else self._read(self._root, name)
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError as error:
                raise PromptError(f"The prompt {name} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from None
            self._pieces[name] = tuple(_VARIABLE.split(text.rstrip()))
        return self._pieces[name]

    def _read(self, root: Path, name: str) -> bytes:
        try:
            return (root / name).read_bytes()
        except OSError as error:
            raise PromptError(f"The prompt {name} cannot be read under {root}: {error.strerror}.") from error


def _mismatch(name: str, names: set[str], variables: Mapping[str, str]) -> str:
    missing, extra = sorted(names - variables.keys()), sorted(variables.keys() - names)
    parts = [f"{label} {', '.join(each)}" for label, each in (("without", missing), ("with unknown", extra)) if each]
    return f"The prompt {name} is filled {' and '.join(parts)}. Its variables are exactly: {', '.join(sorted(names)) or 'none'}."
