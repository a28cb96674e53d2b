"""Lists skills with their state, and decides which one is used if several have the same name."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from core.domain.skill import READ_ONLY_SOURCES, SKILL_FILE, SKILL_SOURCES, SkillRow, SkillState, SkillVersion
from core.skills.skill_disk import DiskSkill, SkillDisk
from core.skills.skill_md import ParsedSkill, decode_text, estimate_tokens, parse_skill
from core.store.skill_store import SkillRecord, SkillStore, UseCount

TrustCheck = Callable[[str, str], bool]
"""Return whether a file of the session's folder, given by relative path and content hash, is trusted by the user."""

NO_RECORD = SkillRecord("", "")
NOT_USED = UseCount()


class _Reading(NamedTuple):
    """A parsed skill without its body, and the estimated tokens of the body."""

    parsed: ParsedSkill
    body_tokens: int


class SkillListing:
    """Builds the list of skills from the disk and the database.

    Parsed skills are cached by the digest of their files.
    """

    def __init__(self, store: SkillStore, disk: SkillDisk) -> None:
        self._store = store
        self._disk = disk
        self._readings: dict[tuple[str, str], _Reading] = {}

    def rows(self, folder: Path | None, is_trusted: TrustCheck | None) -> list[SkillRow]:
        """Return all skills, sorted by precedence and then by name."""
        records = self._store.records()
        uses = self._store.uses()
        rows = [
            self._disk_row(disk_skill, records.get(disk_skill.key, NO_RECORD), folder, is_trusted)
            for disk_skill in self._disk.scan(folder)
        ]
        rows += [
            self._library_row(records[key], latest)
            for key, latest in self._store.latest_versions().items()
            if key.startswith("library/") and key in records
        ]
        for index, row in enumerate(rows):
            use = uses.get(row.key, NOT_USED)
            rows[index] = replace(row, use_count=use.use_count, last_used=use.last_used)
        rows.sort(key=lambda row: (SKILL_SOURCES.index(row.source), row.name, row.key))
        return list(_shadowed(rows))

    def row(self, key: str) -> SkillRow | None:
        """Return the skill with this key, even if its folder is not trusted or another skill shadows it."""
        record = self._store.records().get(key, NO_RECORD)
        if disk_skill := self._disk.find(key):
            return self._disk_row(disk_skill, record, None, None)
        latest = self._store.latest_versions().get(key)
        return self._library_row(record, latest) if latest else None

    def _disk_row(
        self, disk_skill: DiskSkill, record: SkillRecord, folder: Path | None, is_trusted: TrustCheck | None
    ) -> SkillRow:
        reading = self._reading(disk_skill.digest, disk_skill.folder.name, disk_skill.parse)
        row = _row(disk_skill.key, reading, record)
        is_broken = bool(disk_skill.error) or row.state == "broken"
        is_trusted_source = _trusted_by_source(disk_skill, folder, is_trusted)
        return replace(
            row,
            name=disk_skill.name_of(reading.parsed.skill),
            source=disk_skill.source,
            state="broken" if is_broken else _state(record, disk_skill.digest, is_trusted_source),
            path=str(disk_skill.folder) if disk_skill.source != "builtin" else "",
            digest=disk_skill.digest,
            error=disk_skill.error or row.error,
        )

    def _library_row(self, record: SkillRecord, latest: SkillVersion) -> SkillRow:
        name = record.key.rpartition("/")[2]
        reading = self._reading(latest.digest, name, lambda: self._parse_version(latest, name))
        row = _row(record.key, reading, record)
        state = row.state if row.state == "broken" else _state(record, latest.digest, trusted=False)
        return replace(row, name=name, source="library", state=state, digest=latest.digest)

    def _parse_version(self, version: SkillVersion, name: str) -> ParsedSkill:
        main = next((file for file in version.files if file.path == SKILL_FILE), None)
        text, encoding_findings = decode_text(self._store.body(main.digest) if main else b"")
        parsed = parse_skill(text, [file.path for file in version.files], folder=name)
        return ParsedSkill(parsed.skill, (*encoding_findings, *parsed.findings))

    def _reading(self, digest: str, folder: str, parse: Callable[[], ParsedSkill]) -> _Reading:
        """Return a parsed skill. The result is cached by `digest`."""
        if (digest, folder) not in self._readings:
            parsed = parse()
            body_tokens = estimate_tokens(parsed.skill.body) if parsed.skill else 0
            without_body = replace(parsed.skill, body="") if parsed.skill else None
            self._readings[digest, folder] = _Reading(ParsedSkill(without_body, parsed.findings), body_tokens)
        return self._readings[digest, folder]


def _row(key: str, reading: _Reading, record: SkillRecord) -> SkillRow:
    """Return the row of a skill, without what depends on where the skill is stored."""
    skill, findings = reading.parsed.skill, reading.parsed.findings
    errors = [finding.message for finding in findings if finding.level == "error"]
    return SkillRow(
        key=key,
        name="",
        source="library",
        state="enabled" if skill else "broken",
        description=skill.description if skill else "",
        version=record.latest_version,
        pinned=bool(record.pinned),
        errors=len(errors),
        warnings=sum(finding.level == "warning" for finding in findings),
        tokens=reading.body_tokens,
        error="" if skill or not errors else errors[0],
        user_only=skill is not None and dict(skill.unknown_keys).get("disable-model-invocation") == "true",
    )


def _trusted_by_source(disk_skill: DiskSkill, folder: Path | None, is_trusted: TrustCheck | None) -> bool:
    """Return whether a skill is trusted because of where it comes from.

    That is so for built-in skills, and for skills of trusted folders and packages.
    """
    if disk_skill.source in READ_ONLY_SOURCES:
        return True
    if disk_skill.source != "folder" or folder is None or is_trusted is None:
        return False
    relative = disk_skill.folder.relative_to(folder).as_posix()
    return all(is_trusted(f"{relative}/{file.path}", file.digest) for file in disk_skill.files)


def _state(record: SkillRecord, digest: str, trusted: bool) -> SkillState:
    if record.archived:
        return "archived"
    if record.disabled:
        return "disabled"
    if trusted or record.trusted_digest == digest:
        return "enabled"
    return "changed" if record.trusted_digest else "untrusted"


def _shadowed(rows: Iterable[SkillRow]) -> Iterable[SkillRow]:
    """Yield the rows. An enabled skill is marked as shadowed if an earlier enabled one has the same name."""
    first: dict[str, str] = {}
    for row in rows:
        if row.state == "enabled" and row.name in first:
            yield replace(row, state="shadowed", shadowed_by=first[row.name])
            continue
        if row.state == "enabled":
            first[row.name] = row.key
        yield row
