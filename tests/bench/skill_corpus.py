"""Import and export real skills and check that nothing is lost: python -m tests.bench.skill_corpus FOLDER [VALIDATOR].

FOLDER contains repositories with skills. VALIDATOR is the command `agentskills` of the package skills-ref; if given,
its validation results are compared with ours.
"""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from core.skills.library import SkillLibrary
from core.skills.skill_archive import IGNORED_NAMES
from core.skills.skill_disk import SkillDisk
from core.skills.skill_md import decode_text, format_skill, parse_skill
from core.skills.transfer import export_skill, import_skills
from core.store.data_folder import open_data_folder
from core.store.skill_store import SkillStore
from tests.bench.benchmark import scratch_folder

SkillFiles = dict[str, bytes]


def read_files(folder: Path) -> SkillFiles:
    """Return the contents of every file of a skill by relative path."""
    files = (path for path in folder.rglob("*") if path.is_file() and not IGNORED_NAMES.intersection(path.parts))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def skill_folders(folder: Path) -> list[Path]:
    """Return the folders of all skills below `folder`."""
    return sorted(path.parent for path in folder.rglob("SKILL.md") if ".git" not in path.parts)


def find_differences(places: list[Path], validator: str) -> Iterator[str]:
    """Yield the skills whose validation result differs or whose text changes in a round trip."""
    for place in places:
        text, more = decode_text((place / "SKILL.md").read_bytes())
        said = parse_skill(text, read_files(place).keys(), folder=place.name)
        if said.skill is None:
            yield f"{place}: cannot be read"
        elif said.valid and format_skill(said.skill, text) != text:
            yield f"{place}: changes in a round trip"
        if validator:
            done = subprocess.run([validator, "validate", str(place)], capture_output=True, text=True, check=False)
            if (done.returncode == 0) != (said.valid and not more):
                yield f"{place}: {(done.stdout + done.stderr).strip()[:200]} / ours: {said.valid}"


async def import_and_export(repositories: list[Path], data: Path, out: Path) -> tuple[Counter[str], list[SkillFiles]]:
    """Import each repository and export every skill; return the imported skills by state, and the exported files."""
    opened = open_data_folder(data)
    assert opened.database
    library = SkillLibrary(SkillStore(opened.path, opened.database), SkillDisk(None))
    try:
        for repository in repositories:
            for each in await import_skills(library, repository):
                if each.error:
                    print(f"{repository.name}/{each.name}: {each.error}")
        rows = [row for row in library.list() if row.source == "library"]
        return Counter(row.state for row in rows), [read_files(export_skill(library, row.key, out)) for row in rows]
    finally:
        opened.database.close()


def main(words: list[str]) -> int:
    """Return exit code 0 if no skill was lost and no validation result differs."""
    folder, validator = Path(words[0]), words[1] if len(words) > 1 else ""
    repositories = sorted(path for path in folder.iterdir() if path.is_dir())
    places = skill_folders(folder)
    differing = list(find_differences(places, validator))
    with scratch_folder() as data:
        began = time.perf_counter()
        states, came_out = asyncio.run(import_and_export(repositories, data / "data", data / "out"))
        took = time.perf_counter() - began
    lost = [place for place in places if read_files(place) not in came_out]
    valid = len(places) - sum(not _valid(place) for place in places)
    print(f"{len(places)} skills, {valid} valid, {sum(states.values())} imported ({dict(states)}), {len(lost)} lost,")
    print(f"{len(differing)} differ from {validator or 'our own reading'}; imported and exported in {took:.1f} s")
    for line in [*differing, *(f"{place}: lost" for place in lost)]:
        print(f"  {line}")
    return 1 if lost or differing or not places else 0


def _valid(place: Path) -> bool:
    text, more = decode_text((place / "SKILL.md").read_bytes())
    return not more and parse_skill(text, folder=place.name).valid


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
