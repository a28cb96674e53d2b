"""Real skills from elsewhere: python -m tests.bench.corpus FOLDER [VALIDATOR]. Every one comes in and goes out whole.

FOLDER holds repositories with skills. VALIDATOR is the command `agentskills` of the package skills-ref, and then its
verdict is compared with ours.
"""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from core.skills.carry import bring, export
from core.skills.format import decoded, read, write
from core.skills.found import Disk
from core.skills.library import Library
from core.skills.packed import SKIPPED
from core.store.opening import open_data
from core.store.skills import SkillStore
from tests.bench.bench import scratch

Tree = dict[str, bytes]


def tree(folder: Path) -> Tree:
    """Every file of a skill."""
    files = (path for path in folder.rglob("*") if path.is_file() and not SKIPPED.intersection(path.parts))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def skills(folder: Path) -> list[Path]:
    """The folders of all skills below."""
    return sorted(path.parent for path in folder.rglob("SKILL.md") if ".git" not in path.parts)


def told(places: list[Path], validator: str) -> Iterator[str]:
    """Verdicts that differ, and texts that do not come back as they were."""
    for place in places:
        text, more = decoded((place / "SKILL.md").read_bytes())
        said = read(text, tree(place).keys(), folder=place.name)
        if said.skill is None:
            yield f"{place}: cannot be read"
        elif said.valid and write(said.skill, text) != text:
            yield f"{place}: comes back otherwise"
        if validator:
            done = subprocess.run([validator, "validate", str(place)], capture_output=True, text=True, check=False)
            if (done.returncode == 0) != (said.valid and not more):
                yield f"{place}: {(done.stdout + done.stderr).strip()[:200]} / ours: {said.valid}"


async def carried(repositories: list[Path], data: Path, out: Path) -> tuple[Counter[str], list[Tree]]:
    """Import each repository, export every skill: the states in between, and what came out."""
    opened = open_data(data)
    assert opened.database
    library = Library(SkillStore(opened.path, opened.database), Disk(None))
    try:
        for repository in repositories:
            for each in await bring(library, repository):
                if each.trouble:
                    print(f"{repository.name}/{each.name}: {each.trouble}")
        rows = [row for row in library.list() if row.source == "library"]
        return Counter(row.state for row in rows), [tree(export(library, row.key, out)) for row in rows]
    finally:
        opened.database.close()


def main(words: list[str]) -> int:
    """0 when none is lost and no verdict differs."""
    folder, validator = Path(words[0]), words[1] if len(words) > 1 else ""
    repositories = sorted(path for path in folder.iterdir() if path.is_dir())
    places = skills(folder)
    differing = list(told(places, validator))
    with scratch() as data:
        began = time.perf_counter()
        states, came_out = asyncio.run(carried(repositories, data / "data", data / "out"))
        took = time.perf_counter() - began
    lost = [place for place in places if tree(place) not in came_out]
    valid = len(places) - sum(not _valid(place) for place in places)
    print(f"{len(places)} skills, {valid} valid, {sum(states.values())} imported ({dict(states)}), {len(lost)} lost,")
    print(f"{len(differing)} differ from {validator or 'ourselves'}; in and out in {took:.1f} s")
    for line in [*differing, *(f"{place}: lost" for place in lost)]:
        print(f"  {line}")
    return 1 if lost or differing or not places else 0


def _valid(place: Path) -> bool:
    text, more = decoded((place / "SKILL.md").read_bytes())
    return not more and read(text, folder=place.name).valid


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
