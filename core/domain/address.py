"""Addresses of servers, checked at entry: none may send a key somewhere else than it seems to."""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from core.domain.problems import Problem

DO = "Give an address such as https://api.example.com/v1 or http://127.0.0.1:8080/v1."


def check_address(address: str, plain: bool = False, of: str = "model server") -> None:
    """Refuse an address that could send a key somewhere else than it seems to."""
    wrong = f"This address of a {of} cannot be used."
    parts = _parts(address)
    if parts is None:
        raise Problem(wrong, "It is not an http or https address with a host.", DO)
    if parts.username is not None or parts.password is not None:
        raise Problem(wrong, "It holds a user name or password, which would be shown and logged.", DO)
    if parts.query or parts.fragment or "?" in address or "#" in address:
        raise Problem(wrong, "It holds a query (?) or fragment (#).", DO)
    if parts.scheme == "http" and not plain and not is_loopback(parts.hostname or ""):
        why = f"http to {parts.hostname} is readable for everyone on the way, the key too."
        raise Problem(wrong, why, "Use https, or allow plain http for this server.")


def check_proxy(proxy: str) -> None:
    """Refuse what is no proxy's address."""
    parts = _parts(proxy)
    if parts is None or parts.query or parts.fragment:
        raise Problem(
            "This proxy cannot be used.", "It is not an http or https address.", "Correct it in the settings."
        )


def origin_of(address: str) -> str:
    """Scheme, host and port: what a key belongs to, and the only place it is sent to; empty where it is none."""
    parts = _parts(address)
    if parts is None:
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as far as its name tells."""
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
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if good else None
