"""Read the one config file there is: the user's, or exactly the one given by `-c`. Reading never writes, and no project has a say.

Layers, strongest first: options of the run, `YAGENT_*`, the file, defaults. This module does the last two; providers.py knows all four.
"""

import re
import shlex
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from yagent.config.decode import Decoded, Source, decode
from yagent.config.document import expressions, split_lines
from yagent.config.problems import ConfigError, Notice
from yagent.config.schema import Config
from yagent.records import dataclass
from yagent.runtime.paths import DataHome

LARGEST_FILE: Final = 1_000_000
_POSITION: Final = r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$"
_DEFAULT_SOURCE: Final = Source("default")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read. `path` is the file that holds (or would hold) the configuration, None when there is no place for one.

    `exists` says whether a file was there. `sources` holds only what was set; ask `source` for any key.
    """

    config: Config
    sources: Mapping[str, Source]
    notices: tuple[Notice, ...]
    path: Path | None
    exists: bool

    def source(self, key: str) -> Source:
        """Where the value of the dotted `key` comes from."""
        return self.sources.get(key, _DEFAULT_SOURCE)


def load(path: Path | None, *, environ: Mapping[str, str], home: DataHome) -> Loaded:
    """The configuration: from `path` when one was given (it must exist, A-07), else from the user's file when there is one.

    A user's file that does not exist means defaults; so does a home in which nobody may look, with a notice.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or holds what would have to be ignored to go on.
    """
    if path is not None:
        return _loaded(_decoded(path, environ), path, exists=True)
    default = home.config_file
    if not default.is_absolute():
        return _without_file("the home directory is unknown, and the current directory is never asked", None, environ)
    try:
        default.lstat()
    except FileNotFoundError:
        return _loaded(decode({}, text="", origin=str(default), environ=environ), default, exists=False)
    except OSError as error:
        return _without_file(f"{default} cannot be looked at ({error.strerror})", default, environ)
    return _loaded(_decoded(default, environ), default, exists=True)


def _without_file(reason: str, path: Path | None, environ: Mapping[str, str]) -> Loaded:
    loaded = _loaded(decode({}, text="", origin="", environ=environ), path, exists=False)
    return replace(loaded, notices=(Notice("", f"No configuration file was read: {reason}."), *loaded.notices))


def _loaded(decoded: Decoded, path: Path | None, *, exists: bool) -> Loaded:
    return Loaded(decoded.config, decoded.sources, decoded.notices, path, exists)


def _decoded(path: Path, environ: Mapping[str, str]) -> Decoded:
    text = read_text(path)
    decoded = decode(parse(text, path), text=text, origin=str(path), environ=environ)
    holds_key = any(section.api_key and not section.is_unfinished for section in decoded.config.global_llm.providers.values())
    rights = path.stat().st_mode
    if not stat.S_ISREG(rights):
        return decoded
    if rights & 0o022:
        danger = "says what may run here, and other users of this machine may change it"
    elif holds_key and rights & 0o077:
        danger = "holds a key and other users of this machine may read it"
    else:
        return decoded
    notice = Notice("", f"{path} {danger}: chmod 600 {shlex.quote(str(path))}")
    return replace(decoded, notices=(*decoded.notices, notice))


def decode_raw(path: Path) -> dict[str, Any]:
    """The document as TOML has it, without validation (B-100); ConfigError only for what is not TOML at all."""
    return parse(read_text(path), path)


def read_text(path: Path) -> str:
    """The text of the config file, without a byte order mark. ConfigError says why it cannot be had."""
    try:
        _check_kind(path)
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            what, fix = "is a link to a file that does not exist", "Repair the link or remove it."
        else:
            what, fix = "does not exist", "Give the right path; a file named with -c is never created."
        raise ConfigError(f"The configuration file {what}.", where=f"File: {path}", fix=fix) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"The configuration file cannot be read: {reason}.",
            where=f"File: {path}",
            fix="Make it readable for you, or use another one with -c.",
        ) from None
    if len(data) > LARGEST_FILE:
        raise ConfigError(
            f"The configuration file is larger than {LARGEST_FILE} bytes.", where=f"File: {path}", fix="Give the right file with -c."
        )
    return _text(data, path)


def parse(text: str, path: Path) -> dict[str, Any]:
    """The TOML document in `text`; ConfigError with line and column when it is none."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        position = re.search(_POSITION, message)
        reason = message[: position.start()] if position else message
        line, column = (int(position[1]), int(position[2])) if position and position[1] else (_last_entry(text), 1)
        raise ConfigError(
            f"The configuration file is not valid TOML: {reason}.",
            where=f"File: {path}, line {line}, column {column}",
            fix="Correct that line: texts stand in quotes, every key once; nothing was read from the file and nothing runs without it.",
        ) from None
    except RecursionError:
        raise ConfigError(
            "The configuration file is nested too deeply.", where=f"File: {path}", fix="Take the nested lists or tables apart."
        ) from None
    except ValueError as error:  # of int(), for thousands of digits
        message = str(error).partition(";")[0]
        raise ConfigError(
            f"The configuration file holds a number that cannot be read: {message}.", where=f"File: {path}", fix="Correct that number."
        ) from None


def _last_entry(text: str) -> int:
    """The line at which the last entry begins: where to look when an entry never ends."""
    starts = [each.start for each in expressions(split_lines(text))]
    return starts[-1] + 1 if starts else 1


def needs_setup(loaded: Loaded) -> str | None:
    """Why the setup wizard has something to do: `fresh`, `placeholder`; None when the file describes a provider (P-03).

    A broken file is the ConfigError that `load` raises. Whether key variables make a file unnecessary is for `providers` to say.
    """
    providers = loaded.config.global_llm.providers
    if not providers:
        return "fresh"
    return "placeholder" if all(section.is_unfinished for section in providers.values()) else None


def _check_kind(path: Path) -> None:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ValueError("it is a directory")
    is_handed_in = str(path) == "/dev/null" or str(path).startswith("/dev/fd/")
    if not stat.S_ISREG(mode) and not is_handed_in:
        raise ValueError("it is not a regular file")


def _text(data: bytes, path: Path) -> str:
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff")) or data[:2].count(0) == 1
    if is_wide or b"\x00" in data:
        before = data.partition(b"\x00")[0]
        column = 1 if is_wide else len(before) - before.rfind(b"\n")
        place = f"line {1 if is_wide else before.count(10) + 1}, column {column}"
        raise ConfigError(
            f"The configuration file is not UTF-8 text; it {'looks like UTF-16' if is_wide else 'holds zero bytes'}.",
            where=f"File: {path}, {place}",
            fix="Save it as UTF-8.",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        raise ConfigError(
            "The configuration file is not UTF-8 text.", where=f"File: {path}, line {line}, column {column}", fix="Save it as UTF-8."
        ) from None
