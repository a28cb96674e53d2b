"""The paths of the data folder and of the files in it, such as the database, the lock and the socket."""

import os
from pathlib import Path

SOCKET_LIMIT = 100  # bytes; every supported system accepts a socket path of this length


def database_path(folder: Path) -> Path:
    return folder / "journeyman.db"


def lock_path(folder: Path) -> Path:
    return folder / "lock"


def socket_path(folder: Path) -> Path:
    """Return the path of the command server's socket; it is outside the data folder if the path would be too long."""
    path = folder / "socket"
    if len(os.fsencode(path)) <= SOCKET_LIMIT:
        return path
    import hashlib  # imported here because it loads OpenSSL, and few paths exceed the limit
    import tempfile

    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    runtime_folder = Path(os.environ.get("XDG_RUNTIME_DIR") or Path.home())
    path = runtime_folder / f".journeyman-{name}"
    if len(os.fsencode(path)) <= SOCKET_LIMIT:
        return path
    return Path(tempfile.gettempdir()) / f"journeyman-{user}-{name}"
