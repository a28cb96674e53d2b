"""Tells files in commits that the user made from files in commits that an agent's commands made.

A command can create any git object, so a file that a checkout creates is trusted only if it is in a commit that was
reachable before the commands ran. Objects are read by git and checked against their hashes, because a command can also
replace objects.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from core.workspace.git_branch import read_small_text, worktree_git_folders
from core.workspace.git_plumbing import plumbing_command, plumbing_environment
from core.workspace.program_search import find_program

# The folder in the data folder with one file per workspace: the references of its repositories after the last run.
RECORDS_FOLDER = "repositories"
HEAD = "HEAD"
BRANCHES = "refs/heads/"
MAX_REPOSITORIES = 20
MAX_UNTRACKED = 10_000  # limit of recorded repositories that are not tracked
MAX_COMMITS = 5_000
SECONDS = 5.0  # time limit of one search, and of one listing of references
# The modes of entries in tree objects.
_FOLDER_MODE = b"40000"
_LINK_MODE = b"120000"
_EXECUTABLE_MODE = b"100755"
_FILE_MODE = b"100644"
_MAX_ENTRY = 4096 + 8  # most bytes of the mode and name of one entry of a tree object
References = dict[str, str]  # hash of an object, by the name of the reference that points to it


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The contents of a file at a path, or the target of a link."""

    path: str
    body: bytes
    executable: bool = False
    link: bool = False

    @property
    def git_mode(self) -> bytes:
        """The mode of the file in a tree object."""
        if self.link:
            return _LINK_MODE
        return _EXECUTABLE_MODE if self.executable else _FILE_MODE


class _GitObject(NamedTuple):
    """The type and the contents of an object; the type is "missing" if the repository lacks it."""

    kind: str
    body: bytes


class _Commit(NamedTuple):
    """The tree and the parents of a commit. For a tag, the tree is "" and the tagged object is the only parent."""

    tree: str
    parents: list[str]


class _TreeEntry(NamedTuple):
    """An entry of a tree object: its mode, and the hash of the object that it names."""

    mode: bytes
    object_name: str


_NO_ENTRY = _TreeEntry(mode=b"", object_name="")


@dataclass(slots=True)
class _Repository:
    """The references of a repository: `seen` as commands last left them, and `good` as the user set them."""

    seen: References = field(default_factory=dict)
    good: References = field(default_factory=dict)

    def good_in(self, current: References, *, interrupted: bool) -> References:
        """Return which of the current references the user set.

        A reference that has moved since the commands of the last run was moved by the user, unless that run was
        interrupted: then its commands may have moved it.
        """
        kept = {name: object_name for name, object_name in self.good.items() if name in current}
        if interrupted:
            return kept
        moved = {name: object_name for name, object_name in current.items() if object_name != self.seen.get(name)}
        return kept | moved


@dataclass(frozen=True, slots=True)
class _Record:
    """What was stored after the last run. `untracked` are the `.git` paths of repositories beyond the limit."""

    repositories: dict[str, _Repository] = field(default_factory=dict)
    untracked: frozenset[str] = frozenset()
    interrupted: bool = False


class CommittedFiles:
    """The user's commits in the repositories of a folder. Call `begin` before the first command of a run.

    A reference that a command moved counts with its earlier commit until the user moves it. The references are stored,
    so that this holds across runs.
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder = folder
        name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
        self._path = data / RECORDS_FOLDER / f"{name}.json"
        self._repositories: dict[str, _Repository] | None = None

    def begin(self, git_places: Iterable[str]) -> None:
        """Note the references of the repositories; do nothing when called again.

        `git_places` are the paths of `.git` folders, and of `.git` files that point to one.
        """
        if self._repositories is not None:
            return
        self._repositories = {}
        outermost = _outermost(git_places)
        if not outermost or not find_program("git", self._folder):
            return
        record = self._read()
        for git_place in outermost:
            current, known = self._references(git_place), record.repositories.get(git_place)
            if git_place in record.untracked or len(record.untracked) >= MAX_UNTRACKED:
                good = {}  # a command of an earlier run may have created this repository
            elif known is None:
                good = current
            else:
                good = known.good_in(current, interrupted=record.interrupted)
            self._repositories[git_place] = _Repository(current, good)
        self._write(_Record(self._repositories, record.untracked, interrupted=True))

    def close(self, git_places: Iterable[str]) -> None:
        """Record the references as the commands of this run left them. Do nothing without `begin`."""
        places = set(git_places)
        if self._repositories is None or not (self._repositories or places):
            return
        for git_place in dict.fromkeys((*self._repositories, *_outermost(places))):
            repository = self._repositories.setdefault(git_place, _Repository())
            repository.seen = self._references(git_place)
        untracked = sorted(places - self._repositories.keys())[:MAX_UNTRACKED]
        self._write(_Record(self._repositories, frozenset(untracked)))

    def find(self, files: Sequence[FileVersion]) -> set[str]:
        """Return the paths of the files that a commit of the user contains, with the same contents at the same path.

        The commits searched are the last one of each branch, and the one that is checked out if it is an ancestor of
        those. Commits that were only fetched, such as those of a pull request, are not the user's.
        """
        committed: set[str] = set()
        repositories = self._repositories or {}
        versions_by_place: dict[str, list[FileVersion]] = {}
        for file in files:
            if (git_place := _place_of(file.path, repositories)) is not None:
                versions_by_place.setdefault(git_place, []).append(file)
        for git_place, versions in versions_by_place.items():
            good = repositories[git_place].good
            tips = {object_name for name, object_name in good.items() if name == HEAD or name.startswith(BRANCHES)}
            with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
                committed |= self._search(git_place, versions, tips)
        return committed

    def _search(self, git_place: str, files: list[FileVersion], tips: set[str]) -> set[str]:
        """Return the paths of those files that are in one of the commits `tips`, or in HEAD if they descend from it."""
        top = _worktree_of(git_place)
        deadline = time.monotonic() + SECONDS
        git, head = find_program("git", self._folder), self._references(git_place).get(HEAD, "")
        with _ObjectReader(git, self._git_folder(git_place), deadline) as objects:
            commits = {*tips, *([head] if _is_ancestor(head, tips, objects, deadline) else [])}
            trees = [commit.tree for commit in map(objects.commit, sorted(commits)) if commit.tree]
            return {
                file.path
                for file in files
                if any(objects.contains(tree, file.path[len(top) :], file) for tree in trees)
            }

    def _git_folder(self, git_place: str) -> Path:
        """Return the git folder of a `.git` path; for a linked worktree, the one shared by all worktrees."""
        git = self._folder / git_place
        if git.is_dir():
            return git
        if worktree := worktree_git_folders(git.parent):
            return worktree.common
        return git.parent / read_small_text(git).removeprefix("gitdir:").strip()

    def _references(self, git_place: str) -> References:
        """Return the references of a repository; none if git fails."""
        try:
            git = find_program("git", self._folder)
            completed = subprocess.run(
                plumbing_command(git, self._git_folder(git_place), "show-ref", "--head"),
                env=plumbing_environment(),
                cwd="/",
                capture_output=True,
                text=True,
                errors="surrogateescape",
                check=False,
                timeout=SECONDS,
            )
        except (OSError, subprocess.SubprocessError):
            return {}
        fields = (line.partition(" ") for line in completed.stdout.splitlines())
        return {name: object_name for object_name, _, name in fields}

    def _read(self) -> _Record:
        """Return the stored record; an empty one if it is missing or damaged."""
        try:
            stored = json.loads(self._path.read_text("utf-8", "surrogatepass"))
            return _Record(
                repositories={name: _Repository(**fields) for name, fields in stored["repositories"].items()},
                untracked=frozenset(stored.get("untracked", ())),
                interrupted=stored["interrupted"],
            )
        except (OSError, ValueError, TypeError, KeyError):
            return _Record()

    def _write(self, record: _Record) -> None:
        """Store a record. If that fails, the next run trusts the references as it finds them."""
        stored = asdict(record) | {"untracked": sorted(record.untracked)}
        temporary = self._path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            temporary.touch(mode=0o600)
            temporary.write_text(json.dumps(stored), "utf-8", "surrogatepass")
            temporary.replace(self._path)


def _worktree_of(git_place: str) -> str:
    """Return the folder that contains a `.git` path, with a slash at its end; "" for the top of the workspace."""
    return git_place.rpartition(".git")[0]


def _place_of(path: str, git_places: Iterable[str]) -> str | None:
    """Return the `.git` path of the innermost repository that contains a path; None if there is none."""
    return max((name for name in git_places if path.startswith(_worktree_of(name))), key=len, default=None)


def _outermost(git_places: Iterable[str]) -> list[str]:
    return sorted(git_places, key=lambda name: (name.count("/"), name))[:MAX_REPOSITORIES]


class _ObjectReader:
    """Reads objects of a repository through `git cat-file`, and verifies the hash of each."""

    def __init__(self, git: str, git_folder: Path, deadline: float) -> None:
        command = plumbing_command(git, git_folder, "cat-file", "--batch")
        self._process = subprocess.Popen(
            command,
            env=plumbing_environment(),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._timer = threading.Timer(max(deadline - time.monotonic(), 0), self._process.kill)  # git blocks on a FIFO
        self._timer.daemon = True
        self._timer.start()
        self._trees: dict[str, dict[bytes, _TreeEntry]] = {}

    def __enter__(self) -> "_ObjectReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        with self._process:
            pass

    def commit(self, name: str) -> _Commit:
        """Return a commit or tag; an empty commit for any other object."""
        kind, body = self._read(name)
        header = body.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
        values_by_key: dict[str, list[str]] = {}
        for line in header:
            key, _, value = line.partition(" ")
            values_by_key.setdefault(key, []).append(value)
        if kind == "tag":
            return _Commit(tree="", parents=values_by_key.get("object", []))
        if kind != "commit":
            return _Commit(tree="", parents=[])
        return _Commit(tree=values_by_key.get("tree", [""])[0], parents=values_by_key.get("parent", []))

    def contains(self, tree: str, path: str, file: FileVersion) -> bool:
        """Return whether a tree contains exactly this file at the path."""
        *folders, leaf = os.fsencode(path).split(b"/")
        for part in folders:
            mode, tree = self._tree(tree).get(part, _NO_ENTRY)
            if mode != _FOLDER_MODE:
                return False
        mode, object_name = self._tree(tree).get(leaf, _NO_ENTRY)
        bodies = {file.body, file.body.replace(b"\r\n", b"\n")}  # git may have converted line endings
        return mode == file.git_mode and any(_hash("blob", body, len(object_name)) == object_name for body in bodies)

    def _tree(self, name: str) -> dict[bytes, _TreeEntry]:
        """Return the entries of a tree, by name; nothing for another object."""
        if name not in self._trees:
            kind, body = self._read(name)
            self._trees[name] = _parse_tree(body, hash_size=len(name) // 2) if kind == "tree" else {}
        return self._trees[name]

    def _read(self, name: str) -> _GitObject:
        """Return an object; raise ValueError if its contents do not have this hash."""
        requests, responses = self._process.stdin, self._process.stdout
        assert requests and responses
        requests.write(f"{name}\n".encode())
        requests.flush()
        header = responses.readline().decode().split()
        if len(header) != 3:
            return _GitObject("missing", b"")
        _, kind, size = header
        body = _read_exactly(responses, int(size) + 1).removesuffix(b"\n")
        if _hash(kind, body, len(name)) != name:
            raise ValueError(name)
        return _GitObject(kind, body)


def _parse_tree(body: bytes, hash_size: int) -> dict[bytes, _TreeEntry]:
    """Return the entries of a tree object by name; `hash_size` is the length of an object's hash in bytes."""
    entries: dict[bytes, _TreeEntry] = {}
    offset = 0
    while offset < len(body):
        mode, _, remainder = body[offset : offset + _MAX_ENTRY].partition(b" ")
        name = remainder.partition(b"\0")[0]
        offset += len(mode) + len(name) + 2
        entries[name] = _TreeEntry(mode, body[offset : offset + hash_size].hex())
        offset += hash_size
    return entries


def _is_ancestor(commit: str, tips: Iterable[str], objects: _ObjectReader, deadline: float) -> bool:
    """Return whether a commit is one of `tips` or an ancestor of one, searching until the deadline or `MAX_COMMITS`."""
    waiting = deque(tips)
    seen = set(waiting)
    while commit and waiting and time.monotonic() < deadline and len(seen) < MAX_COMMITS:
        if commit in seen:
            return True
        parents = [parent for parent in objects.commit(waiting.popleft()).parents if parent not in seen]
        waiting.extend(parents)
        seen.update(parents)
    return commit in seen


def _read_exactly(file: IO[bytes], size: int) -> bytes:
    """Read `size` bytes; raise ValueError if there are fewer."""
    body = file.read(size)
    if len(body) < size:
        raise ValueError("git ended")
    return body


def _hash(kind: str, body: bytes, length: int) -> str:
    """Return the hash of an object: SHA-256 if `length` is 64 hexadecimal digits, otherwise SHA-1."""
    data = f"{kind} {len(body)}\0".encode() + body
    return hashlib.sha256(data).hexdigest() if length == 64 else hashlib.sha1(data, usedforsecurity=False).hexdigest()
