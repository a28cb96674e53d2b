"""A model server as a person set it: where it is, its key, how long to wait for it; checked at entry."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from core.domain.address import check_address, check_proxy, is_loopback
from core.domain.problems import Problem


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
            check_proxy(self.proxy)
        check_key(self.key)

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


def check_key(key: str) -> None:
    """Refuse what was copied with something around it."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        why = "It contains a space, a line break or a sign that keys never have."
        raise Problem("This key cannot be right.", why, "Copy it again, without what stands around it.")
