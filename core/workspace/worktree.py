"""Makes, lists and removes git worktrees. Only git itself touches the repository, and none of its hooks runs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from core.domain.ids import session_id
from core.domain.problems import Problem
from core.domain.worktree import PREFIX, Worktree, WorktreeMade

SECONDS = 120
QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
MIDST = {
    "MERGE_HEAD": "A merge", "rebase-merge": "A rebase", "rebase-apply": "A rebase",
    "CHERRY_PICK_HEAD": "A cherry-pick", "REVERT_HEAD": "A revert",
}  # fmt: skip
NAMED = 3  # files


def make(folder: Path, title: str) -> tuple[WorktreeMade, Path]:
    """A worktree of the repository that the folder is in, and the same folder in it."""
    top = repository(folder)
    base = _clean(top)
    slug = re.sub(r"[^a-z0-9]+", "-", title.casefold())[:32].strip("-") or "session"
    name = f"{slug}-{session_id()[:4]}"
    place = top.with_name(f"{top.name}.worktrees") / name
    _git(top, "worktree", "add", "-q", "-b", PREFIX + name, str(place), base)
    inside = place / folder.resolve().relative_to(top)
    if not inside.is_dir():  # nothing in it is in a commit
        drop(Worktree(str(top), str(place), PREFIX + name), lose=True)
        raise Problem(f"{folder} is in no commit.", "A worktree would not have it.", "Commit what is in it first.")
    return WorktreeMade(str(top), str(place), PREFIX + name, base), inside


def repository(folder: Path) -> Path:
    """The top of the repository that the folder is in."""
    if shutil.which("git") is None:
        raise Problem("Git is not installed.", "A worktree is made by it.", "Install git, or work without a worktree.")
    done = _try(folder, "rev-parse", "--show-toplevel")
    if done.returncode or not done.stdout.strip():
        why = "dubious ownership" in done.stderr
        raise Problem(
            f"{folder} is in no git repository that can be worked in.",
            "It belongs to another user." if why else "",
            "Make one with `git init` and a first commit, or work without a worktree.",
        )
    return Path(done.stdout.strip()).resolve()


def listed(top: Path) -> list[Worktree]:
    """Those of ours, of the whole repository."""
    found: list[Worktree] = []
    blocks = _git(top, "worktree", "list", "--porcelain").split("\n\n")
    every = [dict(line.partition(" ")[::2] for line in block.splitlines()) for block in blocks]
    top = Path(every[0]["worktree"])  # also when one of its worktrees was named
    for said in every:
        branch = said.get("branch", "").removeprefix("refs/heads/")
        if not branch.startswith(PREFIX) or not Path(said["worktree"]).is_dir():
            continue
        folder = Path(said["worktree"])
        changed = len(_git(folder, "status", "--porcelain", "--untracked-files=all").splitlines())
        ahead = int(_git(top, "rev-list", "--count", f"HEAD..{branch}"))
        found.append(Worktree(str(top), str(folder), branch, changed, ahead))
    return found


def drop(tree: Worktree, *, lose: bool = False) -> None:
    """Remove folder and branch; with `lose` also what is nowhere else."""
    top, kept = Path(tree.repository), []
    if tree.changed:
        kept.append(f"{tree.changed} changed file{'' if tree.changed == 1 else 's'} in no commit")
    if tree.ahead:
        kept.append(f"{tree.ahead} commit{'' if tree.ahead == 1 else 's'} that {top.name} has not got")
    if kept and not lose:
        do = f"Take it over with `git -C {top} merge {tree.branch}`, or lose it with --discard."
        raise Problem(f"{tree.folder} holds work that is nowhere else.", f"{' and '.join(kept)}.", do)
    _git(top, "worktree", "remove", *(["--force"] if lose else []), tree.folder)
    _git(top, "branch", "-q", "-D", tree.branch)


def _clean(top: Path) -> str:
    """The commit to begin at; a Problem where a worktree would not be what the person sees."""
    head = _try(top, "rev-parse", "--verify", "-q", "HEAD^{commit}")
    if head.returncode:
        raise Problem(f"{top} has no commit yet.", "A worktree begins at one.", "Make a first commit.")
    own = Path(_git(top, "rev-parse", "--absolute-git-dir"))
    for name, what in MIDST.items():
        if (own / name).exists():
            raise Problem(f"{what} is going on in {top}.", "What comes of it is not known yet.", "End it first.")
    changed = [line[3:] for line in _git(top, "status", "--porcelain", "--untracked-files=no").splitlines()]
    if changed:
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        why = f"{', '.join(changed[:NAMED])}{more} would be missing, or old, in the worktree."
        raise Problem(f"{top} has changes that are in no commit.", why, "Commit or stash them first.")
    return head.stdout.strip()


def _git(folder: Path, *words: str) -> str:
    done = _try(folder, *words)
    if done.returncode:
        said = done.stderr.strip().removeprefix("fatal: ").splitlines()
        raise Problem(f"Git refused: {' '.join(words[:2])}.", f"{said[0] if said else done.returncode}.", "")
    return done.stdout.rstrip("\n")


def _try(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.run(
            ["git", *QUIET, "-C", str(folder), *words], env=clean | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"},
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="surrogateescape",
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Problem("Git did not end.", f"It took more than {SECONDS} s.", "Look at the repository.") from None
