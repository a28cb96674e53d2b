"""Searches files for a pattern in a process of its own, which can be killed while a slow pattern runs.

It is run as a script and uses the standard library only. It reads one JSON line and then paths, each ended by a NUL
byte; for each match it prints path, line number and line, separated by NUL bytes.
"""

import json
import os
import re
import stat
import sys


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    paths = sys.stdin.buffer.read().split(b"\0")
    pattern = re.compile(request["pattern"], re.MULTILINE)
    root = os.fsencode(request["root"])
    remaining = int(request["max_matches"])
    for path in filter(None, paths):
        text = read(root, path, int(request["max_file_size"])).decode("utf-8", "replace").replace("\r\n", "\n")
        for number, line in matching_lines(text, pattern, remaining):
            remaining -= 1
            shortened = line[: int(request["max_line"])]
            sys.stdout.buffer.write(b"%s\0%d\0%s\n" % (path, number, shortened.encode()))
        sys.stdout.buffer.flush()
        if remaining <= 0:
            return


def read(root: bytes, path: bytes, size: int) -> bytes:
    """Return the contents of a regular text file; empty if it cannot be read or is larger than `size`."""
    try:
        handle = open_beneath(root, path.split(b"/"))
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > size:
            return b""
        body = file.read(size)
    return b"" if b"\0" in body[:8192] else body


def open_beneath(root: bytes, parts: list[bytes]) -> int:
    """Open a file without following links in its path, if the system supports that."""
    if os.open not in os.supports_dir_fd:
        return os.open(b"/".join((root, *parts)), os.O_RDONLY | getattr(os, "O_BINARY", 0))
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def matching_lines(text: str, pattern: re.Pattern[str], limit: int) -> list[tuple[int, str]]:
    """Return the number and text of each line with a match, up to `limit` lines.

    The text is searched as a whole instead of line by line, which is faster because most files have no match.
    """
    lines: list[tuple[int, str]] = []
    position = number = counted_to = 0
    while len(lines) < limit and position < len(text):
        match = pattern.search(text, position)
        if match is None:
            break
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.start())
        end = len(text) if end < 0 else end
        if match.end() > end and not pattern.search(text[start:end]):  # no match within one line
            position = max(end + 1, match.start() + 1)
            continue
        number += text.count("\n", counted_to, start)
        counted_to = start
        lines.append((number + 1, text[start:end]))
        position = end + 1
    return lines


if __name__ == "__main__":
    main()
