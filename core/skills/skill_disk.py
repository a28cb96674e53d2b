"""Finds skills on disk: in the session's folder, in the user's home folder, in packages, and built into the program."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from importlib.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

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

PACKAGE_BASE: Final = "skills"
BASES: Final = (".agents/skills", ".claude/skills")
MAX_LEVELS: Final = 4  # how many folders deep skills are searched below each base folder
MAX_FOLDERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class DiskSkill:
    """A skill as it is on disk. `skill_md` is the content of its SKILL.md; `error` says why it cannot be read."""

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
        """Parse the SKILL.md of this skill."""
        text, encoding_findings = decode_text(self.skill_md)
        parsed = parse_skill(text, [file.path for file in self.files], folder=self.folder.name)
        return ParsedSkill(parsed.skill, (*encoding_findings, *parsed.findings))

    def name_of(self, skill: Skill | None) -> str:
        return skill.name if skill else self.folder.name


def files_digest(files: tuple[SkillFile, ...]) -> str:
    """Return one digest of all files: their paths, contents and executable flags."""
    lines = (
        f"{file.path}\0{file.digest}\0{int(file.executable)}\n" for file in sorted(files, key=lambda file: file.path)
    )
    return sha256("".join(lines).encode("utf-8", "replace")).hexdigest()


def blob_name(body: bytes) -> str:
    """Return the hash under which the database stores these contents as a blob."""
    return sha256(body).hexdigest()


class _CachedFile(NamedTuple):
    """A file as it was read. `stamp` changes when the file does. `body` is kept for SKILL.md only."""

    stamp: tuple[int, ...]
    file: SkillFile
    body: bytes


class SkillDisk:
    """Scans the disk for skills. A file is read again only after it has changed.

    `packages` returns the folder of each package that the user trusts, by name.
    """

    def __init__(
        self,
        home: Path | None,
        builtin: Traversable | None = None,
        packages: Callable[[], Mapping[str, Path]] = dict,
    ) -> None:
        self._home = home
        self._packages = packages
        self._builtin_root = builtin or resources.files("resources") / "skills"
        self._cache: dict[str, _CachedFile] = {}  # by path
        self._builtin: tuple[DiskSkill, ...] | None = None

    def scan(self, folder: Path | None) -> list[DiskSkill]:
        """Return the skills of the folder, of the home folder, of packages, and the built-in ones, in this order."""
        skills = list(self._under(folder, "folder")) if folder else []
        if self._home and (folder is None or folder.resolve() != self._home.resolve()):
            skills += self._under(self._home, "home")
        for root in self._packages().values():
            skills += self._under(root, "package", (PACKAGE_BASE,))
        return [*skills, *self.builtin()]

    def builtin(self) -> tuple[DiskSkill, ...]:
        """Return the built-in skills. They are read only once."""
        if self._builtin is None:
            self._builtin = tuple(self._read_builtin(item) for item in _folders(self._builtin_root))
        return self._builtin

    def find(self, key: str) -> DiskSkill | None:
        """Return the current state of the skill with this key, or None if it does not exist any more."""
        source, colon, path = key.partition(":")
        if not colon:
            return next((skill for skill in self.builtin() if skill.key == key), None)
        if source == "package":
            root = next((str(root) for root in self._packages().values() if Path(path).is_relative_to(root)), "")
            base, inner = PACKAGE_BASE, path.removeprefix(f"{root}/{PACKAGE_BASE}/")
            if not root:
                return None
        else:
            base = next((base for base in BASES if f"/{base}/" in path), "")
            root, _, inner = path.partition(f"/{base}/")
            if source not in ("folder", "home") or not base:
                return None
        try:
            with FileBroker(Path(root or "/")) as broker:
                return self._read_skill(broker, Path(root or "/"), f"{base}/{inner}", source)  # type: ignore[arg-type]
        except (OSError, Problem):
            return None

    def read_files(self, skill: DiskSkill) -> dict[str, bytes]:
        """Return the current contents of the skill's files by path."""
        if skill.source == "builtin":
            root = self._builtin_root / skill.folder.name
            return {file.path: _at(root, file.path).read_bytes() for file in skill.files}
        with FileBroker(skill.folder) as broker:
            return {file.path: broker.read(file.path, MAX_FILE_BYTES, allow_secrets=False) for file in skill.files}

    def _under(self, root: Path, source: SkillSource, bases: tuple[str, ...] = BASES) -> Iterator[DiskSkill]:
        try:
            with FileBroker(root) as broker:
                found: set[str] = set()
                for base in bases:
                    for folder in _skill_folders(broker, base):
                        resolved = broker.resolve(folder)
                        if resolved not in found:  # one of the base folders may be a link to another
                            found.add(resolved)
                            yield self._read_skill(broker, root, folder, source)
        except (Problem, OSError):
            return

    def _read_skill(self, broker: FileBroker, root: Path, folder: str, source: SkillSource) -> DiskSkill:
        key = f"{source}:{root / folder}"
        try:
            files = []
            skill_md = b""
            for path, kind in walk_files(broker, folder):
                if kind != "file":
                    refuse_link(path)
                name = path.removeprefix(f"{folder}/")
                check_file_name(name)
                cached = self._read_file(broker, root, path, name)
                files.append(cached.file)
                if name == SKILL_FILE:
                    skill_md = cached.body
                if len(files) > MAX_FILES or sum(entry.size for entry in files) > MAX_TOTAL_BYTES:
                    limit = f"A skill may have up to {MAX_FILES:,} files and {MAX_TOTAL_BYTES >> 20} MB."
                    raise Problem("It is too large for a skill.", limit)
            return DiskSkill(key, source, root / folder, tuple(files), skill_md)
        except (Problem, OSError) as error:
            return DiskSkill(key, source, root / folder, error=str(error))

    def _read_file(self, broker: FileBroker, root: Path, path: str, name: str) -> _CachedFile:
        """Return the file at `path` below `root`, from the cache if it is unchanged.

        `name` is its path in the skill.
        """
        stat = broker.stat(path)
        stamp = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) if stat else ()
        full_path = str(root / path)
        cached = self._cache.get(full_path)
        if cached and stamp and cached.stamp == stamp and cached.file.path == name:
            return cached
        body = broker.read(path, MAX_FILE_BYTES, allow_secrets=False)
        file = SkillFile(name, blob_name(body), len(body), bool(broker.mode(path) & 0o100))
        self._cache[full_path] = _CachedFile(stamp, file, body if name == SKILL_FILE else b"")
        return self._cache[full_path]

    def _read_builtin(self, root: Traversable) -> DiskSkill:
        files = []
        skill_md = b""
        for path, item in _walk(root):
            body = item.read_bytes()
            files.append(SkillFile(path, blob_name(body), len(body), path.startswith("scripts/")))
            if path == SKILL_FILE:
                skill_md = body
        return DiskSkill(f"builtin/{root.name}", "builtin", Path(root.name), tuple(files), skill_md)


def _skill_folders(broker: FileBroker, folder: str, level: int = 0) -> Iterator[str]:
    """Yield the folders that contain a SKILL.md, at most MAX_LEVELS deep. Folders inside a skill are not searched."""
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
            yield from _skill_folders(broker, f"{folder}/{name}", level + 1)


def _folders(root: Traversable) -> list[Traversable]:
    if not root.is_dir():
        return []
    return sorted((item for item in root.iterdir() if (item / SKILL_FILE).is_file()), key=lambda item: item.name)


def _walk(root: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files in a folder with their paths. `prefix` is put before the paths."""
    for item in sorted(root.iterdir(), key=lambda child: child.name):
        if item.name in IGNORED_NAMES:
            continue
        if item.is_dir():
            yield from _walk(item, f"{prefix}{item.name}/")
        else:
            yield prefix + item.name, item


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
