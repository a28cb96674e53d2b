"""Finds the user of a local TCP connection or a listening port, from /proc on Linux; elsewhere unknown."""

import os
import sys
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENING = "0A"
FIRST_USER = 1000  # the lowest id of regular users; lower ids belong to system services
TRANSIENT_USERS = range(61_184, 65_536)  # ids of `nobody` and of services with a dynamic user of systemd


SocketAddress = tuple[str, int]  # IP address and port, as Python's `socket` module returns them


class _TcpSocket(NamedTuple):
    """A line of /proc/net/tcp. `inode` is 0 once the program has closed the socket."""

    local: SocketAddress
    remote: SocketAddress
    state: str
    uid: int
    inode: int


def is_own_peer(own: SocketAddress, peer: SocketAddress) -> bool:
    """Return whether the other end of a local connection belongs to this user; True if that is unknown.

    `own` and `peer` are the addresses of both ends. A connection that its program has closed belongs to nobody.
    """
    if not Path(TABLES[0]).exists():
        return True
    other_ends = (each for each in _tcp_sockets() if (each.local, each.remote) == (peer, own))
    return any(each.uid == os.getuid() and each.inode for each in other_ends)


def is_of_another_user(port: int) -> bool:
    """Return whether a program of another regular user, not of a system service, listens on this port."""
    listeners = (each for each in _tcp_sockets() if each.local[1] == port and each.state == LISTENING)
    users = {listener.uid for listener in listeners}
    return any(uid >= FIRST_USER and uid not in TRANSIENT_USERS and uid != os.getuid() for uid in users)


def _tcp_sockets() -> Iterator[_TcpSocket]:
    for table in TABLES:
        try:
            lines = Path(table).read_text("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            yield _TcpSocket(
                local=_parse_address(fields[1]),
                remote=_parse_address(fields[2]),
                state=fields[3],
                uid=int(fields[7]),
                inode=int(fields[9]),
            )


def _parse_address(field: str) -> SocketAddress:
    """Parse an address and port of /proc/net/tcp: hexadecimal, in 32-bit words in the byte order of the machine."""
    digits, _, port = field.partition(":")
    words = (int(digits[start : start + 8], 16).to_bytes(4, sys.byteorder) for start in range(0, len(digits), 8))
    address = ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address), int(port, 16)
