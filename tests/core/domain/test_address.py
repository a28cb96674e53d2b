"""Addresses of servers and proxies: which are accepted, and their origins and ASCII forms."""

import pytest

from core.domain.address import ascii_url, check_address, check_proxy, origin_of
from core.domain.problems import Problem


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("http://[::1]:80/v1", "http://[::1]:80"),
        ("https://[2001:DB8::1]/v1", "https://[2001:db8::1]:443"),
        ("HTTPS://API.Example.com/v1", "https://api.example.com:443"),
        ("ftp://example.com", ""),
        ("http://::1:80", ""),
    ],
)
def test_an_origin_is_an_address_or_empty(address: str, origin: str) -> None:
    assert origin_of(address) == origin
    if origin:
        check_address(origin, allow_http=True)
        assert origin_of(origin) == origin


@pytest.mark.parametrize("proxy", ["http://u:p@h:1?", "http://h:1#", "http://h:1/?a=b"])
def test_a_proxy_with_a_query_or_fragment_is_refused_for_that_reason(proxy: str) -> None:
    with pytest.raises(Problem) as raised:
        check_proxy(proxy)
    assert "query (?) or fragment (#)" in raised.value.details.cause


def test_a_proxy_has_an_http_address() -> None:
    check_proxy("http://u:p@h:1")
    with pytest.raises(Problem) as raised:
        check_proxy("socks5://h:1")
    assert "not an http or https address" in raised.value.details.cause


def test_the_ascii_form_of_a_url_keeps_its_user_name() -> None:
    assert ascii_url("https://user:pass@b\u00e4nk.example/x") == "https://user:pass@xn--bnk-qla.example/x"
    with pytest.raises(ValueError, match="Invalid IPv6 URL"):
        ascii_url("https://[bank/x")
