"""The installed packages: their files in the folder `packages` of the data folder, and the index (`packages.json`).

A package is used only while its files are exactly those that the user trusted. The index has their digest.
"""

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from core.domain.problems import Problem
from core.domain.skill import SkillFile
from core.skills.skill_contents import SkillContents
from core.skills.skill_disk import blob_name, files_digest
from core.store.files import make_private, replace_atomically

PACKAGES_FOLDER: Final = "packages"
INDEX_FILE: Final = "packages.json"
PackageState = Literal["trusted", "untrusted", "changed", "missing"]
"""*untrusted*: the user has not trusted the package yet. *changed*: its files differ from those that the user trusted.
*missing*: its files are missing or damaged."""
NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_NAME: Final = 40


class _FileStamp(NamedTuple):
    """A file of a package, with the times and the inode that change when the file does."""

    path: str
    size: int
    is_executable: bool
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """What the index records about a package.

    Attributes:
        source: the folder or git address that it was installed from.
        ref: the branch, tag or commit that the user asked for; "" for the default branch.
        path: the folder in the source that has the files of the package; "" for the whole source.
        commit: the git commit that it was installed from; "" if the source is a folder.
        trusted: the digest of the files that the user trusted; "" if the user has not trusted the package.
        trusted_files: the paths of these files, with the digest of each.
        has_hooks: whether these files included hooks.
    """

    name: str
    source: str
    ref: str = ""
    path: str = ""
    commit: str = ""
    trusted: str = ""
    trusted_files: Mapping[str, str] = field(default_factory=dict)
    has_hooks: bool = False

    def state(self, digest: str) -> PackageState:
        """Return the package's state. `digest` is the present digest of its files; "" if they cannot be read."""
        if not digest:
            return "missing"
        if not self.trusted:
            return "untrusted"
        return "trusted" if self.trusted == digest else "changed"


class PackageIndex:
    """Reads and changes the index and the files of the packages. Every method reads them again from the disk."""

    def __init__(self, data: Path, *, frozen: bool = False) -> None:
        self._data = data
        self._frozen = frozen

    def packages(self) -> tuple[InstalledPackage, ...]:
        """Return all packages in the index, which is in order of their names. Raise Problem if it cannot be read."""
        path = self._data / INDEX_FILE
        try:
            entries = json.loads(path.read_bytes())["packages"]
            for entry in entries:
                entry.pop("digest", None)  # Earlier versions wrote it.
            return tuple(InstalledPackage(**entry) for entry in entries)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise Problem(
                "Your packages cannot be read.", f"{path}: {error}.", "Correct or remove the file."
            ) from error

    def find(self, name: str) -> InstalledPackage:
        """Return what the index records about a package. Raise Problem if there is no package with this name."""
        package = next((package for package in self.packages() if package.name == name), None)
        if package is None:
            raise Problem(f"There is no package {name!r}.", "", "List them with `journeyman packages`.")
        return package

    def folder(self, name: str) -> Path:
        """Return the folder with the files of a package."""
        if not NAME.fullmatch(name):  # The name may come from the index, a file that anyone could have edited.
            raise Problem(f"{name!r} is not a valid name of a package.", "", "Correct the file packages.json.")
        return self._data / PACKAGES_FOLDER / name

    def digest(self, name: str) -> str:
        """Return the present digest of a package's files; "" if they cannot be read."""
        return folder_digest(self.folder(name))

    def state(self, package: InstalledPackage) -> PackageState:
        return package.state(self.digest(package.name))

    def is_trusted(self, name: str) -> bool:
        """Return whether a package's files are exactly those that the user trusted."""
        with suppress(Problem):
            return self.state(self.find(name)) == "trusted"
        return False

    def trusted_folders(self) -> dict[str, Path]:
        """Return the folders of the packages that may be used, by package name; empty if the index cannot be read."""
        with suppress(Problem):
            trusted = [package.name for package in self.packages() if self.state(package) == "trusted"]
            return {name: self.folder(name) for name in trusted}
        return {}

    def file_digests(self, name: str) -> dict[str, str]:
        """Return the paths of a package's files, with the present digest of each; empty if they cannot be read."""
        root = self.folder(name)
        with suppress(OSError, ValueError):
            return {stamp.path: blob_name((root / stamp.path).read_bytes()) for stamp in _stamps(root)}
        return {}

    def put(self, package: InstalledPackage) -> None:
        """Add a package to the index, or replace the one with the same name."""
        others = [other for other in self.packages() if other.name != package.name]
        self._write([*others, package])

    def remove(self, name: str) -> None:
        """Remove a package from the index, and delete its files."""
        self._write([other for other in self.packages() if other.name != name])
        delete_folder(self.folder(name))

    def write_files(self, name: str, files: SkillContents) -> str:
        """Replace the files of a package and return their digest. The new files and their folders are read-only."""
        self.refuse_frozen()
        root = self.folder(name)
        new = root.with_name(f".new-{name}")
        old = root.with_name(f".old-{name}")
        try:
            make_private(root.parent)
            for leftover in (new, old):
                delete_folder(leftover)
            _write_folder(new, files)
            if root.exists():
                root.chmod(0o755)  # Some systems do not rename a read-only folder.
                root.rename(old)
            new.rename(root)
            root.chmod(0o555)
            delete_folder(old)
        except OSError as error:
            raise Problem(
                "The package could not be saved.", f"{root}: {error.strerror}.", "Free some space."
            ) from error
        return folder_digest(root)

    def refuse_frozen(self) -> None:
        if self._frozen:
            raise Problem("The packages cannot be changed.", "The data folder is open read-only.", "")

    def _write(self, packages: list[InstalledPackage]) -> None:
        self.refuse_frozen()
        entries = [asdict(package) for package in sorted(packages, key=lambda package: package.name)]
        path = self._data / INDEX_FILE
        try:
            with replace_atomically(path) as part:
                part.write_text(json.dumps({"packages": entries}, indent=2, ensure_ascii=False), "utf-8")
        except OSError as error:
            raise Problem(
                "The packages could not be saved.", f"{path}: {error.strerror}.", "Free some space."
            ) from error


def folder_digest(root: Path) -> str:
    """Return one digest of all files in a folder, or "" if it is missing or contains anything but files and folders.

    A file is not read again unless its status (size, times, inode) has changed.
    """
    try:
        return _digest(root, tuple(_stamps(root)))
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=100)
def _digest(root: Path, stamps: tuple[_FileStamp, ...]) -> str:
    """Return the digest of the files in a folder. `stamps` are its present files."""
    files = [
        SkillFile(stamp.path, blob_name((root / stamp.path).read_bytes()), stamp.size, stamp.is_executable)
        for stamp in stamps
    ]
    return files_digest(tuple(files))


def _stamps(root: Path, prefix: str = "") -> Iterator[_FileStamp]:
    """Yield the files in a folder, ordered by name. `prefix` is put before their paths.

    Raise ValueError if the folder contains anything but files and folders.
    """
    with os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = prefix + entry.name
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                yield from _stamps(root / entry.name, f"{path}/")
            elif stat.S_ISREG(status.st_mode):
                yield _FileStamp(
                    path=path,
                    size=status.st_size,
                    is_executable=bool(status.st_mode & 0o100),
                    mtime_ns=status.st_mtime_ns,
                    ctime_ns=status.st_ctime_ns,
                    inode=status.st_ino,
                )
            else:
                raise ValueError(path)


def _write_folder(root: Path, files: SkillContents) -> None:
    """Write read-only files into a new folder, so that no program changes them or adds files by accident."""
    for path, (body, is_executable) in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
        file.chmod(0o555 if is_executable else 0o444)
    for folder, _, _ in os.walk(root, topdown=False):
        if Path(folder) != root:  # `root` becomes read-only later, after it was renamed.
            Path(folder).chmod(0o555)


def delete_folder(root: Path) -> None:
    """Delete a folder, even if its files are read-only. Do nothing if it does not exist."""
    if not root.exists():
        return
    for folder, _, files in os.walk(root):
        Path(folder).chmod(0o755)
        for file in (Path(folder) / name for name in files):
            if not file.is_symlink():
                file.chmod(0o644)  # Windows does not delete read-only files.
    shutil.rmtree(root)
