"""Skills in the data file outlive sessions that are forgotten, and a file that is damaged."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from core.domain.events import ToolReturned
from core.domain.skill import SkillFile, SkillUsed, SkillVersion
from core.domain.text import Text
from core.store.backup import back_up
from core.store.blobs import blob_hash
from core.store.oblivion import erase
from core.store.opening import FILE, open_data
from core.store.skills import SkillStore
from tests.core.store.made import fill, journal_at
from tests.core.store.test_opening import _no_first_page, _no_header

BODY = b"---\nname: notes\ndescription: Keeps notes.\n---\n" + b"Write. " * 1500
KEY = "library/notes"


async def keep(store: SkillStore) -> None:
    files = (SkillFile("SKILL.md", blob_hash(BODY), len(BODY)),)
    for number in (1, 2):
        version = SkillVersion(number, "notes", number, "person", f"{number}" * 64, "why", "", files)
        assert await store.add(KEY, version, number - 1, {blob_hash(BODY): BODY}, trust=True)


def test_what_a_skill_is_made_of_stays_when_a_session_that_holds_the_same_is_forgotten(tmp_path: Path) -> None:
    with journal_at(tmp_path / FILE) as (journal, _, database):
        store = SkillStore(tmp_path / FILE, database)

        async def work() -> None:
            await keep(store)
            session, other = await journal.open("/tmp", "one"), await journal.open("/tmp", "two")
            for name in (session, other):
                await journal.append(name, SkillUsed("r1c1", "notes", 2, "library", KEY))
            await journal.append(session, ToolReturned("r1c1", Text(BODY.decode())))
            assert [use.session for use in store.used_in(KEY)] == [other, session]
            assert await erase(database, [session], journal.forget) == 0
            assert store.body(blob_hash(BODY)) == BODY
            assert [use.session for use in store.used_in(KEY)] == [other] and store.uses()[KEY][0] == 1

        asyncio.run(work())


@pytest.mark.parametrize("damage", [_no_header, _no_first_page])
@pytest.mark.parametrize("backup", [False, True])
def test_a_damaged_file_gives_its_skills_back(tmp_path: Path, damage: Callable[[Path], None], backup: bool) -> None:
    path = tmp_path / FILE
    fill(path, 30)
    opened = open_data(tmp_path)
    assert opened.database
    asyncio.run(keep(SkillStore(path, opened.database)))
    opened.database.close()
    before = SkillStore(path, None)
    known, versions = before.known(), before.versions(KEY)
    if backup:
        back_up(path)
    damage(path)
    opened = open_data(tmp_path)
    assert opened.database and opened.notes
    opened.database.close()
    after = SkillStore(path, None)
    assert (after.known(), after.versions(KEY)) == (known, versions) and len(versions) == 2
    assert after.body(blob_hash(BODY)) == BODY
