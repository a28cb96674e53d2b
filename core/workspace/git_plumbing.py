"""Runs git commands that only read objects and references, outside the sandbox, in an untrusted repository.

No file of the repository can make these commands run a program, fetch objects, or substitute other objects.
"""

import os
from pathlib import Path

from core.domain.git_config import is_harmless
from core.workspace.git_branch import enclosing_repository, read_small_text, worktree_git_folders
from core.workspace.program_search import own_path

MAX_CONFIG = 1 << 20  # bytes; a larger configuration is not considered harmless
_OPTIONS = ("-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-c", "core.commitGraph=false")
_SETTINGS = {
    "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_GRAFT_FILE": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip


def plumbing_command(git: str, git_folder: Path, *words: str) -> list[str]:
    """Return the command line that runs the program `git` with these words on a git folder, with safe options."""
    return [git, *_OPTIONS, f"--git-dir={git_folder}", *words]


def plumbing_environment() -> dict[str, str]:
    """Return the environment to run a `plumbing_command` in, without user and system configuration."""
    return _SETTINGS | {"PATH": own_path()}


def pinned_repository(folder: Path) -> dict[str, str]:
    """Return an environment variable that makes git read the settings of this folder's repository only.

    Otherwise a command could create the file `commondir` in the git folder, which makes git read those of another one.
    Empty outside a repository.
    """
    repository = enclosing_repository(Path(os.path.realpath(folder)))
    if repository is None:
        return {}
    top, git = repository
    worktree = worktree_git_folders(top)
    return {"GIT_COMMON_DIR": os.path.realpath(worktree[1] if worktree else git)}


def is_harmless_file(config: Path) -> bool:
    """Return whether no setting of a configuration file can make git run a program; False for a very large file."""
    usual = config.is_file() and config.stat().st_size <= MAX_CONFIG
    return usual and is_harmless(read_small_text(config, MAX_CONFIG))
