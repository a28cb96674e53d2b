"""Reads the files of a package from a folder or from a git address.

From a git address, only the files of one commit are read, as they are stored. Nothing is checked out, so that no hook,
filter, template or submodule of the repository can run or add anything.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from core.domain.problems import Problem
from core.skills.skill_archive import (
    IGNORED_NAMES,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TOTAL_BYTES,
    check_file_name,
    walk_files,
)
from core.skills.skill_contents import SkillContents
from core.workspace.broker import FileBroker
from core.workspace.git_commands import NETWORK_TIMEOUT_S, REMOTE_URL, git_environment, git_problem
from core.workspace.program_search import find_program

UNENCRYPTED: Final = re.compile(r"(http|git)://")
GIT_SETTINGS: Final = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
GIT_OPTIONS: Final = tuple(option for setting in GIT_SETTINGS for option in ("-c", setting))
LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
TREE_ENTRY: Final = re.compile(r"(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t(.*)", re.DOTALL)
NOT_A_FILE: Final = {"120000": "a link", "160000": "a submodule"}


@dataclass(frozen=True, slots=True)
class FetchedPackage:
    """The files of a package, and the git commit that they come from; "" if they come from a folder."""

    files: SkillContents
    commit: str = ""


@dataclass(frozen=True, slots=True)
class _TreeFile:
    path: str
    object_name: str
    is_executable: bool


def is_git_address(source: str) -> bool:
    return bool(REMOTE_URL.match(source)) or source.startswith("file://")


def fetch_package(source: str, ref: str = "", path: str = "") -> FetchedPackage:
    """Return the files in the folder `path` of a source, which is a folder or a git address.

    `ref` is a branch, tag or commit of a git address. Raise Problem if the source cannot be read, or if it contains
    something that is not allowed in a package.
    """
    subfolder = path.strip("/")
    if subfolder:
        _check_name(subfolder)
    if is_git_address(source):
        fetched = _fetch_commit(source, ref, subfolder)
    elif ref:
        raise Problem("A folder has no branches, tags or commits.", "", "Leave out --ref, or name a git address.")
    else:
        fetched = FetchedPackage(_read_folder(Path(source) / subfolder))
    if not fetched.files:
        raise Problem("The package is empty.", f"There are no files in {path or source}.", "Check the address.")
    return fetched


def _read_folder(folder: Path) -> SkillContents:
    files: SkillContents = {}
    total = 0
    try:
        with FileBroker(folder) as broker:
            for path, kind in islice(walk_files(broker, "."), MAX_ENTRIES):
                if kind != "file":
                    raise _not_a_file(path, "a link")
                _check_name(path)
                body = broker.read(path, MAX_FILE_BYTES, allow_secrets=False)
                files[path] = body, bool(broker.mode(path) & 0o100)
                total += len(body)
                _check_amount(len(files), total)
    except OSError as error:
        raise Problem(f"{folder} cannot be read.", f"{error.strerror}.", "Choose another folder.") from error
    return files


def _fetch_commit(source: str, ref: str, path: str) -> FetchedPackage:
    if UNENCRYPTED.match(source):
        cause = "Others on the network could change what is downloaded."
        raise Problem(f"{source} is not encrypted.", cause, "Use an https or ssh address.")
    if not find_program("git"):
        raise Problem("Git is not installed.", "", "Install git, or download the package and add its folder.")
    if ref.startswith("-"):
        raise Problem(f"{ref!r} is not a branch, tag or commit.", "", "Check --ref.")
    with tempfile.TemporaryDirectory(prefix="journeyman-package-") as temporary:
        folder = Path(temporary)
        _git(folder, "init", "--quiet", "--bare", "--template=", ".")
        fetch = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules")
        _git(folder, *fetch, "--", source, ref or "HEAD")
        commit = _git(folder, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        if COMMIT.fullmatch(ref) and ref != commit:
            raise Problem(f"{source} returned another commit.", f"It is {commit}.", "Do not use this address.")
        list_tree = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit]
        prefix = f"{path}/" if path else ""
        if prefix:
            list_tree.append(prefix)
        files = list(_tree_files(_git(folder, *list_tree), prefix))
        return FetchedPackage(_read_contents(folder, files), commit)


def _tree_files(listed: bytes, prefix: str) -> Iterator[_TreeFile]:
    """Yield the files in `listed`, the output of `git ls-tree`, with paths relative to the folder `prefix`."""
    count = total = 0
    for line in listed.decode("utf-8", "surrogateescape").split("\0"):
        if not (match := TREE_ENTRY.fullmatch(line)):
            continue
        mode, _, object_name, size, full_path = match.groups()
        path = full_path.removeprefix(prefix)
        if any(part in IGNORED_NAMES for part in path.split("/")):
            continue
        if kind := NOT_A_FILE.get(mode):
            raise _not_a_file(path, kind)
        _check_name(path)
        count += 1
        total += int(size)
        if int(size) > MAX_FILE_BYTES:
            raise _too_large(f"{path!a} has more than {MAX_FILE_BYTES >> 20} MB")
        _check_amount(count, total)
        yield _TreeFile(path, object_name, is_executable=mode == "100755")


def _read_contents(folder: Path, files: list[_TreeFile]) -> SkillContents:
    """Return the contents of files from the git repository in `folder`, without the conversions of a checkout."""
    names = "".join(f"{file.object_name}\n" for file in files).encode()
    output = _git(folder, "cat-file", "--batch", input_bytes=names)
    contents: SkillContents = {}
    offset = 0
    for file in files:
        # The content comes after a line with the name, type and size of the object.
        start = output.index(b"\n", offset) + 1
        size = int(output[offset:start].split()[-1])
        body = output[start : start + size]
        offset = start + size + 1
        if body.startswith(LFS_POINTER):
            raise _not_a_file(file.path, "kept in Git LFS")
        contents[file.path] = body, file.is_executable
    return contents


def _git(folder: Path, *arguments: str, input_bytes: bytes = b"") -> bytes:
    command = [find_program("git"), *GIT_OPTIONS, *arguments]
    try:
        completed = subprocess.run(
            command,
            cwd=folder,
            env=git_environment(),
            input=input_bytes,
            capture_output=True,
            check=False,
            timeout=NETWORK_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        cause = f"It took more than {NETWORK_TIMEOUT_S} s."
        raise Problem("The package could not be downloaded.", cause, "Check the network connection.") from None
    except OSError as error:
        raise Problem("Git could not be started.", f"{error.strerror}.", "") from error
    if completed.returncode:
        raise git_problem(arguments[0], completed.stderr.decode("utf-8", "replace"))
    return completed.stdout


def _check_name(path: str) -> None:
    try:
        check_file_name(path)
    except Problem:
        cause = "It leads outside of the package, or is not valid on every operating system."
        fix = "Ask its developer to rename it."
        raise Problem(f"{path[:80]!a} is not a valid file name in a package.", cause, fix) from None


def _check_amount(count: int, total: int) -> None:
    if count > MAX_FILES:
        raise _too_large(f"It has more than {MAX_FILES:,} files")
    if total > MAX_TOTAL_BYTES:
        raise _too_large(f"It has more than {MAX_TOTAL_BYTES >> 20} MB")


def _too_large(cause: str) -> Problem:
    return Problem("This is too large for a package.", f"{cause}.", "Name the folder of the package with --path.")


def _not_a_file(path: str, kind: str) -> Problem:
    cause = "A package contains only files and folders, so that what you trust is what is used."
    return Problem(f"{path[:80]!a} is {kind}.", cause, "Ask its developer for a package without it.")
