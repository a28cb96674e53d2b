"""Functions on the lines of a folder snapshot; `folder_listing.py` describes their format."""

import os

from core.domain.sensitive_paths import path_in_git
from core.workspace import forced_access
from core.workspace.folder_listing import FolderSnapshot, inside_git


def mode_of(line: bytes | None) -> int:
    return int(line.split(b" ", 1)[0][1:], 8) & 0o777 if line else 0


def inode_of(line: bytes) -> bytes:
    return line.split(b" ", 2)[1].partition(b".")[0]


def is_privileged(line: bytes | None) -> bool:
    kind = line.split(b" ", 1)[0] if line else b"f0"
    return kind.startswith(b"f") and bool(int(kind[1:], 8) & forced_access.PRIVILEGES)


def path_of(line: bytes) -> str:
    return os.fsdecode(line.split(b" ", 4)[4][2:])


def is_git_link(path: str, *lines: bytes | None) -> bool:
    """Return whether a path in a git folder is or was a link, which could lead git elsewhere; HEAD is excepted."""
    is_head = path.endswith("/HEAD") and "logs" not in path_in_git(path).split("/")  # old git versions made HEAD a link
    return not is_head and inside_git(path) and any(line is not None and line.startswith(b"l") for line in lines)


def is_new_repository(before: FolderSnapshot, git_folder: bytes) -> bool:
    """Return whether a git folder is new. Then its hooks and configuration come from `git init` or `git clone`."""
    return not any(line.split(b" ", 4)[4].startswith(git_folder) for line in before)


def git_folder_of(path: str) -> bytes:
    """Return the innermost git folder of a path, in the form in which paths of a snapshot begin: b"./…/.git/"."""
    return os.fsencode(f"./{path}".rpartition("/.git/")[0]) + b"/.git/"
