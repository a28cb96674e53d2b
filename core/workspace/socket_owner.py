"""Finds out which user a local TCP connection, or a listening port, belongs to. Only Linux tells."""

import os
from collections.abc import Iterator
from pathlib import Path

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENING = "0A"
FIRST_USER = 1000  # the id of the first user account; lower ones are of services
TRANSIENT_USERS = range(61_184, 65_536)  # of services that systemd starts, and `nobody`


def is_own_peer(own_port: int, peer_port: int) -> bool:
    """Return whether the other end of a connection to our port on this computer belongs to this user.

    True if that cannot be known. A connection that its program has closed belongs to nobody.
    """
    if not Path(TABLES[0]).exists():
        return True
    return any(
        uid == os.getuid() and inode
        for local, remote, _, uid, inode in _connections()
        if (local, remote) == (peer_port, own_port)
    )


def is_of_another_user(port: int) -> bool:
    """Return whether a program of another user, and not a service of the system, listens on this port."""
    listeners = {uid for local, _, state, uid, _ in _connections() if local == port and state == LISTENING}
    return any(uid >= FIRST_USER and uid not in TRANSIENT_USERS and uid != os.getuid() for uid in listeners)


def _connections() -> Iterator[tuple[int, int, str, int, int]]:
    """Yield the local port, the remote port, the state, the user id and the inode of each TCP connection."""
    for table in TABLES:
        try:
            lines = Path(table).read_text("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            local, remote = (int(address.rpartition(":")[2], 16) for address in fields[1:3])
            yield local, remote, fields[3], int(fields[7]), int(fields[9])
