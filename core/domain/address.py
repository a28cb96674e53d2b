"""Checks on server addresses, which guarantee that an API key is only sent where the user expects."""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from core.domain.problems import Problem

FIX = "Enter an address such as https://api.example.com/v1 or http://127.0.0.1:8080/v1."


def check_address(address: str, allow_http: bool = False, kind: str = "provider") -> None:
    """Raise a Problem unless `address` is a plain base URL to which an API key can safely be sent.

    `allow_http` permits http to other computers. `kind` names the kind of server in the error message.
    """
    error = f"This {kind} address cannot be used."
    parts = _parts(address)
    if parts is None:
        raise Problem(error, "It is not an http or https address with a host name.", FIX)
    if parts.username is not None or parts.password is not None:
        raise Problem(error, "It contains a user name or password, which would be shown and logged.", FIX)
    if parts.query or parts.fragment or "?" in address or "#" in address:
        raise Problem(error, "It contains a query (?) or fragment (#).", FIX)
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname or ""):
        cause = f"Anyone on the network can read http traffic to {parts.hostname}, including the API key."
        raise Problem(error, cause, f"Use https, or allow http for this {kind}.")


def check_proxy(proxy: str) -> None:
    """Raise a Problem unless `proxy` is the address of an http or https proxy."""
    parts = _parts(proxy)
    if parts is None or parts.query or parts.fragment:
        raise Problem(
            "This proxy cannot be used.", "It is not an http or https address.", "Correct it in the settings."
        )


def origin_of(address: str) -> str:
    """Return the scheme, host and port of a URL, "" if it is invalid. An API key is sent to this origin only."""
    parts = _parts(address)
    if parts is None:
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer: `localhost` or a loopback IP address. Names are not resolved."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _parts(address: str) -> SplitResult | None:
    if re.search(r"[\s\\\x00-\x1f\x7f]", address):
        return None
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_valid else None


def ascii_url(url: str) -> str:
    """Return the URL with an internationalized host name in its ASCII (IDNA) form, which reveals lookalike letters.

    Raise ValueError if it is not a URL.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host.isascii():
        return url
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{host.encode('idna').decode()}{port}").geturl()
