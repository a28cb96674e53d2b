"""The network access of a run's commands: holds the allowed hosts and starts the proxy that enforces them."""

from core.workspace.egress_proxy import ConnectionAttempt, EgressProxy, HostPort
from core.workspace.launcher import SandboxPermissions

MAX_REFUSED = 100  # refused hosts listed in the result of one call; further attempts are only counted
MAX_HOST = 253  # maximum length of a host name in DNS


class NetworkAccess:
    """The network access of one run. Commands have no network access, and no proxy runs, until a host is allowed."""

    def __init__(self) -> None:
        self._allowed: set[HostPort] = set()
        self._proxy: EgressProxy | None = None
        self._refused: dict[str, None] = {}
        self._more = 0  # attempts to reach further hosts, refused after `_refused` was full

    @property
    def hosts(self) -> tuple[str, ...]:
        """The allowed hosts, each as `host:port`."""
        return tuple(f"{host}:{port}" for host, port in sorted(self._allowed))

    def allow(self, host: str, port: int = 443) -> None:
        """Allow commands to reach a host."""
        self._allowed.add((host, port))
        if self._proxy:
            self._proxy.allow_host(host, port)

    async def permission(self) -> SandboxPermissions:
        """Return the sandbox permissions for a command. If a host is allowed, start the proxy first."""
        if not self._allowed:
            return SandboxPermissions()
        if self._proxy is None:
            proxy = EgressProxy(self._allowed, self._note)
            self._proxy = await proxy.__aenter__()
        return SandboxPermissions(proxy=self._proxy.path)

    def take_refused(self) -> tuple[str, ...]:
        """Return the hosts, as `host:port`, that commands were refused since the last call of this method."""
        refused = (*self._refused, *([f"{self._more:,} more attempts"] if self._more else []))
        self._refused, self._more = {}, 0
        return refused

    def _note(self, attempt: ConnectionAttempt) -> None:
        if attempt.result != "refused":
            return
        name = f"{attempt.host[:MAX_HOST]}:{attempt.port}"
        if name in self._refused or len(self._refused) < MAX_REFUSED:
            self._refused[name] = None
        else:
            self._more += 1

    async def close(self) -> None:
        proxy, self._proxy = self._proxy, None
        if proxy:
            await proxy.__aexit__(None, None, None)
