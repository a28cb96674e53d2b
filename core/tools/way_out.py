"""The hosts that commands of one run may reach: a proxy, started with the first of them."""

from core.workspace.launch import Permit
from core.workspace.proxy import Door, Knock, Proxy


class WayOut:
    """Closed to all until a person allows a host. `knocks` collects who wanted out since it was last asked."""

    def __init__(self) -> None:
        self._doors: set[Door] = set()
        self._proxy: Proxy | None = None
        self._knocks: list[Knock] = []

    @property
    def hosts(self) -> tuple[str, ...]:
        """What is allowed, as host and port."""
        return tuple(f"{host}:{port}" for host, port in sorted(self._doors))

    def allow(self, host: str, port: int = 443) -> None:
        """One more host, from now on."""
        self._doors.add((host, port))
        if self._proxy:
            self._proxy.allow(host, port)

    async def permit(self) -> Permit:
        """For one command."""
        if not self._doors:
            return Permit()
        if self._proxy is None:
            proxy = Proxy(self._doors, self._knocks.append)
            self._proxy = await proxy.__aenter__()
        return Permit(proxy=self._proxy.path)

    def refused(self) -> tuple[str, ...]:
        """Where commands wanted to go in vain since this was last asked."""
        found = dict.fromkeys(f"{knock.host}:{knock.port}" for knock in self._knocks if knock.result == "refused")
        self._knocks.clear()
        return tuple(found)

    async def close(self) -> None:
        proxy, self._proxy = self._proxy, None
        if proxy:
            await proxy.__aexit__(None, None, None)
