"""Finds out which user a local TCP connection, or a listening port, belongs to. Only Linux tells."""

import os
import sys
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from pathlib import Path

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENING = "0A"
FIRST_USER = 1000  # the id of the first user account; lower ones are of services
TRANSIENT_USERS = range(61_184, 65_536)  # of services that systemd starts, and `nobody`


def is_own_peer(own: tuple[str, int], peer: tuple[str, int]) -> bool:
    """Return whether the other end of a connection on this computer, given as addresses and ports, is of this user.

    True if that cannot be known. A connection that its program has closed belongs to nobody.
    """
    if not Path(TABLES[0]).exists():
        return True
    return any(
        uid == os.getuid() and inode
        for local, remote, _, uid, inode in _connections()
        if (local, remote) == (peer, own)
    )


def is_of_another_user(port: int) -> bool:
    """Return whether a program of another user, and not a service of the system, listens on this port."""
    listeners = {uid for local, _, state, uid, _ in _connections() if local[1] == port and state == LISTENING}
    return any(uid >= FIRST_USER and uid not in TRANSIENT_USERS and uid != os.getuid() for uid in listeners)


def _connections() -> Iterator[tuple[tuple[str, int], tuple[str, int], str, int, int]]:
    """Yield the local and the remote address and port, the state, the user id and the inode of each connection."""
    for table in TABLES:
        try:
            lines = Path(table).read_text("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            local, remote = (_end(field) for field in fields[1:3])
            yield local, remote, fields[3], int(fields[7]), int(fields[9])


def _end(field: str) -> tuple[str, int]:
    """Return the address and port that a table shows in hexadecimal, each 32 bits in the byte order of the machine."""
    digits, _, port = field.partition(":")
    words = (int(digits[start : start + 8], 16).to_bytes(4, sys.byteorder) for start in range(0, len(digits), 8))
    address = ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address), int(port, 16)
