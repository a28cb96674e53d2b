"""The path of the data folder, and of the lock and the socket in it."""

import os
import sys
import tempfile
from pathlib import Path

SOCKET_LIMIT = 100  # bytes; every supported system accepts a socket path of this length


def data_folder(chosen: str | None) -> Path:
    """Return the data folder: --data-dir, else JOURNEYMAN_DATA_DIR, else the default folder of the system.

    JOURNEYMAN_HOME is an older name of the variable.
    """
    path = chosen or os.environ.get("JOURNEYMAN_DATA_DIR") or os.environ.get("JOURNEYMAN_HOME")
    if path:
        return Path(path).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Journeyman"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "Journeyman"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "journeyman"


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

    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    runtime_folder = Path(os.environ.get("XDG_RUNTIME_DIR") or Path.home())
    path = runtime_folder / f".journeyman-{name}"
    if len(os.fsencode(path)) <= SOCKET_LIMIT:
        return path
    return Path(tempfile.gettempdir()) / f"journeyman-{user}-{name}"
