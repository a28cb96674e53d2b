"""Checks hosts for outbound connections: only valid names and public addresses, none of this machine or its network."""

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
# Networks to refuse although `is_global` may be True: they embed an IPv4 address, are anycast, reserved, or, like
# 168.63.129.16 in Azure, answer with data of the machine itself.
_REFUSED_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            *("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/23", "::/96", "fec0::/10", "3fff::/20"),
            *("192.0.0.0/24", "192.88.99.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24"),
            "168.63.129.16/32",
        ),
    )
)
_ISATAP = 0x5EFE  # in the second 32 bits of the interface identifier before an embedded IPv4 address
_LOCAL_DOMAINS = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".corp", ".home")


def normalized_host(host: str) -> str:
    """Return a host in normal form: an ASCII name in lowercase without final dot, or an address in its usual notation.

    Raise Problem if it is not a valid host.
    """
    name = host.strip("[]") if host.startswith("[") else host
    name = name.rstrip(".").lower()
    if "%" in name or not name:
        raise unreachable(host, "It is not a valid host name.")
    if (address := _parse_address(name)) is not None:
        return str(address)
    try:
        name = name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise unreachable(host, "It is not a valid host name.") from error
    # IDNA converts digits of other scripts to ASCII, which can form an address.
    if (address := _parse_address(name)) is not None:
        return str(address)
    if not _NAME.match(name):
        raise unreachable(host, "It is not a valid host name.")
    return name


async def allowed_addresses(host: str, resolve: Resolve | None = None) -> tuple[str, ...]:
    """Return the addresses of a host; raise Problem unless all of them are public.

    Callers must connect to these addresses, because resolving the name again could yield others.
    """
    name = normalized_host(host)
    if name == "localhost" or name.endswith(_LOCAL_DOMAINS):
        raise unreachable(host, "It is a name of the local network.")
    addresses = (name,) if _parse_address(name) is not None else await (resolve or resolve_host)(name)
    if not addresses:
        raise unreachable(host, "The name has no address.")
    for address in addresses:
        if not is_public(address):
            raise unreachable(host, f"It resolves to {address}, which is not a public address.")
    return addresses


def is_public(text: str) -> bool:
    """Return whether an address is public and belongs to a single machine."""
    try:
        address: Address = ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if isinstance(address, ipaddress.IPv6Address) and int(address) >> 32 & 0xFDFFFFFF == _ISATAP:
        return False
    is_refused = any(address in network for network in _REFUSED_NETWORKS if network.version == address.version)
    return address.is_global and not (address.is_multicast or address.is_reserved or is_refused)


async def resolve_host(name: str) -> tuple[str, ...]:
    """Return the addresses of a name from the system's resolver; raise Problem on failure or timeout."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(LOOKUP_S):
            answers = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise unreachable(name, "Its address was not resolved in time.") from error
    except OSError as error:
        raise unreachable(name, f"Its address was not resolved: {error.strerror or error}.") from error
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


def unreachable(host: str, why: str) -> Problem:
    return Problem(f"{host!r} cannot be reached from here.", why, "Use a public host.")


def _parse_address(name: str) -> Address | None:
    """Return an address in any notation that the C library accepts, such as 127.1 or 2130706433; else None."""
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
