"""Runs git commands that only read objects and references, outside the sandbox, in an untrusted repository.

No file of the repository can make these commands run a program, fetch objects, or substitute other objects.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from core.domain.git_config import is_harmless
from core.workspace.git_branch import enclosing_repository, read_small_text, worktree_git_folders
from core.workspace.program_search import own_path

MAX_CONFIG = 1 << 20  # bytes; a larger configuration is not considered harmless
_OPTIONS = ("-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-c", "core.commitGraph=false")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def plumbing_command(git: str, git_folder: Path, *words: str) -> list[str]:
    """Return the command line that runs the program `git` with these words on a git folder, with safe options."""
    return [git, *_OPTIONS, f"--git-dir={git_folder}", *words]


def plumbing_environment() -> dict[str, str]:
    """Return the environment to run a `plumbing_command` in, without user and system configuration."""
    return _ENVIRONMENT | {"PATH": own_path()}


def settings_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that give git these settings, with precedence over configuration files."""
    environment = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def pinned_repository(folder: Path) -> dict[str, str]:
    """Return an environment variable that makes git read the settings of this folder's repository only.

    Otherwise a command could create the file `commondir` in the git folder, which makes git read those of another one.
    Empty outside a repository.
    """
    repository = enclosing_repository(Path(os.path.realpath(folder)))
    if repository is None:
        return {}
    worktree = worktree_git_folders(repository.top)
    return {"GIT_COMMON_DIR": os.path.realpath(worktree.common if worktree else repository.git_folder)}


def is_harmless_file(config: Path) -> bool:
    """Return whether no setting of a configuration file can make git run a program; False for a very large file."""
    is_readable = config.is_file() and config.stat().st_size <= MAX_CONFIG
    return is_readable and is_harmless(read_small_text(config, MAX_CONFIG))
