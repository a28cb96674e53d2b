"""Finds the user of a local TCP connection or a listening port, from /proc on Linux; elsewhere unknown."""

import os
import sys
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from pathlib import Path

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENING = "0A"
FIRST_USER = 1000  # the lowest id of regular users; lower ids belong to system services
TRANSIENT_USERS = range(61_184, 65_536)  # ids of `nobody` and of services with a dynamic user of systemd


def is_own_peer(own: tuple[str, int], peer: tuple[str, int]) -> bool:
    """Return whether the other end of a local connection belongs to this user; True if that is unknown.

    `own` and `peer` are the addresses and ports of both ends. A connection that its program has closed belongs to
    nobody.
    """
    if not Path(TABLES[0]).exists():
        return True
    return any(
        uid == os.getuid() and inode
        for local, remote, _, uid, inode in _connections()
        if (local, remote) == (peer, own)
    )


def is_of_another_user(port: int) -> bool:
    """Return whether a program of another regular user, not of a system service, listens on this port."""
    listeners = {uid for local, _, state, uid, _ in _connections() if local[1] == port and state == LISTENING}
    return any(uid >= FIRST_USER and uid not in TRANSIENT_USERS and uid != os.getuid() for uid in listeners)


def _connections() -> Iterator[tuple[tuple[str, int], tuple[str, int], str, int, int]]:
    """Yield for each TCP socket its local and remote address with port, its state, user id and inode."""
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
    """Parse an address and port of /proc/net/tcp: hexadecimal, in 32-bit words in the byte order of the machine."""
    digits, _, port = field.partition(":")
    words = (int(digits[start : start + 8], 16).to_bytes(4, sys.byteorder) for start in range(0, len(digits), 8))
    address = ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address), int(port, 16)
