"""Lists skills with their state, and decides which skill is used if several have the same name."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from core.domain.skill import SKILL_SOURCES, SkillRow, SkillState, SkillVersion
from core.skills.skill_disk import DiskSkill, SkillDisk
from core.skills.skill_md import ParsedSkill, decode_text, estimate_tokens, parse_skill
from core.store.skill_store import SkillRecord, SkillStore

TrustCheck = Callable[[str, str], bool]
"""Return whether a file of the session's folder, given by relative path and content hash, is trusted by the user."""

NO_RECORD = SkillRecord("", "")


class SkillListing:
    """Builds the list of skills from the disk and the store. Parsed skills are cached by digest."""

    def __init__(self, store: SkillStore, disk: SkillDisk) -> None:
        self._store = store
        self._disk = disk
        self._read: dict[tuple[str, str], tuple[ParsedSkill, int]] = {}

    def rows(self, folder: Path | None, is_trusted: TrustCheck | None) -> list[SkillRow]:
        """Return all skills in order of precedence, then by name."""
        known, uses, heads = self._store.records(), self._store.uses(), self._store.latest_versions()
        rows = [
            self._disk_row(each, known.get(each.key, NO_RECORD), folder, is_trusted) for each in self._disk.scan(folder)
        ]
        rows += [
            self._library_row(known[key], head)
            for key, head in heads.items()
            if key.startswith("library/") and key in known
        ]
        rows = [
            replace(row, use_count=uses.get(row.key, (0, 0))[0], last_used=uses.get(row.key, (0, 0))[1]) for row in rows
        ]
        rows.sort(key=lambda row: (SKILL_SOURCES.index(row.source), row.name, row.key))
        return list(_shadowed(rows))

    def row(self, key: str) -> SkillRow | None:
        """Return one skill, regardless of folder trust and of other skills with the same name."""
        known = self._store.records().get(key, NO_RECORD)
        if found := self._disk.find(key):
            return self._disk_row(found, known, None, None)
        head = self._store.latest_versions().get(key)
        return self._library_row(known, head) if head else None

    def _disk_row(
        self, found: DiskSkill, known: SkillRecord, folder: Path | None, is_trusted: TrustCheck | None
    ) -> SkillRow:
        reading, token_count = self._reading(found.digest, found.folder.name, found.parse)
        state = "broken" if found.error else _state(known, found.digest, _trusted_by_source(found, folder, is_trusted))
        row = _row(found.key, reading, token_count, known)
        return replace(
            row,
            name=found.name_of(reading.skill),
            source=found.source,
            state="broken" if row.state == "broken" else state,
            path=str(found.folder) if found.source != "builtin" else "",
            digest=found.digest,
            error=found.error or row.error,
        )

    def _library_row(self, known: SkillRecord, head: SkillVersion) -> SkillRow:
        reading, token_count = self._reading(
            head.digest, known.key.rpartition("/")[2], lambda: self._reading_of(known, head)
        )
        row = _row(known.key, reading, token_count, known)
        state = row.state if row.state == "broken" else _state(known, head.digest, trusted=False)
        return replace(row, name=known.key.rpartition("/")[2], source="library", state=state, digest=head.digest)

    def _reading_of(self, known: SkillRecord, head: SkillVersion) -> ParsedSkill:
        main = next((file for file in head.files if file.path == "SKILL.md"), None)
        text, more = decode_text(self._store.body(main.digest) if main else b"")
        parsed = parse_skill(text, [file.path for file in head.files], folder=known.key.rpartition("/")[2])
        return ParsedSkill(parsed.skill, (*more, *parsed.findings))

    def _reading(self, digest: str, folder: str, make: Callable[[], ParsedSkill]) -> tuple[ParsedSkill, int]:
        """Return a parsed skill, without its body, and the token count of the body. The result is cached."""
        if (digest, folder) not in self._read:
            made = make()
            token_count = estimate_tokens(made.skill.body) if made.skill else 0
            light = replace(made.skill, body="") if made.skill else None
            self._read[digest, folder] = ParsedSkill(light, made.findings), token_count
        return self._read[digest, folder]


def _row(key: str, reading: ParsedSkill, token_count: int, known: SkillRecord) -> SkillRow:
    errors = sum(each.level == "error" for each in reading.findings)
    warnings = sum(each.level == "warning" for each in reading.findings)
    broken = "" if reading.skill else next((each.message for each in reading.findings if each.level == "error"), "")
    return SkillRow(
        key,
        "",
        "library",
        "enabled" if reading.skill else "broken",
        reading.skill.description if reading.skill else "",
        known.latest_version,
        bool(known.pinned),
        errors=errors,
        warnings=warnings,
        tokens=token_count,
        error=broken,
        user_only=bool(reading.skill and dict(reading.skill.unknown_keys).get("disable-model-invocation") == "true"),
    )


def _trusted_by_source(found: DiskSkill, folder: Path | None, is_trusted: TrustCheck | None) -> bool:
    """Return whether a skill needs no review by the user: it is built in, or its files belong to a trusted folder."""
    if found.source == "builtin":
        return True
    if found.source != "folder" or folder is None or is_trusted is None:
        return False
    inner = found.folder.relative_to(folder).as_posix()
    return all(is_trusted(f"{inner}/{file.path}", file.digest) for file in found.files)


def _state(known: SkillRecord, digest: str, trusted: bool) -> SkillState:
    if known.archived:
        return "archived"
    if known.disabled:
        return "disabled"
    if trusted or known.trusted_digest == digest:
        return "enabled"
    return "changed" if known.trusted_digest else "untrusted"


def _shadowed(rows: Iterable[SkillRow]) -> Iterable[SkillRow]:
    """Mark enabled skills as shadowed if an earlier enabled one has the same name."""
    first: dict[str, str] = {}
    for row in rows:
        if row.state == "enabled" and row.name in first:
            yield replace(row, state="shadowed", shadowed_by=first[row.name])
            continue
        if row.state == "enabled":
            first[row.name] = row.key
        yield row
