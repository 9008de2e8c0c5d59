"""Which way a request goes and whom it trusts: proxies and certificates, as settings and the usual variables name them.

Proxies: `HTTPS_PROXY` for https, `HTTP_PROXY` for http, then `ALL_PROXY`; the lower-case spelling wins. `NO_PROXY` lists what goes direct:
`*`, a host (with its subdomains), `.suffix`, an address or a network (`10.0.0.0/8`), each with an optional `:port`. Loopback never goes
through a proxy.

Certificates: the system's, unless `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE` (file or folder) or `SSL_CERT_DIR` name others, in this order; the
file of the setting `ca_file` is trusted besides them.
"""

import ipaddress
import ssl
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import httpx2

from yagent.llm.engine import ModelConfigurationError
from yagent.records import dataclass

_FILE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SOCKS = ("socks5", "socks5h")  # with a package that is not ours


@dataclass(frozen=True, slots=True)
class Route:
    """How one origin is reached: through which proxy ("" for none), with TLS or without."""

    proxy: str
    secure: bool


def route(url: str, environ: Mapping[str, str]) -> Route:
    """The way to `url`.

    Raises:
        ModelConfigurationError: the variable that applies to it names no proxy that can be used.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", _port(parts)
    secure = parts.scheme == "https"
    if is_loopback(host) or _excepted(host, port, _either(environ, "no_proxy")):
        return Route("", secure)
    own = (f"{parts.scheme}_proxy",) if secure or "REQUEST_METHOD" not in environ else ()
    variable, value = next(filter(None, (_first(environ, name) for name in (*own, "all_proxy"))), ("", ""))
    proxy = value.strip()
    if not proxy:
        return Route("", secure)
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if problem := _unusable(proxy):
        raise ModelConfigurationError(
            f"The proxy {masked(value.strip())}, named by {variable}, cannot be used: {problem}. "
            f"Name an HTTP proxy (http://host:port) there, unset {variable}, or add {host} to NO_PROXY."
        )
    return Route(proxy, secure)


def _unusable(proxy: str) -> str:
    """Why nothing can be sent through this proxy, "" where it can."""
    if proxy.lower().startswith("socks") and find_spec("socksio") is None:
        return "SOCKS needs the package socksio beside yagent (pip install socksio, pipx inject yagent socksio)"
    try:
        parts = urlsplit(proxy)
        httpx2.Proxy(proxy)
        usable = (parts.scheme in _DEFAULT_PORTS or parts.scheme in _SOCKS) and bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx2.InvalidURL):
        usable = False
    return "" if usable else "it is not the address of an HTTP proxy"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def masked(url: str) -> str:
    """The address without the user name and password it may carry."""
    scheme, separator, rest = url.partition("://")
    credentials, at, host = rest.rpartition("@")
    return f"{scheme}{separator}***@{host}" if at and credentials else url


@dataclass(frozen=True, slots=True)
class Certificates:
    """Whom to trust: files and folders by where they were named ("setting ca_file", "SSL_CERT_FILE", …). None named: the system's."""

    named: tuple[tuple[str, str], ...]

    @classmethod
    def choose(cls, ca_file: str, environ: Mapping[str, str]) -> "Certificates":
        """Apply the order of precedence."""
        variable = next((name for name in _FILE_VARIABLES if environ.get(name)), "")
        own = [("the setting ca_file", str(Path(ca_file).expanduser()))] if ca_file else []
        return cls((*own, *([(variable, environ[variable])] if variable else [])))

    @property
    def shown(self) -> str:
        """For messages."""
        return " and ".join(f"{path} (from {source})" for source, path in self.named) or "the system's"

    def context(self) -> ssl.SSLContext:
        """A verifying TLS context.

        Raises:
            ModelConfigurationError: a named file or folder is missing, empty or not in PEM form.
        """
        replaced = any(source in _FILE_VARIABLES for source, _ in self.named)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if replaced else _system_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        for source, path in self.named:
            _trust(context, source, path)
        return context


def _system_context() -> ssl.SSLContext:
    if sys.platform == "darwin":
        # The interpreters of python.org ship no roots; httpx2 then asks the system's key chain.
        return httpx2.create_ssl_context()
    return ssl.create_default_context()


def _trust(context: ssl.SSLContext, source: str, path: str) -> None:
    advice = f"correct {source} or unset it; it has to name certificates in PEM form"
    try:
        if Path(path).is_dir():
            context.load_verify_locations(capath=path)
        else:
            context.load_verify_locations(cafile=path)
    except OSError as error:
        # ssl.SSLError is an OSError too: "no certificate or crl found" for an empty or foreign file.
        reason = "has no certificate in PEM form" if isinstance(error, ssl.SSLError) else f"cannot be read ({error.strerror})"
        raise ModelConfigurationError(f"The certificate file {path}, named by {source}, {reason}: {advice}.") from error


def _first(environ: Mapping[str, str], name: str) -> tuple[str, str] | None:
    """The variable that counts, in the spelling that wins, and what it says; None where neither says anything."""
    return next(((spelling, environ[spelling]) for spelling in (name, name.upper()) if environ.get(spelling)), None)


def _either(environ: Mapping[str, str], name: str) -> str:
    return (_first(environ, name) or ("", ""))[1]


def _port(parts: SplitResult) -> int:
    try:
        return parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return 0


def _excepted(host: str, port: int, exceptions: str) -> bool:
    return any(_matches(entry.strip().lower(), host.lower(), port) for entry in exceptions.replace(" ", ",").split(",") if entry.strip())


def _matches(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    name, wanted = _host_and_port(entry)
    if wanted and wanted != str(port):
        return False
    address = _address(host)
    if address is not None:
        return _within(address, name)
    name = name.lstrip("*").lstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _host_and_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    if entry.count(":") == 1:
        name, _, wanted = entry.partition(":")
        return name, wanted
    return entry, ""


def _within(address: ipaddress.IPv4Address | ipaddress.IPv6Address, name: str) -> bool:
    try:
        return address in ipaddress.ip_network(name, strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
