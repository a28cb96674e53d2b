"""A model server as a person set it: where it is, its key, how long to wait for it; checked at entry."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from core.domain.problems import Problem

DO = "Give an address such as https://api.example.com/v1 or http://127.0.0.1:8080/v1."


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait: for the connection, the first sign of a reply, the next, the whole, and what follows its end."""

    connect_s: float = 10.0
    first_s: float = 300.0
    silence_s: float = 120.0
    whole_s: float = 3600.0
    after_end_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """Where models are. `plain` allows http past this machine; a proxy is used only when it is given here."""

    base_url: str
    key: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    plain: bool = False
    proxy: str = ""
    patience: Patience = Patience()

    def __post_init__(self) -> None:
        check_address(self.base_url, self.plain)
        if self.proxy:
            _check_proxy(self.proxy)
        if not (self.key.isascii() and self.key.isprintable()) or " " in self.key:
            why = "It contains a space, a line break or a sign that keys never have."
            raise Problem("This key cannot be right.", why, "Copy it again, without what stands around it.")

    @property
    def origin(self) -> str:
        """The server's name as people read it, and the only place its key is sent to."""
        return urlsplit(self.base_url).netloc

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def local(self) -> bool:
        return is_loopback(self.host)

    def url(self, path: str) -> str:
        return self.base_url.rstrip("/") + path

    def __repr__(self) -> str:
        return f"Server({self.base_url!r})"


def check_address(address: str, plain: bool = False) -> None:
    """Refuse an address that could send a key somewhere else than it seems to."""
    wrong = "This address of a model server cannot be used."
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


def _check_proxy(proxy: str) -> None:
    parts = _parts(proxy)
    if parts is None or parts.query or parts.fragment:
        raise Problem(
            "This proxy cannot be used.", "It is not an http or https address.", "Correct it in the settings."
        )
