"""The address, API key and timeouts of a model provider, validated when the object is created."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from core.domain.address import check_address, check_proxy, is_loopback
from core.domain.problems import Problem
from core.workspace.socket_owner import is_of_another_user

MAX_REPLY_S = 3_600.0


@dataclass(frozen=True, slots=True)
class RequestTimeouts:
    """Timeouts of a request in seconds.

    Attributes:
        connect_s: to establish the connection.
        first_event_s: until the first event of the reply.
        idle_s: between two events that show progress.
        total_s: for the whole reply.
        after_end_s: for trailing events after the reply is complete.
    """

    connect_s: float = 10.0
    first_event_s: float = 300.0
    idle_s: float = 120.0
    total_s: float = MAX_REPLY_S
    after_end_s: float = 5.0


@dataclass(frozen=True, slots=True)
class ProviderEndpoint:
    """A model API to connect to.

    `allow_http` permits unencrypted HTTP to other computers. `proxy` is the only proxy used; those in the environment
    are ignored. `only_own`: refuse a server of another user on this computer, because the user did not choose the
    address.
    """

    base_url: str
    api_key: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    allow_http: bool = False
    proxy: str = ""
    only_own: bool = False
    timeouts: RequestTimeouts = RequestTimeouts()

    def __post_init__(self) -> None:
        check_address(self.base_url, self.allow_http)
        if self.proxy:
            check_proxy(self.proxy)
        check_api_key(self.api_key)

    @property
    def origin(self) -> str:
        """The host and port, which name the provider in messages. The API key is sent only there."""
        return urlsplit(self.base_url).netloc

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)

    def require_own(self) -> None:
        """Raise Problem if `only_own` is set and a program of another user would receive the requests."""
        if self.only_own and self.is_local and is_of_another_user(urlsplit(self.base_url).port or 80):
            fix = "Start your own provider on another port, and add its address in the settings."
            raise Problem(f"Another user of this computer listens on {self.origin}.", "It is not your server.", fix)

    def url(self, path: str) -> str:
        return self.base_url.rstrip("/") + path

    def __repr__(self) -> str:
        return f"ProviderEndpoint({self.base_url!r})"


def check_api_key(key: str) -> None:
    """Raise `Problem` if an API key contains characters that no API key contains, such as a space or a line break."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        cause = "It contains a space, a line break or a character that API keys never contain."
        raise Problem("This is not a valid API key.", cause, "Copy it again, without the text around it.")
