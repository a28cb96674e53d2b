"""Finds skills on disk: in the session's folder, in the user's home folder, and built into the program."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from importlib.abc import Traversable
from pathlib import Path
from typing import Final

from core.domain.problems import Problem
from core.domain.skill import SKILL_FILE, Skill, SkillFile, SkillSource
from core.skills.skill_archive import (
    IGNORED_NAMES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TOTAL_BYTES,
    check_file_name,
    refuse_link,
    walk_files,
)
from core.skills.skill_md import ParsedSkill, decode_text, parse_skill
from core.workspace.broker import FileBroker

BASES: Final = (".agents/skills", ".claude/skills")
MAX_LEVELS: Final = 4  # of subfolders below a base in which skills are found
MAX_FOLDERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class DiskSkill:
    """The state of a skill on disk. `skill_md` is the content of SKILL.md; `error` says why it cannot be read."""

    key: str
    source: SkillSource
    folder: Path
    files: tuple[SkillFile, ...] = ()
    skill_md: bytes = b""
    error: str = ""

    @property
    def digest(self) -> str:
        return files_digest(self.files)

    def parse(self) -> ParsedSkill:
        """Parse its SKILL.md."""
        text, more = decode_text(self.skill_md)
        parsed = parse_skill(text, [file.path for file in self.files], folder=self.folder.name)
        return ParsedSkill(parsed.skill, (*more, *parsed.findings))

    def name_of(self, skill: Skill | None) -> str:
        return skill.name if skill else self.folder.name


def files_digest(files: tuple[SkillFile, ...]) -> str:
    """Return one digest of all files: their paths, contents and executable flags."""
    lines = (f"{file.path}\0{file.digest}\0{int(file.executable)}\n" for file in sorted(files, key=lambda f: f.path))
    return sha256("".join(lines).encode("utf-8", "replace")).hexdigest()


def blob_name(body: bytes) -> str:
    """Return the hash that the store identifies a blob by."""
    return sha256(body).hexdigest()


class SkillDisk:
    """Scans the disk for skills. A file is read again only if its state has changed."""

    def __init__(self, home: Path | None, builtin: Traversable | None = None) -> None:
        self._home = home
        self._builtin_root = builtin or resources.files("resources") / "skills"
        self._kept: dict[str, tuple[tuple[int, ...], SkillFile, bytes]] = {}
        self._builtin: tuple[DiskSkill, ...] | None = None

    def scan(self, folder: Path | None) -> list[DiskSkill]:
        """Return the skills of a folder, those of the home folder, and the built-in ones, in this order."""
        found = list(self._under(folder, "folder")) if folder else []
        if self._home and (folder is None or folder.resolve() != self._home.resolve()):
            found += self._under(self._home, "home")
        return [*found, *self.builtin()]

    def builtin(self) -> tuple[DiskSkill, ...]:
        """Return the built-in skills, which are read only once."""
        if self._builtin is None:
            self._builtin = tuple(self._of_program(item) for item in _folders(self._builtin_root))
        return self._builtin

    def find(self, key: str) -> DiskSkill | None:
        """Return the current state of the skill with this key, or None if it does not exist any more."""
        source, colon, place = key.partition(":")
        if not colon:
            return next((each for each in self.builtin() if each.key == key), None)
        base = next((base for base in BASES if f"/{base}/" in place), "")
        root, _, inner = place.partition(f"/{base}/")
        if source not in ("folder", "home") or not base:
            return None
        try:
            with FileBroker(Path(root or "/")) as broker:
                return self._one(broker, Path(root or "/"), f"{base}/{inner}", source)  # type: ignore[arg-type]
        except (OSError, Problem):
            return None

    def read_files(self, found: DiskSkill) -> dict[str, bytes]:
        """Return the contents of the skill's files by path."""
        if found.source == "builtin":
            root = self._builtin_root / found.folder.name
            return {file.path: _at(root, file.path).read_bytes() for file in found.files}
        with FileBroker(found.folder) as broker:
            return {file.path: broker.read(file.path, MAX_FILE_BYTES, allow_secrets=False) for file in found.files}

    def _under(self, root: Path, source: SkillSource) -> Iterator[DiskSkill]:
        try:
            with FileBroker(root) as broker:
                names: set[str] = set()
                for base in BASES:
                    for place in _places(broker, base):
                        if (real := broker.resolve(place)) not in names:  # One of the BASES may be a link to the other.
                            names.add(real)
                            yield self._one(broker, root, place, source)
        except (Problem, OSError):
            return

    def _one(self, broker: FileBroker, root: Path, place: str, source: SkillSource) -> DiskSkill:
        key = f"{source}:{root / place}"
        try:
            files, main = [], b""
            for path, kind in walk_files(broker, place):
                if kind != "file":
                    refuse_link(path)
                check_file_name(path[len(place) + 1 :])
                file, body = self._file(broker, root, path, path[len(place) + 1 :])
                files.append(file)
                main = body if file.path == SKILL_FILE else main
                if len(files) > MAX_FILES or sum(each.size for each in files) > MAX_TOTAL_BYTES:
                    limit = f"A skill may have up to {MAX_FILES:,} files and {MAX_TOTAL_BYTES >> 20} MB."
                    raise Problem("It is too large for a skill.", limit)
            return DiskSkill(key, source, root / place, tuple(files), main)
        except (Problem, OSError) as error:
            return DiskSkill(key, source, root / place, error=str(error))

    def _file(self, broker: FileBroker, root: Path, path: str, name: str) -> tuple[SkillFile, bytes]:
        found = broker.stat(path)
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) if found else ()
        whole = str(root / path)
        kept = self._kept.get(whole)
        if kept and stamp and kept[0] == stamp and kept[1].path == name:
            return kept[1], kept[2]
        body = broker.read(path, MAX_FILE_BYTES, allow_secrets=False)
        file = SkillFile(name, blob_name(body), len(body), bool(broker.mode(path) & 0o100))
        self._kept[whole] = (stamp, file, body if name == SKILL_FILE else b"")
        return self._kept[whole][1:]

    def _of_program(self, root: Traversable) -> DiskSkill:
        files, main = [], b""
        for path, item in _walked(root):
            body = item.read_bytes()
            files.append(SkillFile(path, blob_name(body), len(body), path.startswith("scripts/")))
            main = body if path == SKILL_FILE else main
        return DiskSkill(f"builtin/{root.name}", "builtin", Path(root.name), tuple(files), main)


def _places(broker: FileBroker, folder: str, level: int = 0) -> Iterator[str]:
    """Yield the folders that contain a SKILL.md, without searching below them."""
    try:
        entries = broker.entries(folder)
    except Problem:
        return
    if any(name == SKILL_FILE and kind in ("file", "link") for name, kind in entries):
        if level:
            yield folder
        return
    if level >= MAX_LEVELS:
        return
    for name, kind in entries[:MAX_FOLDERS]:
        if kind in ("folder", "link") and name not in IGNORED_NAMES:
            yield from _places(broker, f"{folder}/{name}", level + 1)


def _folders(root: Traversable) -> list[Traversable]:
    if not root.is_dir():
        return []
    return sorted((item for item in root.iterdir() if (item / SKILL_FILE).is_file()), key=lambda item: item.name)


def _walked(root: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    for item in sorted(root.iterdir(), key=lambda one: one.name):
        if item.name in IGNORED_NAMES:
            continue
        if item.is_dir():
            yield from _walked(item, f"{before}{item.name}/")
        else:
            yield before + item.name, item


def _at(root: Traversable, path: str) -> Traversable:
    for part in path.split("/"):
        root = root / part
    return root


def home_folder() -> Path | None:
    """Return the home folder of the user, or None if it is unknown or missing."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home if home.is_dir() else None
