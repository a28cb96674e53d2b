"""A library on a real file, with a home and a folder beside it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.skills.found import Disk
from core.skills.library import Library
from core.store.database import Database
from core.store.opening import FILE
from core.store.skills import SkillStore
from tests.core.store.made import clock

TEXT = "---\nname: notes\ndescription: Keeps notes of a talk. Use it when somebody talks.\n---\n\n# Notes\n\nWrite.\n"


@dataclass(frozen=True, slots=True)
class Ground:
    """`again` opens the same data a second time, as another window would see it."""

    library: Library
    store: SkillStore
    home: Path
    folder: Path
    again: Callable[[], Library]

    def lay(self, root: Path, name: str, text: str = "", **files: str) -> Path:
        """Put a skill where people put them."""
        place = root / ".agents" / "skills" / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(text or TEXT.replace("notes", name, 1))
        for path, body in files.items():
            (place / path).write_text(body)
        return place


@contextmanager
def ground(path: Path) -> Iterator[Ground]:
    home, folder, data = path / "home", path / "folder", path / "data"
    for each in (home, folder, data):
        each.mkdir()
    database = Database(data / FILE)
    store = SkillStore(data / FILE, database)
    ticks = clock()

    def library() -> Library:
        return Library(store, Disk(home), ticks)

    try:
        yield Ground(library(), store, home, folder, library)
    finally:
        database.close()
