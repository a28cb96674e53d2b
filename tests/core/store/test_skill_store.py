"""Skills in the data file survive the purge of sessions and the salvage of a damaged file."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from core.domain.events import ToolReturned
from core.domain.skill import SkillFile, SkillUsed, SkillVersion
from core.domain.text import Text
from core.store.backup import back_up
from core.store.blobs import blob_hash
from core.store.data_folder import DATABASE_FILE, open_data_folder
from core.store.purge import purge_sessions
from core.store.skill_store import SkillStore
from tests.core.store.made import fill, journal_at
from tests.core.store.test_data_folder import _no_first_page, _no_header
from tests.sessions import create_session

BODY = b"---\nname: notes\ndescription: Keeps notes.\n---\n" + b"Write. " * 1500
KEY = "library/notes"


async def keep(store: SkillStore) -> None:
    files = (SkillFile("SKILL.md", blob_hash(BODY), len(BODY)),)
    for number in (1, 2):
        version = SkillVersion(number, "notes", number, "user", f"{number}" * 64, "why", "", files)
        assert await store.add(KEY, version, number - 1, {blob_hash(BODY): BODY}, trust=True)


def test_contents_of_a_skill_survive_purging_a_session_that_shares_them(tmp_path: Path) -> None:
    with journal_at(tmp_path / DATABASE_FILE) as (journal, _, database):
        store = SkillStore(tmp_path / DATABASE_FILE, database)

        async def work() -> None:
            await keep(store)
            session, other = await create_session(journal, "/tmp", "one"), await create_session(journal, "/tmp", "two")
            for name in (session, other):
                await journal.append(name, SkillUsed("r1c1", "notes", 2, "library", KEY))
            await journal.append(session, ToolReturned("r1c1", Text(BODY.decode())))
            assert [use.session for use in store.used_in(KEY)] == [other, session]
            assert await purge_sessions(database, [session], journal.prepare_purge) == 0
            assert store.body(blob_hash(BODY)) == BODY
            assert [use.session for use in store.used_in(KEY)] == [other] and store.uses()[KEY].use_count == 1

        asyncio.run(work())


@pytest.mark.parametrize("damage", [_no_header, _no_first_page])
@pytest.mark.parametrize("backup", [False, True])
def test_skills_of_a_damaged_file_are_salvaged(tmp_path: Path, damage: Callable[[Path], None], backup: bool) -> None:
    path = tmp_path / DATABASE_FILE
    fill(path, 30)
    opened = open_data_folder(tmp_path)
    assert opened.database
    asyncio.run(keep(SkillStore(path, opened.database)))
    opened.database.close()
    before = SkillStore(path, None)
    known, versions = before.records(), before.versions(KEY)
    if backup:
        back_up(path)
    damage(path)
    opened = open_data_folder(tmp_path)
    assert opened.database and opened.warnings
    opened.database.close()
    after = SkillStore(path, None)
    assert (after.records(), after.versions(KEY)) == (known, versions) and len(versions) == 2
    assert after.body(blob_hash(BODY)) == BODY
