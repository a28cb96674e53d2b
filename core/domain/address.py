"""Checks on server addresses, which guarantee that an API key is only sent where the user expects.

The functions `check_…`, which check what the user entered, raise a Problem for an invalid address. For any other
address, `origin_of` returns "", which is the origin of no address, and `ascii_url` raises ValueError.
"""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from core.domain.problems import Problem

NO_ADDRESS = "It is not an http or https address with a host name."
HAS_QUERY = "It contains a query (?) or fragment (#)."
FIX = "Enter an address such as https://api.example.com/v1 or http://127.0.0.1:8080/v1."


def check_address(address: str, allow_http: bool = False, kind: str = "provider") -> None:
    """Raise a Problem unless `address` is a plain base URL to which an API key can safely be sent.

    `allow_http` permits http to other computers. `kind` names the kind of server in the error message.
    """
    error = f"This {kind} address cannot be used."
    parts = _parts(address)
    if parts is None:
        raise Problem(error, NO_ADDRESS, FIX)
    if parts.username is not None or parts.password is not None:
        raise Problem(error, "It contains a user name or password, which would be shown and logged.", FIX)
    if _has_query_or_fragment(address):
        raise Problem(error, HAS_QUERY, FIX)
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname or ""):
        cause = f"Anyone on the network can read http traffic to {parts.hostname}, including the API key."
        raise Problem(error, cause, f"Use https, or allow http for this {kind}.")


def check_proxy(proxy: str) -> None:
    """Raise a Problem unless `proxy` is the address of an http or https proxy, which may contain a password."""
    error, fix = "This proxy cannot be used.", "Correct it in the settings."
    if _parts(proxy) is None:
        raise Problem(error, NO_ADDRESS, fix)
    if _has_query_or_fragment(proxy):
        raise Problem(error, HAS_QUERY, fix)


def origin_of(address: str) -> str:
    """Return the scheme, host and port of a URL, "" if it is invalid. An API key is sent to this origin only."""
    parts = _parts(address)
    if parts is None or parts.hostname is None:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{host}:{port}"


def ascii_url(url: str) -> str:
    """Return the URL with an internationalized host name in its ASCII (IDNA) form, which reveals lookalike letters.

    Raise ValueError if it is not a URL. It may have any scheme.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host.isascii():
        return url
    user_info, at, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{user_info}{at}{host.encode('idna').decode()}{port}").geturl()


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer: `localhost` or a loopback IP address. Names are not resolved."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _parts(address: str) -> SplitResult | None:
    """Return the parts of an http or https address with a host name; None for anything else."""
    if re.search(r"[\s\\\x00-\x1f\x7f]", address):
        return None
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_valid else None


def _has_query_or_fragment(address: str) -> bool:
    """Return whether an address contains a query or a fragment, even an empty one."""
    return "?" in address or "#" in address
