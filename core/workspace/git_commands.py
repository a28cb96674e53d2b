"""Runs git with hooks and fsmonitor disabled, because an untrusted repository could use them to run programs.

Settings of a repository can name further programs, such as filters and an ssh command. `own_programs` lists them all;
callers refuse to run git in such a repository until the user allows its programs.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from core.domain.git_config import is_harmless_setting
from core.domain.problems import Problem
from core.workspace.git_plumbing import pinned_repository, settings_environment
from core.workspace.program_search import command_path, own_path, require_git

TIMEOUT_S = 120
NETWORK_TIMEOUT_S = 600
HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-push",
    "post-checkout",
    "reference-transaction",
    "post-index-change",
    "pre-auto-gc",
)
SAFE_SETTINGS = {"core.fsmonitor": "false", "submodule.recurse": "false", "push.recurseSubmodules": "no"}
NO_HOOKS = {"core.hooksPath": os.devnull}
# A remote URL that reaches another computer, by one of these schemes or as `host:path`. Any other URL is local.
REMOTE_URL = re.compile(r"(?:https?|ssh|git)://[^/-]|(?:[\w.-]+@)?[\w][\w.-]*:(?!:|//|\\)")


class KnownError(NamedTuple):
    """An error of git that is shown in other words."""

    message: str
    fix: str


_NOTHING_STAGED = KnownError("Nothing is staged.", fix="Select the files to commit.")
_BEHIND_REMOTE = KnownError(
    "The remote branch has commits that you do not have.", fix="Pull them in a terminal, then push again."
)
# By a part of git's lowercased message.
KNOWN_ERRORS = {
    "tell me who you are": KnownError(
        "Git does not know your name and mail address.",
        fix="Set them with `git config --global user.name` and `git config --global user.email`.",
    ),
    "nothing to commit": _NOTHING_STAGED,
    "no changes added to commit": _NOTHING_STAGED,
    "fetch first": _BEHIND_REMOTE,
    "non-fast-forward": _BEHIND_REMOTE,
    "protected branch": KnownError(
        "The remote does not accept pushes to this branch.", fix="Create a branch and push that."
    ),
    "permission denied": KnownError("The remote refused access.", fix="Check your SSH key or token for this remote."),
    "could not read username": KnownError(
        "The remote asks for a user name and password.", fix="Sign in once in a terminal, or use SSH."
    ),
    "authentication failed": KnownError("The remote refused access.", fix="Sign in once in a terminal."),
    "could not resolve host": KnownError("The remote cannot be reached.", fix="Check the network connection."),
    "already exists": KnownError("A branch with this name exists already.", fix="Choose another name."),
    "is not a valid branch name": KnownError(
        "This is not a valid branch name.", fix="Use letters, digits, `-` and `/`."
    ),
    "dubious ownership": KnownError(
        "This repository belongs to another user.", fix="Work in a repository of your own."
    ),
    "index.lock": KnownError(
        "Another program is using the repository.", fix="Wait until it has finished, and try again."
    ),
}


def run_git(
    folder: Path,
    *arguments: str,
    hooks: bool = False,
    input_text: str | None = None,
    seconds: int = TIMEOUT_S,
    check: bool = True,
    index: Path | None = None,
) -> str:
    """Run git in a folder and return its output; raise Problem if it fails and `check` is set.

    `hooks` enables hooks. `index` is a file to use instead of the repository's index.
    """
    completed = run_program(
        [require_git(folder), *arguments], folder, hooks=hooks, input_text=input_text, seconds=seconds, index=index
    )
    if completed.returncode and check:
        raise git_problem(arguments[0], completed.stderr or completed.stdout)
    return completed.stdout


def run_program(
    argv: Sequence[str],
    folder: Path,
    *,
    hooks: bool,
    input_text: str | None = None,
    seconds: int = TIMEOUT_S,
    index: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run git, or a program that runs git, without prompts and with safe settings; raise Problem if that fails.

    The exit code is not checked.
    """
    environment = git_environment(hooks=hooks) | pinned_repository(folder)
    if index:
        environment["GIT_INDEX_FILE"] = str(index)
    try:
        return subprocess.run(
            argv,
            cwd=folder,
            env=environment,
            input=input_text or "",
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        name = Path(argv[0]).name
        raise Problem(f"{name} did not finish.", f"It took more than {seconds} s.", "Try it in a terminal.") from None
    except OSError as error:
        raise Problem(f"{argv[0]} could not be started.", f"{error.strerror}.", "") from error


def own_programs(folder: Path, push_urls: Sequence[str]) -> tuple[str, ...]:
    """Return what makes a repository run programs, as names of settings and hooks to show to the user.

    `push_urls` are the URLs of the remote: hooks of a local one would run at a push.
    """
    programs = [key for key, value in _own_settings(folder) if not is_harmless_setting(key, value)]
    hooks = Path(run_git(folder, "rev-parse", "--path-format=absolute", "--git-path", "hooks", hooks=True).rstrip("\n"))
    programs += [f"hook {name}" for name in HOOKS if os.access(hooks / name, os.X_OK)]
    programs += [f"hooks of the local repository {url}" for url in push_urls if is_local(url)]
    return tuple(dict.fromkeys(programs))


def is_local(remote_url: str) -> bool:
    """Return whether a remote URL leads to a repository on this computer, whose hooks a push would run."""
    return bool(remote_url) and not REMOTE_URL.match(remote_url)


def has_unsafe_settings(programs: Sequence[str]) -> bool:
    """Return whether a result of `own_programs` contains settings, whose programs cannot be disabled, unlike hooks."""
    return any(not name.startswith("hook") for name in programs)


def git_problem(action: str, message: str) -> Problem:
    """Return an error message of git as a Problem; `action` is the git subcommand that failed."""
    lowered = message.casefold()
    for part, known in KNOWN_ERRORS.items():
        if part in lowered:
            return Problem(known.message, "", known.fix)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))] or lines
    cause = re.sub(r"^(fatal|error|remote): ", "", errors[0]) if errors else ""
    return Problem(f"git {action} failed.", cause[:300], "Try it in a terminal to see more.")


def _own_settings(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the settings in the repository's own configuration and in included files. Reading them runs no program."""
    fields = run_git(folder, "config", "--list", "--show-scope", "--includes", "-z").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        if scope in {"local", "worktree"}:
            key, _, value = entry.partition("\n")
            yield key, value


def git_environment(*, hooks: bool = False) -> dict[str, str]:
    """Return an environment for git with safe settings, which its child processes inherit; `hooks` enables hooks."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **inherited,
        "LC_ALL": "C",
        "NO_COLOR": "1",
        "PATH": command_path() if hooks else own_path(),  # hooks may need programs that are in the project
        "GH_PROMPT_DISABLED": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # an agent's command may have created replace refs
        **settings_environment(SAFE_SETTINGS if hooks else SAFE_SETTINGS | NO_HOOKS),
    }
