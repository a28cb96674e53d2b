"""Runs git so that an untrusted repository cannot run programs of its own: hooks are disabled, and so is fsmonitor.

The settings of a repository can name further programs, such as filters and an ssh command. `own_programs` lists them;
callers refuse to run git in such a repository until the user allows its programs.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from core.domain.git_config import is_harmless_setting
from core.domain.problems import Problem
from core.workspace.git_plumbing import pinned_repository
from core.workspace.program_search import command_path, find_program, own_path

SECONDS = 120
NETWORK_SECONDS = 600
HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push", "post-checkout",
    "reference-transaction", "post-index-change", "pre-auto-gc",
)  # fmt: skip
SAFE = {"core.fsmonitor": "false", "submodule.recurse": "false", "push.recurseSubmodules": "no"}
NO_HOOKS = {"core.hooksPath": os.devnull}
# A URL with one of these schemes, or `host:path`, reaches another computer; anything else is a local repository.
REMOTE_URL = re.compile(r"(?:https?|ssh|git)://[^/-]|(?:[\w.-]+@)?[\w][\w.-]*:(?!:|//|\\)")
# What git says, and what to tell the user about it: error and fix.
KNOWN_ERRORS = (
    ("tell me who you are", "Git does not know your name and mail address.",
     "Set them with `git config --global user.name` and `git config --global user.email`."),
    ("nothing to commit", "Nothing is staged.", "Select the files to commit."),
    ("no changes added to commit", "Nothing is staged.", "Select the files to commit."),
    ("fetch first", "The remote branch has commits that you do not have.", "Pull them in a terminal, then push again."),
    ("non-fast-forward", "The remote branch has commits that you do not have.",
     "Pull them in a terminal, then push again."),
    ("protected branch", "The remote does not accept pushes to this branch.", "Create a branch and push that."),
    ("permission denied", "The remote refused access.", "Check your SSH key or token for this remote."),
    ("could not read username", "The remote asks for a user name and password.",
     "Sign in once in a terminal, or use SSH."),
    ("authentication failed", "The remote refused access.", "Sign in once in a terminal."),
    ("could not resolve host", "The remote cannot be reached.", "Check the network connection."),
    ("already exists", "A branch with this name exists already.", "Choose another name."),
    ("is not a valid branch name", "This is not a valid branch name.", "Use letters, digits, `-` and `/`."),
    ("dubious ownership", "This repository belongs to another user.", "Work in a repository of your own."),
    ("index.lock", "Another program is using the repository.", "Wait until it has finished, and try again."),
)  # fmt: skip


def run_git(
    folder: Path,
    *arguments: str,
    hooks: bool = False,
    input_text: str | None = None,
    seconds: int = SECONDS,
    check: bool = True,
    index: Path | None = None,
) -> str:
    """Run git in a folder and return its output; `hooks` enables hooks. Raises Problem if git fails.

    `index` is used instead of the index of the repository.
    """
    git = find_program("git", folder)
    if not git:
        raise Problem("Git is not installed.", "", "Install git.")
    completed = run_program([git, *arguments], folder, hooks=hooks, input_text=input_text, seconds=seconds, index=index)
    if completed.returncode and check:
        raise git_problem(arguments[0], completed.stderr or completed.stdout)
    return completed.stdout


def run_program(
    argv: Sequence[str],
    folder: Path,
    *,
    hooks: bool,
    input_text: str | None = None,
    seconds: int = SECONDS,
    index: Path | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run git, or a program that runs git, without prompts and with the safe settings."""
    settings = SAFE if hooks else SAFE | NO_HOOKS
    environment = git_environment(settings, hooks=hooks) | pinned_repository(folder)
    environment |= {"GIT_INDEX_FILE": str(index)} if index else {}
    try:
        return subprocess.run(
            argv, cwd=folder, env=environment, input=input_text or "", capture_output=True,
            encoding="utf-8", errors="surrogateescape", timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        name = Path(argv[0]).name
        raise Problem(f"{name} did not finish.", f"It took more than {seconds} s.", "Try it in a terminal.") from None
    except OSError as error:
        raise Problem(f"{argv[0]} could not be started.", f"{error.strerror}.", "") from error


def own_programs(folder: Path, push_urls: Sequence[str]) -> tuple[str, ...]:
    """Return the programs that a repository would run, as names of its settings and hooks, to show to the user.

    `push_urls` are the addresses that a push would go to.
    """
    programs = [key for key, value in _own_settings(folder) if not is_harmless_setting(key, value)]
    hooks = Path(run_git(folder, "rev-parse", "--path-format=absolute", "--git-path", "hooks", hooks=True).rstrip("\n"))
    programs += [f"hook {name}" for name in HOOKS if os.access(hooks / name, os.X_OK)]
    programs += [f"hooks of the local repository {url}" for url in push_urls if is_local(url)]
    return tuple(dict.fromkeys(programs))


def is_local(remote_url: str) -> bool:
    """Return whether a push to this URL would run the hooks of a repository on this computer."""
    return bool(remote_url) and not REMOTE_URL.match(remote_url)


def has_unsafe_settings(programs: Sequence[str]) -> bool:
    """Return whether settings run programs. Unlike hooks, these cannot be disabled."""
    return any(not name.startswith("hook") for name in programs)


def git_problem(action: str, said: str) -> Problem:
    """Return git's error message as a Problem."""
    lowered = said.casefold()
    for part, error, fix in KNOWN_ERRORS:
        if part in lowered:
            return Problem(error, "", fix)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))] or lines
    cause = re.sub(r"^(fatal|error|remote): ", "", named[0]) if named else ""
    return Problem(f"git {action} failed.", cause[:300], "Try it in a terminal to see more.")


def _own_settings(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the settings of the repository itself, and of files that it includes. Reading them runs nothing."""
    fields = run_git(folder, "config", "--list", "--show-scope", "--includes", "-z").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        if scope in {"local", "worktree"}:
            key, _, value = entry.partition("\n")
            yield key, value


def git_environment(settings: Mapping[str, str] = SAFE, *, hooks: bool = False) -> dict[str, str]:
    """Return an environment with git settings that child processes inherit."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}
    environment |= {"GH_PROMPT_DISABLED": "1", "NO_COLOR": "1", "GIT_CONFIG_COUNT": str(len(settings))}
    environment["PATH"] = command_path() if hooks else own_path()  # hooks may need programs of the folder
    for number, (key, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment
