"""What the HTTP library raises, in the words of the engine port. The only place that knows its exceptions."""

import os
import ssl
from collections.abc import Iterator

import httpx2

from yagent.errors import YagentError
from yagent.llm.engine import ModelConfigurationError, ModelError, TransientModelError
from yagent.patterns import pattern
from yagent.records import dataclass

# OSError and ssl.SSLError escape the library where it has no name for them.
TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, httpx2.CookieConflict, OSError)
_LIBRARIES = {"httpx2", "httpcore2", "h11", "anyio", "zlib"}  # who speaks of the way
_LEFT = pattern(r"(?i)(peer|server) (closed|disconnected)")  # in the middle of it, which is no matter of its words
_CODE = pattern(r"bytearray|\b_[A-Z]|Receive buffer")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request went. `origin` and `proxy` carry no credentials; `certificates` says whose were trusted."""

    origin: str
    proxy: str = ""
    certificates: str = ""

    @property
    def shown(self) -> str:
        """For messages."""
        return f"{self.origin} through the proxy {self.proxy}" if self.proxy else self.origin


def translate(error: BaseException, place: Place) -> ModelError:
    """The `ModelError` for a failure on the way. The library's own words are left out where they may quote a header."""
    if isinstance(error, ModelError):
        return error
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _chain(error)):
        return _untrusted(error, place)
    if isinstance(error, httpx2.ProxyError):
        return _proxy_refused(error, place)
    if isinstance(error, httpx2.LocalProtocolError):
        return ModelConfigurationError(f"The request to {place.shown} cannot be sent in HTTP: look at the configured headers.")
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return ModelConfigurationError(f"{place.origin} is not an address that can be called ({error}): correct the base URL.")
    if isinstance(error, httpx2.RemoteProtocolError) and not _LEFT.match(str(error)):
        return TransientModelError(f"What {place.shown} sent is not proper HTTP{_told(str(error))}.")
    return TransientModelError(f"{_what(error)} {place.shown}{_why(error)}")


def stalled(place: Place, seconds: float | None, waiting_for: str) -> TransientModelError:
    """Nothing came for too long."""
    return TransientModelError(f"{place.shown} went silent: no {waiting_for} for {seconds or 0:g} s.")


def _what(error: BaseException) -> str:
    if isinstance(error, httpx2.ConnectTimeout):
        return "No connection in time to"
    if isinstance(error, httpx2.ConnectError | httpx2.PoolTimeout):
        return "No connection to"
    if isinstance(error, httpx2.DecodingError):
        return "Unreadable reply from"
    return "The connection was lost to"


def _told(words: str) -> str:
    """The library's words where they are any, and not a piece of its own code."""
    return "" if _CODE.search(words) else f": {words.strip().rstrip('.')}"


def _why(error: BaseException) -> str:
    """The deepest cause that has words: "Connection refused" rather than "All connection attempts failed"."""
    words = [text for cause in _chain(error) if (text := _words(cause))]
    return f": {words[-1].strip().rstrip('.')}." if words else "."


def _words(error: BaseException) -> str:
    """What an error says about the way; "" for what is only a library's bookkeeping or was being handled when the way broke."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    if isinstance(error, OSError):
        return error.strerror or ""
    return str(error) if type(error).__module__.partition(".")[0] in _LIBRARIES else ""


def _untrusted(error: BaseException, place: Place) -> ModelConfigurationError:
    reason = next((cause.verify_message for cause in _chain(error) if isinstance(cause, ssl.SSLCertVerificationError)), "")
    return ModelConfigurationError(
        f"The certificate of {place.shown} is not trusted ({reason or 'verification failed'}); certificates used: {place.certificates}. "
        "If your network has a certificate authority of its own, name its PEM file in the setting ca_file or in SSL_CERT_FILE."
    )


def _proxy_refused(error: httpx2.ProxyError, place: Place) -> ModelError:
    text = str(error)
    if text.startswith("407"):
        return ModelConfigurationError(f"The proxy {place.proxy} wants a user name and password: put them into its variable.", status=407)
    return TransientModelError(f"The proxy {place.proxy} did not connect to {place.origin}: {text}.")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it, outermost first. The library cuts `__cause__` but keeps the first cause as its argument."""
    seen: set[int] = set()
    pending = [error]
    while pending:
        current = pending.pop(0)
        if current is None or id(current) in seen or isinstance(current, YagentError):
            continue  # one of ours was being handled when the way broke; it led to nothing here
        seen.add(id(current))
        yield current
        inner = current.exceptions if isinstance(current, BaseExceptionGroup) else current.args
        pending += [current.__cause__, *(item for item in inner if isinstance(item, BaseException)), current.__context__]
