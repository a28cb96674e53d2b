"""Reads skills from an untrusted zip file or folder. Every name, size and link is checked."""

import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from core.domain.problems import Problem
from core.domain.skill import SKILL_FILE
from core.workspace.broker import FileBroker

MAX_FILES: Final = 2_000
MAX_FILE_BYTES: Final = 10 << 20
MAX_TOTAL_BYTES: Final = 100 << 20
MAX_RATIO: Final = 100
RATIO_FREE_BYTES: Final = 64 << 10  # entries up to this size may be compressed to any ratio
MAX_DEPTH: Final = 12
MAX_ENTRIES: Final = 50_000
IGNORED_NAMES: Final = frozenset({".git", "node_modules", "__pycache__", "__MACOSX", ".DS_Store", "Thumbs.db"})
DEVICE_NAMES: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
OTHER_FORMATS: Final = (
    (b"SQLite format 3\0", "a database"),
    (b"\x1f\x8b", "a gzip or tar file"),
    (b"7z\xbc\xaf", "a 7z file"),
    (b"Rar!", "a rar file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
)


@dataclass(frozen=True, slots=True)
class PackedSkill:
    """A skill in an archive: its folder name and its files.

    If it cannot be imported, `files` is empty and `error` says why.
    """

    folder: str
    files: Mapping[str, bytes]
    executable: frozenset[str] = field(default_factory=frozenset)
    error: Problem | None = None


def read_skills(path: Path) -> list[PackedSkill]:
    """Return the skills in a zip file or folder, or the one of a SKILL.md file. Raise Problem if it cannot be read."""
    if path.is_dir():
        skills = _read_folder(path)
    elif path.exists() and not path.is_file():  # for example a pipe, which could block forever
        raise Problem(f"{path.name} is not a regular file.", "", "Choose a folder or a zip file.")
    elif path.name.lower() == SKILL_FILE.lower():
        skills = _split({SKILL_FILE: _read_small_file(path)}, frozenset(), path.resolve().parent.name)
    else:
        skills = _split(*_read_zip(path), path.stem)
    if not skills:
        raise Problem(
            f"There is no skill in {path.name}.", f"No folder in it contains a {SKILL_FILE}.", "Choose another."
        )
    if skills[0].error and all(skill.error for skill in skills):
        raise skills[0].error
    return skills


def _split(bodies: Mapping[str, bytes], executables: frozenset[str], name: str) -> list[PackedSkill]:
    """Split files into skills, one for each SKILL.md. `name` is for a skill that is not in a folder of its own."""
    skills = []
    for root in _roots(bodies):
        inner = {path[len(root) :]: body for path, body in bodies.items() if path.startswith(root)}
        executable = frozenset(path[len(root) :] for path in executables if path.startswith(root))
        skills.append(PackedSkill(_folder_name(root) or name, inner, executable))
    return skills


def _roots(paths: Iterable[str]) -> list[str]:
    """Return the folders that contain a SKILL.md, except folders inside another skill."""
    roots = sorted(path[: -len(SKILL_FILE)] for path in paths if path == SKILL_FILE or path.endswith(f"/{SKILL_FILE}"))
    return [root for root in roots if not any(other != root and root.startswith(other) for other in roots)]


def _folder_name(root: str) -> str:
    return root.rstrip("/").rpartition("/")[2]


def _read_folder(path: Path) -> list[PackedSkill]:
    """Return the skills in a folder, read without following links.

    One that cannot be read is returned with its error.
    """
    skills: list[PackedSkill] = []
    count = total = 0
    try:
        with FileBroker(path) as broker:
            entries = list(islice(walk_files(broker, "."), MAX_ENTRIES))
            for root in _roots(name for name, _ in entries):
                inner = [(name, kind) for name, kind in entries if name.startswith(root)]
                skill = _read_skill(broker, root, inner, count, total)
                skills.append(skill if skill.folder else replace(skill, folder=path.stem))
                count, total = count + len(skill.files), total + sum(map(len, skill.files.values()))
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror}.", "Choose another folder.") from error
    return skills


def _read_skill(broker: FileBroker, root: str, names: Iterable[tuple[str, str]], count: int, total: int) -> PackedSkill:
    """Read the skill in the folder `root`.

    The limits also count the `count` files of `total` bytes that were read before.
    """
    bodies: dict[str, bytes] = {}
    executables = set()
    try:
        for name, kind in names:
            if kind != "file":
                refuse_link(name)
            check_file_name(name)
            inner = name[len(root) :]
            bodies[inner] = broker.read(name, MAX_FILE_BYTES)
            if broker.mode(name) & 0o100:
                executables.add(inner)
            total += len(bodies[inner])
            _check_amount(count + len(bodies), total)
    except Problem as problem:
        return PackedSkill(_folder_name(root), {}, error=problem)
    except OSError as error:
        failure = Problem(f"{name} cannot be read.", f"{error.strerror}.", "")
        return PackedSkill(_folder_name(root), {}, error=failure)
    return PackedSkill(_folder_name(root), bodies, frozenset(executables))


def walk_files(broker: FileBroker, folder: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the path and kind of everything below a folder, except folders and IGNORED_NAMES."""
    for name, kind in broker.entries(folder) if depth < MAX_DEPTH else []:
        path = name if folder == "." else f"{folder}/{name}"
        if name in IGNORED_NAMES:
            continue
        if kind == "folder":
            yield from walk_files(broker, path, depth + 1)
        else:
            yield path, kind


def refuse_link(path: str) -> None:
    raise Problem(
        f"{path} is not a regular file.", "A skill may contain only files and folders, no links.", "Remove it."
    )


def _read_small_file(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _too_much(f"{path.name} has more than {MAX_FILE_BYTES >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror}.", "") from error


def _read_zip(path: Path) -> tuple[dict[str, bytes], frozenset[str]]:
    try:
        with path.open("rb") as file:
            start = file.read(265)
            for magic, description in OTHER_FORMATS:
                if start.startswith(magic):
                    raise _no_zip(path, f"It is {description}.")
            if start[257:262] == b"ustar":
                raise _no_zip(path, "It is a tar file.")
            if not start.startswith(b"PK"):
                raise _no_zip(path, "It does not start like one.")
            with zipfile.ZipFile(file) as archive:
                return _entries(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise Problem(
            f"{path.name} is damaged.", f"{error}.", "Download it again, or unpack it and choose the folder."
        ) from error
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror or error}.", "") from error


def _entries(archive: zipfile.ZipFile) -> tuple[dict[str, bytes], frozenset[str]]:
    entries = archive.infolist()
    if len(entries) > MAX_FILES * 2:
        raise _too_much(f"It has {len(entries):,} entries")
    names: dict[str, str] = {}
    for entry in entries:
        _check_entry(entry, names)
    _check_overlap(entries)
    bodies: dict[str, bytes] = {}
    total = 0
    for entry in entries:
        if entry.is_dir() or any(part in IGNORED_NAMES for part in entry.filename.split("/")):
            continue
        bodies[entry.filename] = body = _inflated(archive, entry)
        total += len(body)
        _check_amount(len(bodies), total)
    executables = frozenset(
        entry.filename for entry in entries if (entry.external_attr >> 16) & 0o100 and not entry.is_dir()
    )
    return bodies, executables


def _check_entry(entry: zipfile.ZipInfo, names: dict[str, str]) -> None:
    if entry.orig_filename != entry.filename:  # Python changes a name with NUL or a foreign separator
        raise _bad_name(entry.orig_filename)
    check_file_name(entry.filename.rstrip("/"))
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Problem(
            f"{_display_name(entry.filename)} is a link or a device.",
            "A skill may contain only regular files.",
            "Remove it.",
        )
    if entry.flag_bits & 0x1:
        raise Problem(f"{_display_name(entry.filename)} is encrypted.", "", "Unpack it and choose the folder.")
    plain = unicodedata.normalize("NFC", entry.filename.rstrip("/")).casefold()
    if plain in names and not (entry.is_dir() and names[plain] == entry.filename):
        message = f"{_display_name(entry.filename)} is a duplicate entry."
        raise Problem(message, "It is unclear which of the two is meant.", "Remove one of them.")
    names[plain] = entry.filename


def check_file_name(name: str) -> None:
    """Raise Problem unless the file name stays inside the skill and is valid on every operating system."""
    parts = name.split("/")
    bad = (
        not name
        or "\\" in name
        or ":" in name
        or len(name) > 400
        or len(parts) > MAX_DEPTH
        or any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in name)
        or any(part in ("", ".", "..") or part != part.rstrip(" .") or DEVICE_NAMES.fullmatch(part) for part in parts)
        or any(len(part.encode("utf-8", "replace")) > 255 for part in parts)
    )
    if bad:
        raise _bad_name(name)


def check_no_file_is_folder(paths: Iterable[str]) -> None:
    """Raise Problem if one of the files of a skill is in a folder that has the path of another."""
    names = set(paths)
    for path in sorted(names):
        if file := next((str(folder) for folder in PurePosixPath(path).parents if str(folder) in names), ""):
            raise Problem(f"{path!r} is not possible next to {file!r}.", "A file is not a folder.", "Rename it.")


def _check_overlap(entries: list[zipfile.ZipInfo]) -> None:
    """Raise Problem if entries of a zip file overlap. In a zip bomb, many large files share the same bytes."""
    end = 0
    for entry in sorted(entries, key=lambda info: info.header_offset):
        if entry.header_offset < end:
            raise Problem("Two entries of the zip file overlap.", "It may be a zip bomb.", "")
        end = entry.header_offset + 30 + len(entry.filename.encode()) + entry.compress_size


def _inflated(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the contents of an entry.

    The limit is checked while reading, because the size in the archive may be wrong.
    """
    limit = min(MAX_FILE_BYTES, max(RATIO_FREE_BYTES, entry.compress_size * MAX_RATIO))
    chunks, size = [], 0
    with archive.open(entry) as file:
        while chunk := file.read(min(1 << 16, limit + 1 - size)):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise _too_much(f"{_display_name(entry.filename)} has more than {limit:,} bytes")
    return b"".join(chunks)


def _check_amount(count: int, total: int) -> None:
    if count > MAX_FILES:
        raise _too_much(f"It has more than {MAX_FILES:,} files")
    if total > MAX_TOTAL_BYTES:
        raise _too_much(f"It has more than {MAX_TOTAL_BYTES >> 20} MB")


def _too_much(why: str) -> Problem:
    return Problem("This is too large for a skill.", f"{why}.", "Remove what is not needed.")


def _bad_name(name: str) -> Problem:
    why = "It leads outside of the skill, or is not valid on every operating system."
    return Problem(f"{_display_name(name)} is not a valid file name in a skill.", why, "Rename it.")


def _no_zip(path: Path, why: str) -> Problem:
    return Problem(f"{path.name} is not a zip file.", why, "Unpack it and choose the folder.")


def _display_name(name: str) -> str:
    return ascii(name[:80])
