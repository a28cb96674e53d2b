"""The git operations that the user performs in a folder: status, stage, commit, branch, push and pull request."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from core.domain.problems import Problem
from core.workspace.active_commands import refuse_while_commands_run
from core.workspace.git_branch import current_branch
from core.workspace.git_commands import (
    NETWORK_TIMEOUT_S,
    has_unsafe_settings,
    is_local,
    own_programs,
    run_git,
    run_program,
)
from core.workspace.paths import printable
from core.workspace.program_search import find_program
from core.workspace.regular_files import read_regular

SUBJECT_LENGTH = 72
MAX_INDEX = 1 << 30  # largest index that is read, in bytes
READINGS = 5  # attempts to read a consistent status while the repository changes
BRANCH = re.compile(r"(?![-/.])[\w./-]{1,200}(?<![/.])")
URL = re.compile(r"https?://\S+")
PULL_REQUEST_PROGRAMS = {"github": "gh", "gitlab": "glab"}
# The kinds of lines in a status for changed, renamed and unmerged files, with the number of columns before the path.
RENAMED = "2"
COLUMNS_BEFORE_PATH = {"1": 7, RENAMED: 8, "u": 9}


@dataclass(frozen=True, slots=True)
class GitFile:
    """A changed file. `staged` and `unstaged` are git's status letters; "" means unchanged and "?" untracked."""

    path: str
    staged: str = ""
    unstaged: str = ""


@dataclass(frozen=True, slots=True)
class GitStatus:
    """The state of a repository.

    Attributes:
        root: the top folder.
        branch: the current branch; "" if HEAD is detached.
        remote, remote_url: the name of the remote that a push goes to and its URLs, joined by " and "; "" without a
            remote.
        upstream: the remote branch that the branch tracks, such as `origin/main`.
        ahead, behind: the numbers of commits that only the branch or only its upstream has.
        files: the changed files, in git's order.
        programs: the names of settings and hooks by which the repository would run programs.
        blocked: whether the files are unknown, because asking git for them could run such programs.
        head: the hash of the current commit; "" before the first one.
        tree: the hash of the tree of the staged files; "" during a conflict.
        last_message: the message of the current commit.
        pull_request_program: the installed program that can open a pull request at the remote, "gh" or "glab", or "".
    """

    root: Path
    branch: str = ""
    remote: str = ""
    remote_url: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    files: tuple[GitFile, ...] = ()
    programs: tuple[str, ...] = ()
    blocked: bool = False
    head: str = ""
    tree: str = ""
    last_message: str = ""
    pull_request_program: str = ""

    @property
    def staged(self) -> tuple[GitFile, ...]:
        return tuple(file for file in self.files if file.staged)


class ParsedStatus(NamedTuple):
    """What `git status` tells: as in `GitStatus`."""

    upstream: str
    ahead: int
    behind: int
    files: tuple[GitFile, ...]


class _HeadAndTree(NamedTuple):
    """The hashes of the current commit and of the tree of the staged files, as in `GitStatus`."""

    head: str
    tree: str


class GitRepository:
    """The repository of a folder. `run_programs`: the user allows it to run its hooks and other programs."""

    def __init__(self, folder: Path, *, run_programs: bool = False) -> None:
        self._folder = folder
        self._hooks = run_programs
        self._root: Path | None = None

    def status(self) -> GitStatus:
        """Return the state of the repository; raise Problem if the folder is not in a repository."""
        root = self._top()
        if not self._hooks:
            refuse_while_commands_run(root)
        remote = self._remote(root)
        urls = _push_urls(root, remote) if remote else []
        programs = own_programs(root, urls)
        blocked = has_unsafe_settings(programs) and not self._hooks
        known = GitStatus(
            root=root,
            branch=_branch(root),
            remote=remote,
            remote_url=" and ".join(urls),
            programs=programs,
            blocked=blocked,
            pull_request_program=_pull_request_program(root, urls[0]) if urls else "",
        )
        return known if blocked else self._read(known)

    def stage(self, paths: Sequence[str], staged: bool) -> None:
        """Stage the current contents of files, or unstage the files."""
        self._require_safe()
        if not staged:
            pathspec = ("--pathspec-from-file=-", "--pathspec-file-nul")
            run_git(self._top(), "reset", "-q", *pathspec, hooks=self._hooks, input_text="\0".join(paths))
            return
        # Not `git add`, which looks for changes in nested repositories and would run programs that their settings name.
        names = "\0".join(path.rstrip("/") for path in paths)
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        run_git(self._top(), "update-index", *options, hooks=self._hooks, input_text=names)

    def commit(self, message: str, shown: GitStatus) -> str:
        """Commit the staged files and return the abbreviated commit hash.

        Raise Problem if the branch or the staged files differ from the status `shown` to the user, because an agent may
        have changed them.
        """
        status = self._require_safe(shown)
        if not message.strip():
            raise Problem("There is no message.", "", "Describe the commit.")
        root, text = status.root, message.strip() + "\n"
        with _copied_index(root) as copy:
            staged = copy.read_bytes() if copy.exists() else b""
            if _tree(root, copy) != shown.tree or (status.head, status.branch) != (shown.head, shown.branch):
                raise _changed_problem()
            _require_staged(root, shown.tree)
            command = ("commit", "-q", "--allow-empty", "-F", "-")
            run_git(root, *command, hooks=self._hooks, input_text=text, index=copy)
            commit = _commit(root, "HEAD")
            if not self._is_as_shown(root, commit, shown):
                reference = f"refs/heads/{status.branch}" if status.branch else "HEAD"
                run_git(root, "update-ref", reference, f"{commit}^1", commit, check=False)
                raise _changed_problem()
            index = _index(root) if self._hooks else None
            if index and _read_index(index) == staged:  # else a hook has staged more, which must stay
                _replace_index(index, copy.read_bytes())
        return run_git(root, "rev-parse", "--short", commit).strip()

    def _is_as_shown(self, root: Path, commit: str, shown: GitStatus) -> bool:
        """Return whether a new commit follows the one that was shown, and unless hooks ran, has the shown files."""
        if _commit(root, f"{commit}^1") != shown.head:
            return False
        return self._hooks or run_git(root, "rev-parse", f"{commit}^{{tree}}").strip() == shown.tree

    def create_branch(self, name: str) -> None:
        """Create a branch at the current commit and switch to it, keeping uncommitted changes."""
        self._require_safe()
        if not BRANCH.fullmatch(name):
            raise Problem("This is not a valid branch name.", "", "Use letters, digits, `-` and `/`.")
        run_git(self._top(), "checkout", "-q", "-b", name, hooks=self._hooks)

    def push(self, shown: GitStatus) -> str:
        """Push the branch, make it track the remote branch, and return the name of the latter.

        Only commits up to `shown.head` are pushed. Raise Problem if the branch or the remote differs from `shown`.
        """
        status = self._require_safe(shown)
        if not status.branch:
            raise Problem("No branch is checked out.", "", "Create a branch first.")
        if not status.remote:
            raise Problem("The repository has no remote.", "", "Add one with `git remote add`.")
        if any(map(is_local, _push_urls(status.root, status.remote))) and not self._hooks:
            raise _programs_problem(status.programs)
        if (status.branch, status.remote_url) != (shown.branch, shown.remote_url):
            raise _changed_problem()
        target, upstream = f"{shown.head}:refs/heads/{status.branch}", f"{status.remote}/{status.branch}"
        run_git(status.root, "push", "-q", status.remote, target, hooks=self._hooks, seconds=NETWORK_TIMEOUT_S)
        if status.upstream != upstream:
            run_git(status.root, "branch", "-q", f"--set-upstream-to={upstream}", status.branch, check=False)
        return upstream

    def open_pull_request(self, title: str, body: str, shown: GitStatus) -> str:
        """Open a pull request for the pushed branch and return its URL.

        Raise Problem if the branch or the remote differs from `shown`, the status that the user saw.
        """
        status = self._require_safe(shown)
        if (status.branch, status.remote_url) != (shown.branch, shown.remote_url):
            raise _changed_problem()
        program = find_program(status.pull_request_program, status.root) if status.pull_request_program else ""
        if not program:
            raise Problem("No program for pull requests is installed.", "", "Install gh (GitHub) or glab (GitLab).")
        if not title.strip():
            raise Problem("There is no title.", "", "The first line is the title.")
        arguments = ["pr", "create", f"--title={title}", f"--body={body}", f"--head={status.branch}"]
        if status.pull_request_program == "glab":
            arguments = ["mr", "create", f"--title={title}", f"--description={body}"]
            arguments += [f"--source-branch={status.branch}", "--yes"]
        completed = run_program([program, *arguments], status.root, hooks=self._hooks, seconds=NETWORK_TIMEOUT_S)
        url = URL.search(completed.stdout)
        if completed.returncode or not url:
            output = (completed.stderr or completed.stdout).strip()
            fix = f"Sign in with `{status.pull_request_program} auth login`, or try it in a terminal."
            raise Problem("The pull request was not opened.", output.splitlines()[0][:300] if output else "", fix)
        return url[0]

    def _top(self) -> Path:
        if self._root is None:
            try:
                top = run_git(self._folder, "rev-parse", "--show-toplevel").strip()
            except Problem as problem:
                if "not a git repository" not in problem.details.cause:
                    raise
                raise Problem(
                    "This folder is not in a git repository.", "", "Create one with `git init` in a terminal."
                ) from problem
            named = self._named_folder(Path(top))
            if not Path(os.path.realpath(self._folder)).is_relative_to(named):
                message = "The settings of this repository name another folder."
                raise Problem(message, f"It is {printable(str(named))}.", "Use a terminal.")
            self._root = Path(top)
        return self._root

    def _named_folder(self, top: Path) -> Path:
        """Return the folder that the setting `core.worktree` names, or else `top`.

        Git ignores that setting when it runs with GIT_COMMON_DIR, so it is read separately.
        """
        named = run_git(self._folder, "config", "--local", "--get", "core.worktree", check=False).rstrip("\n")
        git_folder = run_git(self._folder, "rev-parse", "--absolute-git-dir").rstrip("\n")
        return Path(os.path.realpath(Path(git_folder, named))) if named else top

    def _require_safe(self, shown: GitStatus | None = None) -> GitStatus:
        """Return the status; raise Problem if the repository would run programs that the user has not allowed."""
        status = self.status()
        if status.blocked or (self._hooks and shown and not set(status.programs) <= set(shown.programs)):
            raise _programs_problem(status.programs)
        return status

    def _remote(self, root: Path) -> str:
        """Return the name of the remote to push to: that of the branch, else `origin`, else the first one, else ""."""
        remotes = run_git(root, "remote").split()
        branch = _branch(root)
        own = run_git(root, "config", "--get", f"branch.{branch}.remote", check=False).strip() if branch else ""
        return next((name for name in (own, "origin", *remotes) if name in remotes), "")

    def _read(self, known: GitStatus) -> GitStatus:
        for _ in range(READINGS):
            before = _head_and_tree(known.root)
            if not self._hooks:
                refuse_while_commands_run(known.root)
            options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all")
            output = run_git(known.root, "status", *options, hooks=self._hooks)
            if _head_and_tree(known.root) == before:
                break
        else:
            raise Problem("The repository is being changed.", "", "Wait until the agent has finished, and try again.")
        message = run_git(known.root, "log", "-1", "--format=%B", check=False).strip()
        return replace(known, **parse_status(output)._asdict(), **before._asdict(), last_message=message)


def parse_status(output: str) -> ParsedStatus:
    """Parse the output of `git status --porcelain=v2 --branch -z`."""
    upstream = ""
    ahead = behind = 0
    files: list[GitFile] = []
    fields = iter(output.split("\0"))
    for field in fields:
        kind, _, rest = field.partition(" ")
        if kind == "#" and rest.startswith("branch.upstream "):
            upstream = rest.partition(" ")[2]
        elif kind == "#" and rest.startswith("branch.ab "):
            ahead, behind = (abs(int(number)) for number in rest.split()[1:3])
        elif kind == "?":
            files.append(GitFile(rest, unstaged="?"))
        elif kind in COLUMNS_BEFORE_PATH:
            parts = rest.split(" ", COLUMNS_BEFORE_PATH[kind])
            staged, unstaged = (letter.replace(".", "") for letter in parts[0])
            files.append(GitFile(parts[-1], staged, unstaged))
            if kind == RENAMED:
                next(fields, "")  # skip the former name
    return ParsedStatus(upstream, ahead, behind, tuple(files))


def propose_message(title: str, paths: Sequence[str]) -> str:
    """Return a default commit message: the session's title as subject, and a list of the files if there are several."""
    subject = " ".join(title.split())
    if not subject or len(subject) > SUBJECT_LENGTH:
        subject = f"{subject[: SUBJECT_LENGTH - 1].rstrip()}…" if subject else "Update files"
    if len(paths) < 2:
        return subject
    listed = [f"- {path}" for path in paths[:12]]
    more = [f"- and {len(paths) - 12} more"] if len(paths) > 12 else []
    return "\n".join([subject, "", *listed, *more])


def _require_staged(root: Path, tree: str) -> None:
    """Raise Problem if a commit of this tree would change nothing, unless it concludes a merge.

    Git itself would look into nested repositories to find that out, which can run programs.
    """
    if run_git(root, "rev-parse", "-q", "--verify", "MERGE_HEAD", check=False):
        return
    committed = run_git(root, "rev-parse", "-q", "--verify", "HEAD^{tree}", check=False)
    if tree == (committed or run_git(root, "hash-object", "-t", "tree", "--stdin")).strip():
        raise Problem("Nothing is staged.", "", "Select the files to commit.")


def _head_and_tree(root: Path) -> _HeadAndTree:
    with _copied_index(root) as index:
        return _HeadAndTree(head=_commit(root, "HEAD"), tree=_tree(root, index))


@contextlib.contextmanager
def _copied_index(root: Path) -> Iterator[Path]:
    """Yield a copy of the index in a temporary folder, which no agent can change and which needs no lock."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index"
        with contextlib.suppress(FileNotFoundError):  # nothing has been staged yet
            copy.write_bytes(_read_index(_index(root)))
        yield copy


def _read_index(index: Path) -> bytes:
    """Return the contents of an index; raise Problem for a link, special or huge file, which only an agent creates."""
    try:
        return read_regular(index, MAX_INDEX, follow=False)
    except FileNotFoundError:
        raise
    except OSError as error:
        cause, fix = f"{index} is not a file of the usual kind and size.", "Remove it, and restore it with `git reset`."
        raise Problem("The repository cannot be read.", cause, fix) from error


def _replace_index(index: Path, body: bytes) -> None:
    """Replace an index atomically by renaming a temporary file, whose random name an agent cannot have guessed."""
    descriptor, name = tempfile.mkstemp(prefix="index-", dir=index.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(body)
        shutil.copymode(index, name, follow_symlinks=False)
        Path(name).replace(index)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _index(root: Path) -> Path:
    return root / run_git(root, "rev-parse", "--git-path", "index").rstrip("\n")


def _commit(root: Path, name: str) -> str:
    return run_git(root, "rev-parse", "--verify", "-q", f"{name}^{{commit}}", check=False).strip()


def _tree(root: Path, index: Path) -> str:
    """Return the hash of the tree of the files staged in this index; "" during a conflict."""
    return run_git(root, "write-tree", check=False, index=index).strip()


def _changed_problem() -> Problem:
    cause = "An agent or another program changed the repository meanwhile."
    return Problem("This is not what was shown.", cause, "Look at it again, then repeat the action.")


def _programs_problem(programs: Sequence[str]) -> Problem:
    cause = f"{', '.join(programs)}."
    return Problem("This repository would run programs.", cause, "Allow its programs, or use a terminal.")


def _branch(root: Path) -> str:
    """Return the name of the current branch; "" if HEAD is detached."""
    name = current_branch(root)
    is_branch = run_git(root, "symbolic-ref", "-q", "HEAD", check=False).strip() == f"refs/heads/{name}"
    return name if is_branch else ""


def _push_urls(root: Path, remote: str) -> list[str]:
    """Return every URL that a push to this remote goes to: git allows several, also different from the fetch URL."""
    return run_git(root, "remote", "get-url", "--push", "--all", remote, check=False).splitlines()


def _pull_request_program(root: Path, url: str) -> str:
    """Return the installed program for pull requests at the host of a URL, any if the host is unknown; else ""."""
    host = urlsplit(url).hostname or url.partition(":")[0]
    named = [program for part, program in PULL_REQUEST_PROGRAMS.items() if part in host]
    candidates = named or list(PULL_REQUEST_PROGRAMS.values())
    return next((program for program in candidates if find_program(program, root)), "")
