"""Skills that lie on the disk: in a folder, in a person's home, and those that come with the program."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from importlib.abc import Traversable
from pathlib import Path
from typing import Final

from core.domain.problems import Problem
from core.domain.skill import MAIN, Skill, SkillFile, Source
from core.skills.format import Reading, decoded, read
from core.skills.packed import FILE_SIZE, FILES, SKIPPED, TOTAL, beneath, check_name, refuse_link
from core.workspace.broker import Broker

BASES: Final = (".agents/skills", ".claude/skills")
LEVELS: Final = 4  # folders between a base and a skill, for those who sort theirs
FOLDERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A skill as it lies there now. `place` is its folder, `trouble` why it cannot be read."""

    key: str
    source: Source
    place: Path
    files: tuple[SkillFile, ...] = ()
    main: bytes = b""
    trouble: str = ""

    @property
    def digest(self) -> str:
        return digest_of(self.files)

    def reading(self) -> Reading:
        """What its SKILL.md says."""
        text, more = decoded(self.main)
        said = read(text, [file.path for file in self.files], folder=self.place.name)
        return Reading(said.skill, (*more, *said.findings))

    def name(self, skill: Skill | None) -> str:
        return skill.name if skill else self.place.name


def digest_of(files: tuple[SkillFile, ...]) -> str:
    """One name for all of them together: paths, contents, and which of them can be run."""
    lines = (f"{file.path}\0{file.digest}\0{int(file.executable)}\n" for file in sorted(files, key=lambda f: f.path))
    return sha256("".join(lines).encode("utf-8", "replace")).hexdigest()


def hash_of(body: bytes) -> str:
    """As the store names contents."""
    return sha256(body).hexdigest()


class Disk:
    """Looks at the disk; a file that has not changed since is not read again."""

    def __init__(self, home: Path | None, builtin: Traversable | None = None) -> None:
        self._home = home
        self._builtin_root = builtin or resources.files("resources") / "skills"
        self._kept: dict[str, tuple[tuple[int, ...], SkillFile, bytes]] = {}
        self._came: tuple[OnDisk, ...] | None = None

    def all(self, folder: Path | None) -> list[OnDisk]:
        """Of the folder, of the home, built in."""
        found = list(self._under(folder, "folder")) if folder else []
        if self._home and (folder is None or folder.resolve() != self._home.resolve()):
            found += self._under(self._home, "home")
        return [*found, *self.builtin()]

    def builtin(self) -> tuple[OnDisk, ...]:
        """Those that come with the program; they do not change while it runs."""
        if self._came is None:
            self._came = tuple(self._of_program(item) for item in _folders(self._builtin_root))
        return self._came

    def at(self, key: str) -> OnDisk | None:
        """The skill of this key, as it is now; None where there is none any more."""
        source, sign, place = key.partition(":")
        if not sign:
            return next((each for each in self.builtin() if each.key == key), None)
        base = next((base for base in BASES if f"/{base}/" in place), "")
        root, _, inner = place.partition(f"/{base}/")
        if source not in ("folder", "home") or not base:
            return None
        try:
            with Broker(Path(root or "/")) as broker:
                return self._one(broker, Path(root or "/"), f"{base}/{inner}", source)  # type: ignore[arg-type]
        except (OSError, Problem):
            return None

    def bodies(self, found: OnDisk) -> dict[str, bytes]:
        """The contents of its files, by path."""
        if found.source == "builtin":
            root = self._builtin_root / found.place.name
            return {file.path: _at(root, file.path).read_bytes() for file in found.files}
        with Broker(found.place) as broker:
            return {file.path: broker.read(file.path, FILE_SIZE, keys=False) for file in found.files}

    def _under(self, root: Path, source: Source) -> Iterator[OnDisk]:
        try:
            with Broker(root) as broker:
                names: set[str] = set()
                for base in BASES:
                    for place in _places(broker, base):
                        if (real := broker.real(place)) not in names:  # one may be a link to the other
                            names.add(real)
                            yield self._one(broker, root, place, source)
        except (Problem, OSError):
            return

    def _one(self, broker: Broker, root: Path, place: str, source: Source) -> OnDisk:
        key = f"{source}:{root / place}"
        try:
            files, main = [], b""
            for path, kind in beneath(broker, place):
                if kind != "file":
                    refuse_link(path)
                check_name(path[len(place) + 1 :])
                file, body = self._file(broker, root, path, path[len(place) + 1 :])
                files.append(file)
                main = body if file.path == MAIN else main
                if len(files) > FILES or sum(each.size for each in files) > TOTAL:
                    raise Problem("It is too large for a skill.", f"{FILES:,} files and {TOTAL >> 20} MB are the most.")
            return OnDisk(key, source, root / place, tuple(files), main)
        except (Problem, OSError) as error:
            return OnDisk(key, source, root / place, trouble=str(error))

    def _file(self, broker: Broker, root: Path, path: str, name: str) -> tuple[SkillFile, bytes]:
        found = broker.look(path)
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) if found else ()
        whole = str(root / path)
        kept = self._kept.get(whole)
        if kept and stamp and kept[0] == stamp and kept[1].path == name:
            return kept[1], kept[2]
        body = broker.read(path, FILE_SIZE, keys=False)
        file = SkillFile(name, hash_of(body), len(body), bool(broker.mode(path) & 0o100))
        self._kept[whole] = (stamp, file, body if name == MAIN else b"")
        return self._kept[whole][1:]

    def _of_program(self, root: Traversable) -> OnDisk:
        files, main = [], b""
        for path, item in _walked(root):
            body = item.read_bytes()
            files.append(SkillFile(path, hash_of(body), len(body), path.startswith("scripts/")))
            main = body if path == MAIN else main
        return OnDisk(f"builtin/{root.name}", "builtin", Path(root.name), tuple(files), main)


def _places(broker: Broker, folder: str, level: int = 0) -> Iterator[str]:
    """Folders with a SKILL.md; nothing below one of them is looked at."""
    try:
        entries = broker.entries(folder)
    except Problem:
        return
    if any(name == MAIN and kind in ("file", "link") for name, kind in entries):
        if level:
            yield folder
        return
    if level >= LEVELS:
        return
    for name, kind in entries[:FOLDERS]:
        if kind in ("folder", "link") and name not in SKIPPED:
            yield from _places(broker, f"{folder}/{name}", level + 1)


def _folders(root: Traversable) -> list[Traversable]:
    if not root.is_dir():
        return []
    return sorted((item for item in root.iterdir() if (item / MAIN).is_file()), key=lambda item: item.name)


def _walked(root: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    for item in sorted(root.iterdir(), key=lambda one: one.name):
        if item.name in SKIPPED:
            continue
        if item.is_dir():
            yield from _walked(item, f"{before}{item.name}/")
        else:
            yield before + item.name, item


def _at(root: Traversable, path: str) -> Traversable:
    for part in path.split("/"):
        root = root / part
    return root


def user_home() -> Path | None:
    """Where a person keeps what is theirs; None where nobody knows."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home if home.is_dir() else None
