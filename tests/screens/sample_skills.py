"""Sample skills for the screenshots: the user's own with versions, some of a folder, and a proposed change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.process import data_folder
from core.domain.proposal import Proposal
from core.domain.skill import SKILL_FILE, OpenSkill, SkillRow
from core.skills.library import SkillLibrary
from core.skills.skill_disk import SkillDisk
from core.store.database import Database
from core.store.journal import Journal
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from core.store.skill_store import SkillStore

LETTERS: Final = """---
name: formal-letters
description: Write formal complaint letters that cite law and dated evidence. Use when a landlord, shop or council
  has to act.
license: private
---

# Formal letters

## When to use
The user wants a third party to act and a record of having asked.

## Steps
1. Read the contract first and note the clause numbers.
2. Collect dated evidence: `exiftool -DateTimeOriginal photos/*`.
3. Name the law *and* the clause; one sentence each.
4. Ask which tone to take before writing the final version.

## Pitfalls
- Never threaten a step the user has not agreed to.
"""
MORE: Final = LETTERS.replace(
    "4. Ask which", "4. State one demand and one date (14 days unless told otherwise).\n5. Ask which"
).replace("- Never", "- pandoc is often missing: fall back to python-docx.\n- Never")
CHECK: Final = "#!/bin/sh\n# Are there dates on all photos?\nset -eu\nexiftool -DateTimeOriginal -csv photos/*\n"
OTHERS: Final = {
    "deploy-runbook": "Bring a release to production step by step. Use when a version is to be deployed.",
    "release-notes": "Write notes from commits since the last tag. Use before a release.",
    "ticket-digest": "Sum up support tickets by cause. Use for weekly reports.",
}
FOLDERS: Final = {
    "code-review": "Review a change for faults. Use when somebody asks for a review.",
    "db-migrations": "Write a migration that can be reverted. Use when a table changes.",
}
SHOP: Final = "src/shop"  # relative to the home folder, which is temporary while screenshots are taken
SESSION: Final = "Letter about the mould"


async def make(home: Path, database: Database, journal: Journal, reader: Reader) -> None:
    """Write the sample skills as the user would, one version after the other, and a proposal."""
    library = _library(home, database)
    first = LETTERS.replace("2. Collect dated evidence: `exiftool -DateTimeOriginal photos/*`.\n", "")
    await library.save("formal-letters", first, {}, 0)
    await library.save("formal-letters", LETTERS, {"scripts/check.sh": CHECK.encode()}, 1)
    for name, description in OTHERS.items():
        await library.save(name, _short(name, description), {}, 0)
    for name, description in FOLDERS.items():
        place = home.parent / SHOP / ".agents" / "skills" / name
        place.mkdir(parents=True)
        (place / SKILL_FILE).write_text(_short(name, description))
    session = next(row.id for row in reader.sessions() if row.title == SESSION)
    reason = "pandoc failed once and a deadline was missing"
    wanted = Proposal("", "skill", "patch", "formal-letters", MORE, reason, 2, session=session, steps=(20, 22))
    await ProposalStore(database.path, database, journal).create(wanted)


def skills_page_data(home: Path, reader: Reader) -> tuple[Sequence[SkillRow], dict[str, OpenSkill], Sequence[Proposal]]:
    """Return what the skills page shows: the list, each skill by its key, and the pending proposals."""
    library, folder = _library(home, None), home.parent / SHOP
    rows = library.list(folder)
    waiting = ProposalStore(data_folder.database_path(home), None, Journal(None, reader)).find(
        state="pending", target_kind="skill"
    )
    return rows, {row.key: library.open(row.key, folder) for row in rows}, waiting


def _library(home: Path, database: Database | None) -> SkillLibrary:
    return SkillLibrary(SkillStore(data_folder.database_path(home), database), SkillDisk(None))


def _short(name: str, description: str) -> str:
    title = name.replace("-", " ").capitalize()
    return f"---\nname: {name}\ndescription: {description}\n---\n\n# {title}\n\n## Steps\n1. Look first.\n"
