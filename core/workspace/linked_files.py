"""Replaces files in the folder that have hard links outside the folder by copies.

Package managers such as uv and pnpm hard-link each installed file to their cache and to every environment. A command
that changes such a file in place would change all of them, even outside the sandbox.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from core.workspace import forced_access

SECONDS = 60.0
FREE_BYTES = 1 << 30  # disk space that must stay free, in bytes
_LINE = re.compile(rb"f\d+ (?P<inode>\d+)\.(?P<links>\d+) \d+ \S+ \./(?P<path>.*)", re.DOTALL)


def links_outside(lines: Iterable[bytes], snapshot: Iterable[bytes]) -> list[str]:
    """Return the files in `lines` with more hard links than the whole `snapshot` contains, so with some elsewhere.

    Both contain lines of a `FolderSnapshot`.
    """
    linked = [match for line in lines if (match := _LINE.fullmatch(line)) and match["links"] not in (b"0", b"1")]
    if not linked:
        return []
    matches = (match for line in snapshot if (match := _LINE.fullmatch(line)))
    links_inside = Counter(match["inode"] for match in matches if match["links"] != b"1")
    return [os.fsdecode(match["path"]) for match in linked if links_inside[match["inode"]] < int(match["links"])]


def separate(root: int, paths: Sequence[str]) -> tuple[str, ...]:
    """Replace each file by a copy without other hard links; return the files skipped for lack of time or space."""
    deadline = time.monotonic() + SECONDS
    for number, path in enumerate(paths):
        disk = os.fstatvfs(root)
        if time.monotonic() > deadline or disk.f_bavail * disk.f_frsize < FREE_BYTES:
            return tuple(paths[number:])
        try:
            forced_access.separate(root, path)
        except FileNotFoundError:
            continue
        except OSError:
            return tuple(paths[number:])
    return ()
