"""Skills in a zip file or in a folder, taken in without trusting a single name or figure in them."""

import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final

from core.domain.problems import Problem
from core.domain.skill import MAIN
from core.workspace.broker import Broker

FILES: Final = 2_000
FILE_SIZE: Final = 10 << 20
TOTAL: Final = 100 << 20
RATIO: Final = 100
SMALL: Final = 64 << 10  # below this a high ratio says nothing
DEPTH: Final = 12
LOOKED_AT: Final = 50_000
SKIPPED: Final = frozenset({".git", "node_modules", "__pycache__", "__MACOSX", ".DS_Store", "Thumbs.db"})
DEVICES: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
FOREIGN: Final = (
    (b"SQLite format 3\0", "a database"),
    (b"\x1f\x8b", "a gzip or tar file"),
    (b"7z\xbc\xaf", "a 7z file"),
    (b"Rar!", "a rar file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
)


@dataclass(frozen=True, slots=True)
class Packed:
    """The files of a skill, under the name of its folder; none where it cannot be taken in, for its `trouble`."""

    folder: str
    files: Mapping[str, bytes]
    executable: frozenset[str] = field(default_factory=frozenset)
    trouble: Problem | None = None


def unpacked(path: Path) -> list[Packed]:
    """Every skill in a zip file or a folder; a SKILL.md by itself is one too. Problem where none can be taken in."""
    if path.is_dir():
        found = _of_folder(path)
    elif path.exists() and not path.is_file():  # a pipe may never be written to
        raise Problem(f"{path.name} is no ordinary file.", "", "Choose a folder or a zip file.")
    elif path.name.lower() == MAIN.lower():
        found = _parted({MAIN: _small(path)}, frozenset(), path.resolve().parent.name)
    else:
        found = _parted(*_of_zip(path), path.stem)
    if not found:
        raise Problem(f"There is no skill in {path.name}.", f"No folder in it holds a {MAIN}.", "Choose another.")
    if found[0].trouble and all(one.trouble for one in found):
        raise found[0].trouble
    return found


def _parted(bodies: Mapping[str, bytes], runs: frozenset[str], name: str) -> list[Packed]:
    """The files under each SKILL.md."""
    found = []
    for root in _roots(bodies):
        inner = {path[len(root) :]: body for path, body in bodies.items() if path.startswith(root)}
        executable = frozenset(path[len(root) :] for path in runs if path.startswith(root))
        found.append(Packed(_last(root) or name, inner, executable))
    return found


def _roots(paths: Iterable[str]) -> list[str]:
    """Where a SKILL.md lies; one that lies under another belongs to that."""
    roots = sorted(path[: -len(MAIN)] for path in paths if path == MAIN or path.endswith(f"/{MAIN}"))
    return [root for root in roots if not any(other != root and root.startswith(other) for other in roots)]


def _last(root: str) -> str:
    return root.rstrip("/").rpartition("/")[2]


def _of_folder(path: Path) -> list[Packed]:
    """As tools read: no link leads out, and nothing but ordinary files is opened. A bad one keeps no other out."""
    found: list[Packed] = []
    count = total = 0
    try:
        with Broker(path) as broker:
            there = list(islice(beneath(broker, "."), LOOKED_AT))
            for root in _roots(name for name, _ in there):
                inner = [(name, kind) for name, kind in there if name.startswith(root)]
                one = _one_of(broker, root, inner, count, total)
                found.append(one if one.folder else replace(one, folder=path.stem))
                count, total = count + len(one.files), total + sum(map(len, one.files.values()))
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror}.", "Choose another folder.") from error
    return found


def _one_of(broker: Broker, root: str, names: Iterable[tuple[str, str]], count: int, total: int) -> Packed:
    """The skill there; `count` files of `total` bytes were read before it."""
    bodies: dict[str, bytes] = {}
    runs = set()
    try:
        for name, kind in names:
            if kind != "file":
                refuse_link(name)
            check_name(name)
            inner = name[len(root) :]
            bodies[inner] = broker.read(name, FILE_SIZE)
            if broker.mode(name) & 0o100:
                runs.add(inner)
            total += len(bodies[inner])
            _check_amount(count + len(bodies), total)
    except Problem as problem:
        return Packed(_last(root), {}, trouble=problem)
    except OSError as error:
        trouble = Problem(f"{name} cannot be read.", f"{error.strerror}.", "")
        return Packed(_last(root), {}, trouble=trouble)
    return Packed(_last(root), bodies, frozenset(runs))


def beneath(broker: Broker, folder: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Everything under a folder that is no folder itself, with its kind."""
    for name, kind in broker.entries(folder) if depth < DEPTH else []:
        path = name if folder == "." else f"{folder}/{name}"
        if name in SKIPPED:
            continue
        if kind == "folder":
            yield from beneath(broker, path, depth + 1)
        else:
            yield path, kind


def refuse_link(path: str) -> None:
    raise Problem(f"{path} is no ordinary file.", "A skill holds files and folders, no links.", "Remove it.")


def _small(path: Path) -> bytes:
    try:
        if path.stat().st_size > FILE_SIZE:
            raise _too_much(f"{path.name} has more than {FILE_SIZE >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror}.", "") from error


def _of_zip(path: Path) -> tuple[dict[str, bytes], frozenset[str]]:
    try:
        with path.open("rb") as file:
            start = file.read(265)
            for sign, what in FOREIGN:
                if start.startswith(sign):
                    raise _no_zip(path, f"It is {what}.")
            if start[257:262] == b"ustar":
                raise _no_zip(path, "It is a tar file.")
            if not start.startswith(b"PK"):
                raise _no_zip(path, "It does not begin as one.")
            with zipfile.ZipFile(file) as packed:
                return _entries(packed)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise Problem(
            f"{path.name} is damaged.", f"{error}.", "Get it again, or unpack it and choose the folder."
        ) from error
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror or error}.", "") from error


def _entries(packed: zipfile.ZipFile) -> tuple[dict[str, bytes], frozenset[str]]:
    entries = packed.infolist()
    if len(entries) > FILES * 2:
        raise _too_much(f"It has {len(entries):,} entries")
    names: dict[str, str] = {}
    for entry in entries:
        _check_entry(entry, names)
    _check_overlap(entries)
    bodies: dict[str, bytes] = {}
    total = 0
    for entry in entries:
        if entry.is_dir() or any(part in SKIPPED for part in entry.filename.split("/")):
            continue
        bodies[entry.filename] = body = _inflated(packed, entry)
        total += len(body)
        _check_amount(len(bodies), total)
    runs = frozenset(entry.filename for entry in entries if (entry.external_attr >> 16) & 0o100 and not entry.is_dir())
    return bodies, runs


def _check_entry(entry: zipfile.ZipInfo, names: dict[str, str]) -> None:
    if entry.orig_filename != entry.filename:  # Python cuts at a NUL and turns separators round
        raise _bad_name(entry.orig_filename)
    check_name(entry.filename.rstrip("/"))
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Problem(f"{_shown(entry.filename)} is a link or a device.", "A skill holds plain files.", "Remove it.")
    if entry.flag_bits & 0x1:
        raise Problem(f"{_shown(entry.filename)} is encrypted.", "", "Unpack it and choose the folder.")
    plain = unicodedata.normalize("NFC", entry.filename.rstrip("/")).casefold()
    if plain in names and not (entry.is_dir() and names[plain] == entry.filename):
        what = f"{_shown(entry.filename)} is in it twice."
        raise Problem(what, "Which of the two is meant cannot be known.", "Remove one of them.")
    names[plain] = entry.filename


def check_name(name: str) -> None:
    """Of a file in a skill: one that stays where it is, on every system."""
    parts = name.split("/")
    bad = (
        not name
        or "\\" in name
        or ":" in name
        or len(name) > 400
        or len(parts) > DEPTH
        or any(unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for sign in name)
        or any(part in ("", ".", "..") or part != part.rstrip(" .") or DEVICES.fullmatch(part) for part in parts)
        or any(len(part.encode("utf-8", "replace")) > 255 for part in parts)
    )
    if bad:
        raise _bad_name(name)


def _check_overlap(entries: list[zipfile.ZipInfo]) -> None:
    """Two entries that share bytes: a small file that claims to be many large ones."""
    end = 0
    for entry in sorted(entries, key=lambda one: one.header_offset):
        if entry.header_offset < end:
            raise Problem("Two entries of the zip file share their contents.", "That is how a bomb is made.", "")
        end = entry.header_offset + 30 + len(entry.filename.encode()) + entry.compress_size


def _inflated(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The contents, counted while they come: what the entry says of its size is not believed."""
    most = min(FILE_SIZE, max(SMALL, entry.compress_size * RATIO))
    pieces, size = [], 0
    with packed.open(entry) as file:
        while piece := file.read(min(1 << 16, most + 1 - size)):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise _too_much(f"{_shown(entry.filename)} grows beyond {most:,} bytes")
    return b"".join(pieces)


def _check_amount(count: int, total: int) -> None:
    if count > FILES:
        raise _too_much(f"It has more than {FILES:,} files")
    if total > TOTAL:
        raise _too_much(f"It holds more than {TOTAL >> 20} MB")


def _too_much(why: str) -> Problem:
    return Problem("This is too large for a skill.", f"{why}.", "Take out what is not needed.")


def _bad_name(name: str) -> Problem:
    why = "It leads out of the skill, or not every system can have such a file."
    return Problem(f"{_shown(name)} is no name for a file of a skill.", why, "Rename it.")


def _no_zip(path: Path, why: str) -> Problem:
    return Problem(f"{path.name} is no zip file.", why, "Unpack it and choose the folder.")


def _shown(name: str) -> str:
    return ascii(name[:80])
