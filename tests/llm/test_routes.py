"""Proxy variables as curl and the usual libraries read them."""

from __future__ import annotations

import pytest

from yagent.llm.transport.routes import is_loopback, masked, route

PROXY = "http://proxy.corp:3128"


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.test/v1", {}, ""),
        ("https://api.test/v1", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://api.test/v1", {"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, PROXY),
        ("https://api.test/v1", {"HTTP_PROXY": PROXY}, ""),
        ("https://api.test/v1", {"ALL_PROXY": PROXY}, PROXY),
        ("https://api.test/v1", {"HTTPS_PROXY": "proxy.corp:3128"}, PROXY),
        ("http://api.test/v1", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://api.test/v1", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, ""),
        ("http://127.0.0.1:11434/v1", {"ALL_PROXY": PROXY}, ""),
        ("http://localhost:11434/v1", {"ALL_PROXY": PROXY}, ""),
        ("http://[::1]:11434/v1", {"ALL_PROXY": PROXY}, ""),
        ("http://0.0.0.0:11434/v1", {"ALL_PROXY": PROXY}, ""),
        ("http://model.localhost/v1", {"ALL_PROXY": PROXY}, ""),
        ("https://api.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "*"}, ""),
        ("https://api.corp/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "localhost,.corp"}, ""),
        ("https://api.corp/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "corp"}, ""),
        ("https://api.corp/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "*.corp"}, ""),
        ("https://apicorp/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "corp"}, PROXY),
        ("https://API.corp/v1", {"ALL_PROXY": PROXY, "NO_PROXY": " api.CORP "}, ""),
        ("https://api.corp:8443/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "api.corp:8443"}, ""),
        ("https://api.corp/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "api.corp:443"}, ""),
        ("https://api.corp/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "api.corp:8443"}, PROXY),
        ("http://10.1.2.3/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, ""),
        ("http://10.1.2.3/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "10.1.2.4"}, PROXY),
        ("http://[fd00::1]:80/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "[fd00::1]:80"}, ""),
        ("http://[fd00::1]/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "fd00::/8"}, ""),
        ("https://api.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": " , ,"}, PROXY),
    ],
)
def test_the_proxy_of_an_address(url: str, environ: dict[str, str], proxy: str) -> None:
    assert route(url, environ).proxy == proxy


def test_loopback_is_known_by_all_its_names() -> None:
    assert all(map(is_loopback, ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"]))
    assert not any(map(is_loopback, ["localhost.test", "128.0.0.1", "", "fd00::1"]))


def test_credentials_are_masked() -> None:
    assert masked("http://user:p@ss@proxy:1") == "http://***@proxy:1"
    assert masked("http://proxy:1") == "http://proxy:1"
