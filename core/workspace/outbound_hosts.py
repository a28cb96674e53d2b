"""Checks of outbound hosts: normalized names, and public addresses only, none of this machine or its network."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable

from core.domain.problems import Problem

Resolve = Callable[[str], Awaitable[tuple[str, ...]]]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LOOKUP_S = 10.0
_NAME = re.compile(r"(?=.{1,253}\Z)(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\Z")
_CLOSED = tuple(  # networks that `is_global` accepts, although they embed another address or reach many machines
    map(
        ipaddress.ip_network,
        ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "fec0::/10", "192.88.99.0/24"),
    )
)
_LOCAL = ("localhost", ".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".corp", ".home")


def normalized_host(host: str) -> str:
    """Return the normalized host: lowercase ASCII without final dot or brackets, addresses in usual notation."""
    name = host.strip("[]") if host.startswith("[") else host
    name = name.rstrip(".").lower()
    if "%" in name or not name:
        raise unreachable(host, "It is not a valid host name.")
    if (address := _parsed_address(name)) is not None:
        return str(address)
    try:
        name = name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise unreachable(host, "It is not a valid host name.") from error
    if (address := _parsed_address(name)) is not None:  # IDNA maps digits of other scripts to ASCII
        return str(address)
    if not _NAME.match(name):
        raise unreachable(host, "It is not a valid host name.")
    return name


async def allowed_address(host: str, resolve: Resolve | None = None) -> tuple[str, ...]:
    """Return the addresses to connect to, all of them public.

    Callers must connect to these: resolving the name again could give other addresses.
    """
    name = normalized_host(host)
    if name == _LOCAL[0] or name.endswith(_LOCAL[1:]):
        raise unreachable(host, "It is a name of the local network.")
    addresses = (name,) if _parsed_address(name) is not None else await (resolve or resolve_host)(name)
    if not addresses:
        raise unreachable(host, "The name has no address.")
    for address in addresses:
        if not is_public(address):
            raise unreachable(host, f"It resolves to {address}, which is not a public address.")
    return addresses


def is_public(text: str) -> bool:
    """Return whether an address is a public address of a single machine."""
    try:
        address: Address = ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    closed = any(address in network for network in _CLOSED if network.version == address.version)
    return address.is_global and not address.is_multicast and not address.is_reserved and not closed


async def resolve_host(name: str) -> tuple[str, ...]:
    """Resolve a name with the system resolver."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(LOOKUP_S):
            answers = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise _unresolved(name, "Its address was not resolved in time.") from error
    except OSError as error:
        raise _unresolved(name, f"Its address was not resolved: {error.strerror or error}.") from error
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


class UnresolvedHost(Problem):
    """The address of a name could not be looked up."""


def unreachable(host: str, why: str) -> Problem:
    return Problem(f"{host!r} cannot be reached from here.", why, "Use a public host.")


def _unresolved(host: str, why: str) -> UnresolvedHost:
    details = unreachable(host, why).details
    return UnresolvedHost(details.message, details.cause, details.fix)


def _parsed_address(name: str) -> Address | None:
    """Return the address in any notation that the C library accepts: 127.1, 0x7f000001, 2130706433, 0177.0.0.1."""
    try:
        address = ipaddress.ip_address(name)
        return getattr(address, "ipv4_mapped", None) or address
    except ValueError:
        pass
    if re.fullmatch(r"[0-9a-fx.]+", name) and name[0].isdigit():
        try:
            return ipaddress.IPv4Address(socket.inet_aton(name))
        except OSError:
            return None
    return None
