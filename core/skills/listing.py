"""The list of skills: where each stands, whether it may be used, and which of two with one name is meant."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from core.domain.skill import SOURCES, SkillRow, SkillVersion, State
from core.skills.format import Reading, decoded, read, tokens
from core.skills.found import Disk, OnDisk
from core.store.skills import Known, SkillStore

Obeys = Callable[[str, str], bool]
"""Is this file of the folder, by its path there and the name of its contents, one that a person trusted?"""

UNKNOWN = Known("", "")


class Listing:
    """Made anew each time: what lies on the disk is looked at, what was read once is kept."""

    def __init__(self, store: SkillStore, disk: Disk) -> None:
        self._store = store
        self._disk = disk
        self._read: dict[tuple[str, str], tuple[Reading, int]] = {}

    def rows(self, folder: Path | None, obeys: Obeys | None) -> list[SkillRow]:
        """In the order in which they go before each other, then by name."""
        known, uses, heads = self._store.known(), self._store.uses(), self._store.heads()
        rows = [self._of_disk(each, known.get(each.key, UNKNOWN), folder, obeys) for each in self._disk.all(folder)]
        rows += [
            self._kept(known[key], head) for key, head in heads.items() if key.startswith("library/") and key in known
        ]
        rows = [replace(row, uses=uses.get(row.key, (0, 0))[0], used=uses.get(row.key, (0, 0))[1]) for row in rows]
        rows.sort(key=lambda row: (SOURCES.index(row.source), row.name, row.key))
        return list(_shadowed(rows))

    def row(self, key: str) -> SkillRow | None:
        """One of them, as it is by itself."""
        known = self._store.known().get(key, UNKNOWN)
        if found := self._disk.at(key):
            return self._of_disk(found, known, None, None)
        head = self._store.heads().get(key)
        return self._kept(known, head) if head else None

    def _of_disk(self, found: OnDisk, known: Known, folder: Path | None, obeys: Obeys | None) -> SkillRow:
        reading, weight = self._reading(found.digest, found.place.name, found.reading)
        state = "broken" if found.trouble else _state(known, found.digest, _comes_trusted(found, folder, obeys))
        row = _row(found.key, reading, weight, known)
        return replace(
            row,
            name=found.name(reading.skill),
            source=found.source,
            state="broken" if row.state == "broken" else state,
            place=str(found.place) if found.source != "builtin" else "",
            digest=found.digest,
            trouble=found.trouble or row.trouble,
        )

    def _kept(self, known: Known, head: SkillVersion) -> SkillRow:
        reading, weight = self._reading(
            head.digest, known.key.rpartition("/")[2], lambda: self._reading_of(known, head)
        )
        row = _row(known.key, reading, weight, known)
        state = row.state if row.state == "broken" else _state(known, head.digest, trusted=False)
        return replace(row, name=known.key.rpartition("/")[2], source="library", state=state, digest=head.digest)

    def _reading_of(self, known: Known, head: SkillVersion) -> Reading:
        main = next((file for file in head.files if file.path == "SKILL.md"), None)
        text, more = decoded(self._store.body(main.digest) if main else b"")
        said = read(text, [file.path for file in head.files], folder=known.key.rpartition("/")[2])
        return Reading(said.skill, (*more, *said.findings))

    def _reading(self, digest: str, folder: str, make: Callable[[], Reading]) -> tuple[Reading, int]:
        """What a skill says, read once; without its body, which a list does not show."""
        if (digest, folder) not in self._read:
            made = make()
            weight = tokens(made.skill.body) if made.skill else 0
            light = replace(made.skill, body="") if made.skill else None
            self._read[digest, folder] = Reading(light, made.findings), weight
        return self._read[digest, folder]


def _row(key: str, reading: Reading, weight: int, known: Known) -> SkillRow:
    errors = sum(each.level == "error" for each in reading.findings)
    warnings = sum(each.level == "warning" for each in reading.findings)
    broken = "" if reading.skill else next((each.what for each in reading.findings if each.level == "error"), "")
    return SkillRow(
        key, "", "library", "on" if reading.skill else "broken", reading.skill.description if reading.skill else "",
        known.head, bool(known.pinned), errors=errors, warnings=warnings, tokens=weight, trouble=broken,
        by_person_only=bool(reading.skill and dict(reading.skill.other).get("disable-model-invocation") == "true"),
    )  # fmt: skip


def _comes_trusted(found: OnDisk, folder: Path | None, obeys: Obeys | None) -> bool:
    """What came with the program, and what a folder brings that a person trusts as it is now."""
    if found.source == "builtin":
        return True
    if found.source != "folder" or folder is None or obeys is None:
        return False
    inner = found.place.relative_to(folder).as_posix()
    return all(obeys(f"{inner}/{file.path}", file.digest) for file in found.files)


def _state(known: Known, digest: str, trusted: bool) -> State:
    if known.archived:
        return "archived"
    if known.disabled:
        return "off"
    if trusted or known.trusted == digest:
        return "on"
    return "changed" if known.trusted else "untrusted"


def _shadowed(rows: Iterable[SkillRow]) -> Iterable[SkillRow]:
    """Of those that are on and have one name the first counts; one that is not trusted is in nobody's way."""
    first: dict[str, str] = {}
    for row in rows:
        if row.state == "on" and row.name in first:
            yield replace(row, state="shadowed", shadowed_by=first[row.name])
            continue
        if row.state == "on":
            first[row.name] = row.key
        yield row
