"""Where a model lives: an address, a key that goes there and nowhere else, and headers of the user's."""

from collections.abc import Callable, Mapping
from dataclasses import field
from urllib.parse import urlsplit, urlunsplit

from yagent.patterns import pattern
from yagent.records import dataclass

_CALLS = ("/chat/completions", "/completions", "/responses", "/messages/count_tokens", "/messages", "/models")
_VERSION = pattern(r"/v\d+[a-z\d]*$")


def _no_key() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider's address as the user wrote it.

    `key` reveals the key at the moment a header is made; "" sends none. `key_source` says in messages where the key came from.
    """

    provider: str
    base_url: str
    api_format: str = "openai"
    key: Callable[[], str] = field(default=_no_key, repr=False)
    key_source: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def url(self, path: str) -> str:
        """The address of one call, whether the base has `/v1`, a slash at its end, or already names a whole call.

        `path` is the call without its version ("/messages", "/models"). The Messages API always has a version segment; the OpenAI
        formats get one only where the base has no path at all, because many servers publish theirs under another.
        """
        parts = urlsplit(self.base_url.strip())
        base = parts.path.rstrip("/")
        tail = next((call for call in _CALLS if base.endswith(call)), "")
        base = base.removesuffix(tail)
        versionless = not _VERSION.search(base) if self.api_format == "anthropic" else not base
        call = path.removeprefix("/v1")
        return urlunsplit((parts.scheme, parts.netloc, f"{base}{'/v1' if versionless and not tail else ''}{call}", parts.query, ""))

    @property
    def host(self) -> str:
        """Host and port, without credentials, for messages."""
        return urlsplit(self.base_url.strip()).netloc.rpartition("@")[2]
