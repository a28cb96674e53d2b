"""Where data lives: one folder, chosen by the person, the environment or the system."""

import os
import sys
import tempfile
from pathlib import Path

SOCKET_LIMIT = 100  # bytes of a path that every system's sockets take


def home(chosen: str | None) -> Path:
    """The data folder: --home, else JOURNEYMAN_HOME, else the system's place."""
    named = chosen or os.environ.get("JOURNEYMAN_HOME")
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Journeyman"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "Journeyman"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "journeyman"


def database(folder: Path) -> Path:
    return folder / "journeyman.db"


def lock(folder: Path) -> Path:
    return folder / "lock"


def socket(folder: Path) -> Path:
    """Where the owner of the folder listens; elsewhere when the folder's path is too long for a socket."""
    near = folder / "socket"
    if len(os.fsencode(near)) <= SOCKET_LIMIT:
        return near
    import hashlib  # it loads a large library, and few paths are so long

    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    return place / f"journeyman-{user}-{name}"
