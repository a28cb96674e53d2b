"""Which hosts may be reached: names written in one way, and addresses that are neither ours nor our neighbours'."""

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
_CLOSED = tuple(  # what `is_global` lets pass, though it leads to others than it says, or to many
    map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "192.88.99.0/24"))
)
_LOCAL = ("localhost", ".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".corp", ".home")


def host_name(host: str) -> str:
    """A host as it is compared: lower case, ASCII, no dot at the end, no brackets. Odd numbers come out plain."""
    name = host.strip("[]") if host.startswith("[") else host
    name = name.rstrip(".").lower()
    if "%" in name or not name:
        raise refused(host, "That is no host.")
    if (number := _number(name)) is not None:
        return str(number)
    try:
        name = name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise refused(host, "That is no host.") from error
    if (number := _number(name)) is not None:  # digits of other scripts are digits in the end
        return str(number)
    if not _NAME.match(name):
        raise refused(host, "That is no host.")
    return name


async def allowed_address(host: str, resolve: Resolve | None = None) -> tuple[str, ...]:
    """The addresses to connect to, all of them public. To connect by the name again would ask somebody else again."""
    name = host_name(host)
    if name == _LOCAL[0] or name.endswith(_LOCAL[1:]):
        raise refused(host, "It names a machine of this network.")
    found = (name,) if _number(name) is not None else await (resolve or look_up)(name)
    if not found:
        raise refused(host, "Nobody knows this name.")
    for address in found:
        if not is_public(address):
            raise refused(host, f"It leads to {address}, which is no public address.")
    return found


def is_public(text: str) -> bool:
    """Whether an address belongs to the open internet, and to one machine."""
    try:
        address: Address = ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    closed = any(address in network for network in _CLOSED if network.version == address.version)
    return address.is_global and not address.is_multicast and not address.is_reserved and not closed


async def look_up(name: str) -> tuple[str, ...]:
    """What the system's resolver says."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(LOOKUP_S):
            found = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise refused(name, "Its address was not found in time.") from error
    except OSError as error:
        raise refused(name, f"Its address was not found: {error.strerror or error}.") from error
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in found))


def refused(host: str, why: str) -> Problem:
    return Problem(f"{host!r} cannot be reached from here.", why, "Name a public host.")


def _number(name: str) -> Address | None:
    """An address in any spelling the C library takes: 127.1, 0x7f000001, 2130706433, 0177.0.0.1."""
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
