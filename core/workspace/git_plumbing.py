"""Runs the commands of git that only read objects and references, outside the sandbox, in an untrusted repository.

Nothing in the repository can make git run a program, fetch objects or read others in their place.
"""

import os
from pathlib import Path

from core.domain.git_config import is_harmless
from core.workspace.git_branch import enclosing_repository, read_small_text, worktree_git_folders
from core.workspace.program_search import own_path

MAX_CONFIG = 1 << 20  # bytes
_OPTIONS = ("-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-c", "core.commitGraph=false")
_SETTINGS = {
    "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_GRAFT_FILE": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip


def plumbing_command(git: str, git_folder: Path, *words: str) -> list[str]:
    """Return a command of the program `git` for a git folder."""
    return [git, *_OPTIONS, f"--git-dir={git_folder}", *words]


def plumbing_environment() -> dict[str, str]:
    """Return the environment for `plumbing_command`."""
    return _SETTINGS | {"PATH": own_path()}


def pinned_repository(folder: Path) -> dict[str, str]:
    """Return the environment in which git reads the settings of the repository of a folder, and of no other.

    Otherwise, the file `commondir` in its git folder could name another one, and a command can create that file.
    """
    repository = enclosing_repository(Path(os.path.realpath(folder)))
    if repository is None:
        return {}
    top, git = repository
    worktree = worktree_git_folders(top)
    return {"GIT_COMMON_DIR": os.path.realpath(worktree[1] if worktree else git)}


def is_harmless_file(config: Path) -> bool:
    """Return whether nothing in a configuration can make git run a program. Only a file of the usual size can be."""
    usual = config.is_file() and config.stat().st_size <= MAX_CONFIG
    return usual and is_harmless(read_small_text(config, MAX_CONFIG))
