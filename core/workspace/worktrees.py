"""Creates, lists and removes git worktrees, always by running git, with hooks disabled.

Git runs outside the sandbox here, so it must not run programs that the settings of an untrusted repository name. That
includes nested repositories, in which git runs itself to find out whether their files have changed.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from core.domain.ids import session_id
from core.domain.problems import Problem
from core.domain.worktree import BRANCH_PREFIX, Worktree, WorktreeCreated
from core.workspace.active_commands import commands_run_in, refuse_while_commands_run
from core.workspace.git_plumbing import is_harmless_file, pinned_repository, settings_environment
from core.workspace.program_search import own_path, require_git

TIMEOUT_S = 120
GIT_OPTIONS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
# Operations that git has begun, by a file or folder in the git folder that exists meanwhile.
OPERATIONS_IN_PROGRESS = {
    "MERGE_HEAD": "A merge",
    "rebase-merge": "A rebase",
    "rebase-apply": "A rebase",
    "CHERRY_PICK_HEAD": "A cherry-pick",
    "REVERT_HEAD": "A revert",
}
MAX_NAMED = 3  # number of changed files to name in an error
# Changes within submodules are ignored, because the settings of a submodule could also make git run programs.
STATUS = ("status", "--porcelain", "--ignore-submodules=dirty")
# Environment that prevents fetching missing objects.
NO_FETCH = MappingProxyType({"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"})


class NewWorktree(NamedTuple):
    """The event of a created worktree, and the folder in it that corresponds to the folder of the session."""

    event: WorktreeCreated
    folder: Path


def create_worktree(folder: Path, title: str, *, follow_settings: bool = False) -> NewWorktree:
    """Create a worktree of the repository of a folder.

    Unless git may `follow_settings` of the repository, raise a Problem if a setting could make git run a program.
    """
    top = repository_root(folder)
    if not follow_settings:
        refuse_while_commands_run(top)
    if not (follow_settings or _has_plain_settings(top)):
        cause = "Git would run commands from the repository's settings."
        raise Problem("You have not trusted this folder.", cause, "Trust the folder, or work without a worktree.")
    environment = {} if follow_settings else dict(NO_FETCH)
    base = _start_commit(top, environment)
    slug = re.sub(r"[^a-z0-9]+", "-", title.casefold())[:32].strip("-") or "session"
    name = f"{slug}-{session_id()[:4]}"
    worktree = top.with_name(f"{top.name}.worktrees") / name
    add = ("worktree", "add", "-q", "-b", BRANCH_PREFIX + name, str(worktree), base)
    _git(top, *add, environment=environment)
    subfolder = worktree / folder.resolve().relative_to(top)
    if not subfolder.is_dir():  # no file in the folder is committed
        remove_worktree(Worktree(str(top), str(worktree), BRANCH_PREFIX + name), discard=True)
        raise Problem(f"{folder} is not committed.", "A worktree would not contain it.", "Commit its files first.")
    event = WorktreeCreated(repository=str(top), folder=str(worktree), branch=BRANCH_PREFIX + name, base_commit=base)
    return NewWorktree(event, subfolder)


def repository_root(folder: Path) -> Path:
    """Return the top folder of the repository that contains a folder; raise a Problem if there is none, or no git."""
    completed = _run_git(folder, "rev-parse", "--show-toplevel")
    if completed.returncode or not completed.stdout.strip():
        other_owner = "dubious ownership" in completed.stderr
        raise Problem(
            f"{folder} is not in a usable git repository.",
            "It belongs to another user." if other_owner else "",
            "Create one with `git init` and a first commit, or work without a worktree.",
        )
    return Path(completed.stdout.strip()).resolve()


def list_worktrees(top: Path) -> list[Worktree]:
    """Return the existing worktrees that Journeyman created in the repository.

    The number of changed files is None for a worktree in which a command is running.
    """
    worktrees: list[Worktree] = []
    blocks = _git(top, "worktree", "list", "--porcelain").split("\n\n")
    records = [_parse_record(block) for block in blocks]
    top = Path(records[0]["worktree"])  # the main work tree, because `top` may be a linked one
    for fields in records:
        branch = fields.get("branch", "").removeprefix("refs/heads/")
        if not branch.startswith(BRANCH_PREFIX) or not Path(fields["worktree"]).is_dir():
            continue
        folder = Path(fields["worktree"])
        changed = None if commands_run_in(folder) else _count_changes(folder)
        ahead = int(_git(top, "rev-list", "--count", f"HEAD..{branch}", environment=NO_FETCH))
        worktrees.append(
            Worktree(repository=str(top), folder=str(folder), branch=branch, changed_files=changed, commits_ahead=ahead)
        )
    return worktrees


def _parse_record(block: str) -> dict[str, str]:
    """Return the values of a worktree that `git worktree list --porcelain` printed, by name; "" for flags."""
    fields = {}
    for line in block.splitlines():
        name, _, value = line.partition(" ")
        fields[name] = value
    return fields


def remove_worktree(tree: Worktree, *, discard: bool = False) -> None:
    """Delete the folder and the branch of a worktree. Without `discard`, raise a Problem if that would lose work."""
    top = Path(tree.repository)
    if not discard and Path(tree.folder).is_dir():
        refuse_while_commands_run(Path(tree.folder))
        tree = replace(tree, changed_files=_count_changes(Path(tree.folder)))
    losses = []
    if tree.changed_files:
        losses.append(f"{tree.changed_files} changed file{'' if tree.changed_files == 1 else 's'} not committed")
    if tree.commits_ahead:
        losses.append(f"{tree.commits_ahead} commit{'' if tree.commits_ahead == 1 else 's'} not in {top.name}")
    if losses and not discard:
        merge = shlex.join(["git", "-C", str(top), "merge", tree.branch])
        fix = f"Merge it with `{merge}`, or discard it with --discard."
        raise Problem(f"{tree.folder} contains work that would be lost.", f"{' and '.join(losses)}.", fix)
    environment = _closed_environment(top)
    # Without --force, git would look for changes, also in repositories nested in the worktree, and so run programs.
    _git(top, "worktree", "remove", "--force", tree.folder, environment=environment)
    _git(top, "branch", "-q", "-D", tree.branch, environment=environment)


def _has_plain_settings(top: Path) -> bool:
    """Return whether no setting of the repository can make git run a program."""
    common = top / _git(top, "rev-parse", "--git-common-dir")
    files = [common / "config", common / "config.worktree", *common.glob("worktrees/*/config.worktree")]
    return all(map(is_harmless_file, filter(os.path.lexists, files)))


def _closed_environment(folder: Path) -> Mapping[str, str]:
    """Return an environment in which git ignores configured filters, which are programs, and fetches no objects."""
    names = _run_git(folder, "config", "--list", "--name-only", "-z").stdout.split("\0")
    filters = dict.fromkeys(name.rpartition(".")[0] for name in names if name.startswith("filter."))
    settings = {f"{each}.{key}": "" for each in filters for key in ("clean", "smudge", "process")}
    settings |= {f"{each}.required": "false" for each in filters}
    return NO_FETCH | settings_environment(settings)


def _count_changes(folder: Path) -> int:
    """Return how many files of a worktree have uncommitted changes.

    Files marked as unchanged in the index count too: git ignores their changes, so a command could hide changes that
    way.
    """
    environment = _closed_environment(folder)
    output = _git(folder, *STATUS, "--untracked-files=all", environment=environment)
    entries = _git(folder, "ls-files", "-v", "-z", environment=environment).split("\0")
    marked = [entry[2:] for entry in entries if entry[:1] == "S" or entry[:1].islower()]
    return len(output.splitlines()) + sum(os.path.lexists(folder / path) for path in marked)


def _start_commit(top: Path, environment: Mapping[str, str]) -> str:
    """Return the commit to start a worktree at.

    Raise a Problem if the worktree would differ from what the user sees: without a commit, during an operation such as
    a merge, or with uncommitted changes.
    """
    head = _run_git(top, "rev-parse", "--verify", "-q", "HEAD^{commit}", environment=environment)
    if head.returncode:
        raise Problem(f"{top} has no commit yet.", "A worktree starts at a commit.", "Create a first commit.")
    git_folder = Path(_git(top, "rev-parse", "--absolute-git-dir"))
    for name, operation in OPERATIONS_IN_PROGRESS.items():
        if (git_folder / name).exists():
            raise Problem(
                f"{operation} is in progress in {top}.", "Its result is not known yet.", "Finish or abort it first."
            )
    status = _git(top, *STATUS, "--untracked-files=no", environment=environment)
    changed = [line[3:] for line in status.splitlines()]
    if changed:
        more = f" and {len(changed) - MAX_NAMED} more" if len(changed) > MAX_NAMED else ""
        cause = f"{', '.join(changed[:MAX_NAMED])}{more} would be missing or outdated in the worktree."
        raise Problem(f"{top} has uncommitted changes.", cause, "Commit or stash them first.")
    return head.stdout.strip()


def _git(folder: Path, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})) -> str:
    completed = _run_git(folder, *arguments, environment=environment)
    if completed.returncode:
        lines = completed.stderr.strip().removeprefix("fatal: ").splitlines()
        raise Problem(f"Git failed: {' '.join(arguments[:2])}.", f"{lines[0] if lines else completed.returncode}.", "")
    return completed.stdout.rstrip("\n")


def _run_git(
    folder: Path, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    safe = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "PATH": own_path()}
    try:
        return subprocess.run(
            [require_git(folder, "Worktrees need it."), *GIT_OPTIONS, "-C", str(folder), *arguments],
            env={**inherited, **safe, **pinned_repository(folder), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Problem("Git did not finish.", f"It took more than {TIMEOUT_S} s.", "Check the repository.") from None
