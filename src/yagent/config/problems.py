"""What can be wrong with a configuration: an error that stops, and a notice that is shown and does not."""

from typing import ClassVar

from yagent.errors import YagentError
from yagent.records import dataclass


class ConfigError(YagentError):
    """The configuration cannot be used. Its text is exactly three plain lines: what is wrong, where, how to fix it (A-14).

    Each part is one printable line whatever it is made of: control characters of a user's file are escaped. Parts never hold
    a key's value.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, where: str, fix: str) -> None:
        self.what = one_line(what)
        self.where = one_line(where)
        self.fix = one_line(fix)
        super().__init__(f"{self.what}\n{self.where}\n{self.fix}")


class NoProvider(ConfigError):
    """Nothing says which model to talk to: no flag, no `YAGENT_*` variable, no usable config entry, no known key variable."""


class EditRefused(ConfigError):
    """An edit of the config file was not written, because what would be on disk is not what was asked for. The file is as before."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should read once. `key` is the dotted key or the variable it is about, "" when it is about neither."""

    key: str
    text: str

    def __str__(self) -> str:
        return one_line(self.text)


def one_line(text: str) -> str:
    """`text` with everything that is not printable escaped, so that it takes one line and cannot steer a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
