"""Checks which user is at the other end of a local socket, for sockets in folders that other users can change."""

import os
import socket
import struct
import sys
from typing import Protocol

_MACOS_LEVEL = 0  # SOL_LOCAL
_MACOS_CREDENTIALS = 1  # LOCAL_PEERCRED
_MACOS_SIZE = 76  # sizeof(struct xucred)


class HasSocketOptions(Protocol):
    """A socket, or asyncio's wrapper of one."""

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


def is_own_user(connection: HasSocketOptions) -> bool:
    """Return whether the other end of a connected Unix socket is this user; True on systems that cannot tell."""
    if sys.platform == "linux":
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    elif sys.platform == "darwin":
        _, user = struct.unpack_from("2I", connection.getsockopt(_MACOS_LEVEL, _MACOS_CREDENTIALS, _MACOS_SIZE))
    else:
        return True
    return bool(user == os.getuid())
