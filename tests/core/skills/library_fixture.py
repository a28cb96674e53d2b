"""A skill library on a temporary data file, with a home folder and a session folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.skills.library import SkillLibrary
from core.skills.skill_disk import SkillDisk
from core.store.data_folder import DATABASE_FILE
from core.store.database import Database
from core.store.skill_store import SkillStore
from tests.core.store.made import clock

TEXT = "---\nname: notes\ndescription: Keeps notes of a talk. Use it when somebody talks.\n---\n\n# Notes\n\nWrite.\n"


@dataclass(frozen=True, slots=True)
class SkillFixture:
    """`reopen` opens a second library on the same data, as another window would."""

    library: SkillLibrary
    store: SkillStore
    home: Path
    folder: Path
    reopen: Callable[[], SkillLibrary]

    def write_skill(self, root: Path, name: str, text: str = "", **files: str) -> Path:
        """Write a skill into the skills folder below `root`."""
        place = root / ".agents" / "skills" / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(text or TEXT.replace("notes", name, 1))
        for path, body in files.items():
            (place / path).write_text(body)
        return place


@contextmanager
def skill_fixture(path: Path) -> Iterator[SkillFixture]:
    home, folder, data = path / "home", path / "folder", path / "data"
    for each in (home, folder, data):
        each.mkdir()
    database = Database(data / DATABASE_FILE)
    store = SkillStore(data / DATABASE_FILE, database)
    ticks = clock()

    def library() -> SkillLibrary:
        return SkillLibrary(store, SkillDisk(home), ticks)

    try:
        yield SkillFixture(library(), store, home, folder, library)
    finally:
        database.close()
