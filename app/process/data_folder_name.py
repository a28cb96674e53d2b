"""Finds the data folder. It does not import pathlib, because that takes half as long as starting Python."""

import os
import sys


def data_folder_name(chosen: str | None) -> str:
    """Return the data folder: --data-dir, else JOURNEYMAN_DATA_DIR, else the default folder of the system.

    JOURNEYMAN_HOME is an older name of the variable.
    """
    path = chosen or os.environ.get("JOURNEYMAN_DATA_DIR") or os.environ.get("JOURNEYMAN_HOME")
    if path:
        path = os.path.expanduser(path)
        return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "Journeyman")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA", os.path.join(home, "AppData", "Local")), "Journeyman")
    return os.path.join(os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "journeyman")
