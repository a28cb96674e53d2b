"""Answers `--version`, `sessions` and `show` without the engine, in hardly more time than Python needs to start.

Importing the parser of the arguments would take longer, so only the plain forms of these commands are recognized.
"""

import os
import sys

from app.process.data_folder_name import data_folder_name
from core.domain.invisible import is_visible

LISTS = {"--archived": "archived", "--trash": "trash", "--all": "all"}


def answer_quickly(argv: list[str]) -> bool:
    """Run a simple command without the engine. Return false, with nothing printed, if the command needs the engine."""
    lines = _output_lines(argv)
    if lines is None or not all(map(is_visible, lines)):
        return False
    try:
        encoded = "".join(f"{line}{os.linesep}" for line in lines).encode(sys.stdout.encoding, "replace")
        file = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        while encoded:  # a write to a pipe may take only the first bytes
            encoded = encoded[file.write(encoded) or 0 :]
    except (AttributeError, OSError):  # false makes the full program run, which reports the error
        return False
    return True


def _output_lines(argv: list[str]) -> list[str] | None:
    """Return the lines that a command prints, or None if only the full program can run it."""
    data_dir = None
    match argv:
        case ["--data-dir", folder, *rest] if folder and folder[0] != "-":
            data_dir, argv = folder, rest
        case [option, *rest] if option.startswith("--data-dir=") and option != "--data-dir=":
            data_dir, argv = option.partition("=")[2], rest
    match argv:
        case ["--version" | "-V"]:
            from core import __version__

            return [f"journeyman {__version__}"]
        case ["sessions"]:
            return _read(data_dir)
        case ["sessions", option] if option in LISTS:
            return _read(data_dir, which=LISTS[option])
        case ["show", session] if session and session[0] != "-":
            return _read(data_dir, session=session)
        case _:
            return None


def _read(data_dir: str | None, *, which: str = "", session: str = "") -> list[str] | None:
    """Return the lines of `show` if a session is given, else those of `sessions` for the list `which`.

    Return None if the database cannot be read in this quick way.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no file locks of this kind
        return None
    from core.store.quick_reader import CANNOT_READ, QuickReader

    lock: int | None = None
    try:
        folder = data_folder_name(data_dir)
        lock = os.open(os.path.join(folder, "lock"), os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            in_use = False
        except BlockingIOError:
            in_use = True
        with QuickReader(folder, in_use=in_use) as reader:
            rows = reader.sessions(session)  # those whose ID begins so, or all
            if not session:
                from app.commands.session_lines import list_lines

                return list(list_lines(rows, which))
            from app.commands.timeline_lines import timeline_lines

            if len(rows) != 1:
                return None
            return list(timeline_lines(rows[0], reader.steps(rows[0])))
    except CANNOT_READ:
        return None
    finally:
        if lock is not None:
            os.close(lock)
