"""Where a model lives: an address, a key that goes there and nowhere else, and headers of the user's."""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from urllib.parse import unquote, unquote_plus, urlsplit, urlunsplit

from yagent.patterns import pattern
from yagent.records import dataclass

_CALLS = ("/chat/completions", "/completions", "/responses", "/messages/count_tokens", "/messages", "/models")
SHORTEST_SECRET = 6  # characters; what is shorter could be any word
MASK = "[key removed]"
_VERSION = pattern(r"/v\d+[a-z\d]*$")

_SECRET_NAME = pattern(r"(?i)key|token|secret|sig|pass|code|auth|credential")


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

    @property
    def authorization(self) -> Mapping[str, str]:
        """The header for a user name and password in the address, where there is no key (RFC 7617)."""
        parts = urlsplit(self.base_url.strip())
        if self.key() or not (parts.username or parts.password):
            return {}
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"}

    def without_secrets(self, text: str) -> str:
        """Text of a server or a library without what only this endpoint may know, however it got in there."""
        for secret in sorted({self.key(), *credentials_in(self.base_url)}, key=len, reverse=True):
            for length in range(len(secret), SHORTEST_SECRET - 1, -1):
                # a shortened text may end in the middle of it
                text = text.replace(secret if length == len(secret) else f"{secret[:length]}…", MASK)
        return text

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

    def shown(self, path: str) -> str:
        """The address of one call, for messages: without credentials and query."""
        parts = urlsplit(self.url(path))
        return urlunsplit((parts.scheme, self.host, parts.path, "", ""))

    @property
    def host(self) -> str:
        """Host and port, without credentials, for messages."""
        return urlsplit(self.base_url.strip()).netloc.rpartition("@")[2]


def credentials_in(url: str) -> tuple[str, ...]:
    """What of an address is nobody else's business: password or token, and keys in its query; as written, decoded and encoded."""
    return tuple(dict.fromkeys(filter(None, _credentials_in(url))))


def _credentials_in(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return
    # A name without a password is a token; beside a password it is only a name.
    pairs = [pair.partition("=") for pair in parts.query.split("&")]
    for secret in (parts.password or parts.username or "", *(value for name, _, value in pairs if _SECRET_NAME.search(name))):
        yield from (secret, unquote(secret), unquote_plus(secret))
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        yield base64.b64encode(pair.encode()).decode("ascii")
