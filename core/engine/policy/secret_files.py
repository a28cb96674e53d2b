"""Finds the files in a folder that hold secrets, and the files that a pattern matches."""

import os
from collections.abc import Sequence
from glob import iglob
from itertools import islice
from pathlib import Path

from core.domain.sensitive_paths import is_git, is_secret

MAX_MATCHES = 2_000
DEPENDENCIES = frozenset({"node_modules", ".venv", "venv", ".tox", "site-packages"})  # files that anyone can download


def secret_files(folder: Path) -> tuple[str, ...]:
    """Return the files and links in a folder whose names say that they hold secrets, relative to the folder."""
    paths: list[str] = []
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_git(name) and name not in DEPENDENCIES]
        relative = os.path.relpath(directory, folder)
        for name in names:
            path = name if relative == "." else f"{relative}/{name}"
            if is_secret(path):
                paths.append(path)
    return tuple(sorted(paths))


def matching_files(folder: Path, pattern: str) -> Sequence[str]:
    """Return the files that the shell would put in the place of a pattern, relative to the folder."""
    matching = iglob(pattern, root_dir=folder)  # noqa: PTH207 - Path.glob also matches hidden files, unlike a shell
    return tuple(islice(matching, MAX_MATCHES))
