"""Lists skills with their state, and decides which one is used if several have the same name."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from core.domain.skill import READ_ONLY_SOURCES, SKILL_SOURCES, SkillRow, SkillState, SkillVersion
from core.skills.skill_disk import DiskSkill, SkillDisk
from core.skills.skill_md import ParsedSkill, decode_text, estimate_tokens, parse_skill
from core.store.skill_store import SkillRecord, SkillStore

TrustCheck = Callable[[str, str], bool]
"""Return whether a file of the session's folder, given by relative path and content hash, is trusted by the user."""

NO_RECORD = SkillRecord("", "")


class SkillListing:
    """Builds the list of skills from the disk and the database.

    Parsed skills are cached by the digest of their files.
    """

    def __init__(self, store: SkillStore, disk: SkillDisk) -> None:
        self._store = store
        self._disk = disk
        self._read: dict[tuple[str, str], tuple[ParsedSkill, int]] = {}

    def rows(self, folder: Path | None, is_trusted: TrustCheck | None) -> list[SkillRow]:
        """Return all skills, sorted by precedence and then by name."""
        records, uses, heads = self._store.records(), self._store.uses(), self._store.latest_versions()
        rows = [
            self._disk_row(disk_skill, records.get(disk_skill.key, NO_RECORD), folder, is_trusted)
            for disk_skill in self._disk.scan(folder)
        ]
        rows += [
            self._library_row(records[key], head)
            for key, head in heads.items()
            if key.startswith("library/") and key in records
        ]
        rows = [
            replace(row, use_count=uses.get(row.key, (0, 0))[0], last_used=uses.get(row.key, (0, 0))[1]) for row in rows
        ]
        rows.sort(key=lambda row: (SKILL_SOURCES.index(row.source), row.name, row.key))
        return list(_shadowed(rows))

    def row(self, key: str) -> SkillRow | None:
        """Return the skill with this key, even if its folder is not trusted or another skill shadows it."""
        record = self._store.records().get(key, NO_RECORD)
        if disk_skill := self._disk.find(key):
            return self._disk_row(disk_skill, record, None, None)
        head = self._store.latest_versions().get(key)
        return self._library_row(record, head) if head else None

    def _disk_row(
        self, disk_skill: DiskSkill, record: SkillRecord, folder: Path | None, is_trusted: TrustCheck | None
    ) -> SkillRow:
        reading, token_count = self._reading(disk_skill.digest, disk_skill.folder.name, disk_skill.parse)
        state = (
            "broken"
            if disk_skill.error
            else _state(record, disk_skill.digest, _trusted_by_source(disk_skill, folder, is_trusted))
        )
        row = _row(disk_skill.key, reading, token_count, record)
        return replace(
            row,
            name=disk_skill.name_of(reading.skill),
            source=disk_skill.source,
            state="broken" if row.state == "broken" else state,
            path=str(disk_skill.folder) if disk_skill.source != "builtin" else "",
            digest=disk_skill.digest,
            error=disk_skill.error or row.error,
        )

    def _library_row(self, record: SkillRecord, head: SkillVersion) -> SkillRow:
        reading, token_count = self._reading(
            head.digest, record.key.rpartition("/")[2], lambda: self._reading_of(record, head)
        )
        row = _row(record.key, reading, token_count, record)
        state = row.state if row.state == "broken" else _state(record, head.digest, trusted=False)
        return replace(row, name=record.key.rpartition("/")[2], source="library", state=state, digest=head.digest)

    def _reading_of(self, record: SkillRecord, head: SkillVersion) -> ParsedSkill:
        main = next((file for file in head.files if file.path == "SKILL.md"), None)
        text, encoding_findings = decode_text(self._store.body(main.digest) if main else b"")
        parsed = parse_skill(text, [file.path for file in head.files], folder=record.key.rpartition("/")[2])
        return ParsedSkill(parsed.skill, (*encoding_findings, *parsed.findings))

    def _reading(self, digest: str, folder: str, parse: Callable[[], ParsedSkill]) -> tuple[ParsedSkill, int]:
        """Return a parsed skill without its body, and the estimated tokens of the body.

        The result is cached by `digest`.
        """
        if (digest, folder) not in self._read:
            parsed = parse()
            token_count = estimate_tokens(parsed.skill.body) if parsed.skill else 0
            without_body = replace(parsed.skill, body="") if parsed.skill else None
            self._read[digest, folder] = ParsedSkill(without_body, parsed.findings), token_count
        return self._read[digest, folder]


def _row(key: str, reading: ParsedSkill, token_count: int, record: SkillRecord) -> SkillRow:
    errors = sum(finding.level == "error" for finding in reading.findings)
    warnings = sum(finding.level == "warning" for finding in reading.findings)
    error = (
        "" if reading.skill else next((finding.message for finding in reading.findings if finding.level == "error"), "")
    )
    return SkillRow(
        key=key,
        name="",
        source="library",
        state="enabled" if reading.skill else "broken",
        description=reading.skill.description if reading.skill else "",
        version=record.latest_version,
        pinned=bool(record.pinned),
        errors=errors,
        warnings=warnings,
        tokens=token_count,
        error=error,
        user_only=bool(reading.skill and dict(reading.skill.unknown_keys).get("disable-model-invocation") == "true"),
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
