"""The skill library, which keeps every version of each skill."""

import asyncio
from dataclasses import replace
from pathlib import Path

from core.domain.clock import Clock, now
from core.domain.problems import Problem
from core.domain.skill import (
    SKILL_FILE,
    OpenSkill,
    SkillAuthor,
    SkillFile,
    SkillFileDiff,
    SkillRow,
    SkillSaveConflict,
    SkillSaved,
    SkillUse,
    SkillVersion,
    is_valid_name,
)
from core.skills.listing import SkillListing, TrustCheck
from core.skills.merge import diff_three_ways, merge_parts
from core.skills.risk_scan import scan_file
from core.skills.skill_contents import (
    FileChanges,
    SkillContents,
    body_of,
    changed_contents,
    list_files,
    write_contents,
)
from core.skills.skill_disk import DiskSkill, SkillDisk, blob_name, files_digest
from core.skills.skill_md import ParsedSkill, decode_text, error_summary, parse_skill, set_field, skill_template
from core.store.skill_store import SkillStore

LIBRARY_PREFIX = "library/"
# The start of the keys of skills that come with Journeyman or with a package.
READ_ONLY_PREFIXES = ("builtin/", "package:")


class SkillLibrary:
    """All skills on this computer. Synchronous methods may be called from any thread.

    A parameter `name` accepts the key of a skill or its plain name. A plain name that several skills share refers to
    the skill with the highest precedence.
    """

    def __init__(self, store: SkillStore, disk: SkillDisk, clock: Clock = now) -> None:
        self._store = store
        self._disk = disk
        self._clock = clock
        self._listing = SkillListing(store, disk)

    @property
    def can_write(self) -> bool:
        """Whether skills can be changed, which needs a writable data folder."""
        return self._store.can_write

    def list(self, folder: Path | None = None, is_trusted: TrustCheck | None = None) -> tuple[SkillRow, ...]:
        """Return the skills for a folder.

        `is_trusted` decides whether the folder's own skills are trusted. With None, they are not.
        """
        return tuple(self._listing.rows(folder, is_trusted))

    def key_of(self, name: str, folder: Path | None = None, is_trusted: TrustCheck | None = None) -> str:
        """Return the key of the skill that a name refers to. Raise Problem if there is no such skill."""
        rows = self.list(folder, is_trusted)
        if any(row.key == name for row in rows) or "/" in name or name.startswith(("folder:", "home:", "package:")):
            return name
        matches = sorted((row for row in rows if row.name == name), key=lambda row: (row.state != "enabled", row.state))
        if not matches:
            raise Problem(f"There is no skill {name!r}.", "", "List them with `journeyman skills list`.")
        return matches[0].key

    def open(self, name: str, folder: Path | None = None, is_trusted: TrustCheck | None = None) -> OpenSkill:
        key = self.key_of(name, folder, is_trusted)
        rows = self.list(folder, is_trusted)
        row = next((row for row in rows if row.key == key), None) or self._listing.row(key)
        if row is None:
            raise Problem(f"There is no skill {name!r}.", "", "List them with `journeyman skills list`.")
        files, main = self._current(key)
        reading = _reading(main, files, _folder_of(key))
        findings = [*reading.findings]
        for path, (body, _) in self._bodies(key, 0).items():
            if path != SKILL_FILE:
                findings += scan_file(path, body)
        return OpenSkill(
            row=row,
            text=decode_text(main)[0],
            base=row.version,
            findings=tuple(findings),
            files=files,
            versions=self._store.versions(key),
        )

    def text(self, key: str, version: int = 0) -> str:
        """Return the SKILL.md text of a version. Version 0 is the current state."""
        return decode_text(self.body(key, SKILL_FILE, version))[0]

    def body(self, key: str, path: str = SKILL_FILE, version: int = 0) -> bytes:
        """Return the contents of a file of a skill. Version 0 is the current state."""
        files = self._version(key, version).files if version else self._current(key)[0]
        entry = next((file for file in files if file.path == path), None)
        if entry is None:
            examples = ", ".join(file.path for file in files[:20])
            raise Problem(f"The skill has no file {path!r}.", "", f"Its files are: {examples}.")
        on_disk = None if version else self._disk.find(key)
        return self._disk.read_files(on_disk)[path] if on_disk else self._store.body(entry.digest)

    def template(self, name: str, description: str = "Describe what it does. Use it when …") -> str:
        """Return the SKILL.md text that a new skill starts with."""
        _require_valid_name(name)
        return skill_template(name, description)

    async def save(
        self,
        name: str,
        text: str,
        files: FileChanges | None = None,
        base: int = 0,
        *,
        author: SkillAuthor = "user",
        reason: str = "",
        session: str = "",
        trust: bool = True,
    ) -> SkillSaved | SkillSaveConflict:
        """Save a new version of a skill that is based on version `base`; 0 creates a skill.

        `files` are the changes to files other than SKILL.md: new contents, or None to delete one. If a newer version
        than `base` exists, nothing is saved and the conflict is returned. Raise Problem if the text has errors that
        version `base` did not have.
        """
        has_prefix = name.startswith((LIBRARY_PREFIX, *READ_ONLY_PREFIXES, "folder:", "home:"))
        key = name if has_prefix else f"{LIBRARY_PREFIX}{name}"
        # A read-only skill stays as it is: its changed version is saved in the library.
        if key.startswith(READ_ONLY_PREFIXES):
            key, base = await self._library_copy(key)
        if key.startswith(LIBRARY_PREFIX):
            _require_valid_name(key[len(LIBRARY_PREFIX) :])
        elif await asyncio.to_thread(self._disk.find, key) is None:
            raise Problem(
                "This skill no longer exists.", f"{key.partition(':')[2]} was removed.", "Save it as a new skill."
            )
        head = await self.save_disk_changes(key)
        if head != base:
            return await asyncio.to_thread(self._conflict, key, base, head, text, files or {})
        before = await asyncio.to_thread(self._bodies, key, head)
        bodies = changed_contents(before, text, files or {})
        reading = _reading(bodies[SKILL_FILE][0], list_files(bodies), _folder_of(key))
        _require_no_new_errors(reading, before, _folder_of(key))
        if head and bodies == before:
            return SkillSaved(key, head, reading.findings, unchanged=True)
        return await self._add(
            key, base, bodies, reading, text, files or {}, by=author, why=reason, session=session, trust=trust
        )

    async def save_disk_changes(self, key: str) -> int:
        """If other programs changed the skill on disk, save the changes as a version.

        Return the latest version number.
        """
        disk_skill = await asyncio.to_thread(self._disk.find, key)
        head = self.latest_version(key)
        if disk_skill is None or disk_skill.error or (head and self.digest(key) == disk_skill.digest):
            return head
        author: SkillAuthor = "builtin" if disk_skill.source == "builtin" else "disk"
        version = self._disk_version(disk_skill, head + 1, author)
        await self._store.add(key, version, head, await self._disk_blobs(disk_skill), trust=author == "builtin")
        return version.number

    def _disk_version(self, skill: DiskSkill, number: int, author: SkillAuthor) -> SkillVersion:
        return SkillVersion(
            number=number,
            name=_name_of(skill),
            created_at=self._clock(),
            author=author,
            digest=skill.digest,
            files=skill.files,
        )

    async def _disk_blobs(self, skill: DiskSkill) -> dict[str, bytes]:
        """Return the contents of a skill's files by hash."""
        bodies = await asyncio.to_thread(self._disk.read_files, skill)
        return {blob_name(body): body for body in bodies.values()}

    def diff(self, key: str, old: int, new: int) -> tuple[SkillFileDiff, ...]:
        """Return the files that differ between two versions. Version 0 is the current state, -1 an empty skill."""
        before = self._bodies(key, old)
        after = self._bodies(key, new)
        diffs = []
        for path in sorted(before.keys() | after.keys(), key=lambda path: (path != SKILL_FILE, path)):
            old_body, new_body = body_of(before, path), body_of(after, path)
            if old_body != new_body:
                is_text = not any(body and b"\0" in body[:8192] for body in (old_body, new_body))
                diffs.append(SkillFileDiff(path, _decoded(old_body), _decoded(new_body), is_text))
        return tuple(diffs)

    async def restore(
        self, key: str, version: int, *, author: SkillAuthor = "user", reason: str = ""
    ) -> SkillSaved | SkillSaveConflict:
        """Save the contents of an old version as a new version."""
        head = await self.save_disk_changes(key)
        restored = await asyncio.to_thread(self._bodies, key, version)
        current = await asyncio.to_thread(self._bodies, key, head)
        files: dict[str, bytes | None] = {path: None for path in current if path != SKILL_FILE}
        files |= {path: body for path, (body, _) in restored.items() if path != SKILL_FILE}
        text = decode_text(restored[SKILL_FILE][0])[0]
        return await self.save(key, text, files, head, author=author, reason=reason or f"as in version {version}")

    async def trust(self, key: str, digest: str) -> None:
        """Trust the current files of a skill. `digest` identifies the files that the user reviewed.

        Raise Problem if the files have changed since.
        """
        row = await asyncio.to_thread(self._listing.row, key)
        if row is None or row.digest != digest:
            raise Problem("The skill has changed since it was shown.", "", "Review it again.")
        await self.save_disk_changes(key)
        await self._store.set_flags(key, row.name, trusted_digest=digest)

    async def revoke_trust(self, key: str) -> None:
        """Revoke trust in a skill."""
        await self._set_flags(key, trusted_digest="")

    async def revoke_trust_in(self, folder: Path) -> None:
        """Revoke trust in every skill that is stored in a project folder."""
        for key, record in self._store.records().items():
            if record.trusted_digest and key.startswith(f"folder:{folder}/"):
                await self._store.set_flags(key, record.name, trusted_digest="")

    async def pin(self, key: str, on: bool = True) -> None:
        """Pin or unpin a skill. A pinned skill is listed first, and agents cannot change it."""
        await self._set_flags(key, pinned=self._clock() if on else 0)

    async def disable(self, key: str, on: bool = True) -> None:
        """Disable a skill, or enable it if `on` is false. A disabled skill is not offered to the model."""
        await self._set_flags(key, disabled=self._clock() if on else 0)

    async def archive(self, key: str, on: bool = True) -> None:
        """Archive a skill of the library with all of its versions, or restore it if `on` is false."""
        if not key.startswith(LIBRARY_PREFIX):
            why = "This one is stored elsewhere."
            raise Problem("Only skills of the library can be archived.", why, "Disable it instead.")
        await self._set_flags(key, archived=self._clock() if on else 0)

    async def rename(self, key: str, name: str) -> str:
        """Rename a skill of the library, also in its SKILL.md. Its history is kept. Return the new key."""
        if not key.startswith(LIBRARY_PREFIX):
            raise Problem(
                "Only skills of the library can be renamed.", "This one is stored elsewhere.", "Rename its folder."
            )
        _require_valid_name(name)
        new_key = f"{LIBRARY_PREFIX}{name}"
        if new_key == key:
            return key
        text = set_field(self.text(key), "name", name)
        await self._store.rename(key, new_key)
        head = await self.save_disk_changes(new_key)
        saved = await self.save(new_key, text, base=head, reason=f"renamed from {key.removeprefix(LIBRARY_PREFIX)}")
        if isinstance(saved, SkillSaveConflict):
            why = "It was changed at the same time, so its text still contains the former name."
            raise Problem("The skill was renamed only in part.", why, "Change the name in its text.")
        return new_key

    def latest_version(self, key: str) -> int:
        """Return the latest stored version number, or 0 if there is none."""
        record = self._store.records().get(key)
        return record.latest_version if record else 0

    def latest_versions(self) -> dict[str, tuple[int, str]]:
        """Return the latest stored version number and its digest for each skill."""
        return {key: (version.number, version.digest) for key, version in self._store.latest_versions().items()}

    def digest(self, key: str) -> str:
        """Return the digest of the latest stored version; empty if there is none."""
        versions = self._store.versions(key)
        return versions[0].digest if versions else ""

    def used_in(self, key: str) -> tuple[SkillUse, ...]:
        """Return the runs that used a skill, newest first."""
        return tuple(self._store.used_in(key))

    def files(self, key: str, version: int) -> tuple[SkillFile, ...]:
        """Return the list of the files in a version of a skill."""
        return self._version(key, version).files

    def contents(self, key: str, version: int = 0) -> SkillContents:
        """Return the contents and executable flags of all files of a version. Version 0 is the current state."""
        self._current(key)
        return self._bodies(key, version)

    async def add_imported(self, name: str, bodies: SkillContents, base: int, reason: str) -> int:
        """Add imported files, unchanged and untrusted, as a version that follows version `base`. Return its number."""
        _require_valid_name(name)
        key = f"{LIBRARY_PREFIX}{name}"
        files = list_files(bodies)
        version = SkillVersion(
            number=base + 1,
            name=name,
            created_at=self._clock(),
            author="import",
            digest=files_digest(files),
            reason=reason,
            files=files,
        )
        contents = {blob_name(body): body for body, _ in bodies.values()}
        if not await self._store.add(key, version, base, contents, trust=False):
            raise Problem(f"The skill {name!r} was changed at the same time.", "", "Import it again.")
        return version.number

    async def _set_flags(self, key: str, **changes: int | str) -> None:
        row = await asyncio.to_thread(self._listing.row, key)
        if row is None:
            raise Problem(f"There is no skill {key!r}.", "", "List them with `journeyman skills list`.")
        await self._store.set_flags(key, row.name, **changes)

    async def _library_copy(self, key: str) -> tuple[str, int]:
        """Return the key of the copy of a read-only skill in the library, and the version of the copy that equals it.

        Without a copy, the skill is copied as version 1. The version is 0 if a copy exists but none of its versions is
        equal.
        """
        library_key = f"{LIBRARY_PREFIX}{_folder_of(key)}"
        original = self._disk.find(key)
        if original is None:
            raise Problem(f"There is no skill {key!r}.", "", "List them with `journeyman skills list`.")
        if versions := self._store.versions(library_key):
            return library_key, next((stored.number for stored in versions if stored.digest == original.digest), 0)
        author: SkillAuthor = "builtin" if original.source == "builtin" else "import"
        version = self._disk_version(original, 1, author)
        await self._store.add(library_key, version, 0, await self._disk_blobs(original), trust=True)
        return library_key, version.number

    async def _add(
        self,
        key: str,
        base: int,
        bodies: SkillContents,
        reading: ParsedSkill,
        text: str,
        files: FileChanges,
        *,
        by: SkillAuthor,
        why: str,
        session: str,
        trust: bool,
    ) -> SkillSaved | SkillSaveConflict:
        files_now = list_files(bodies)
        name = reading.skill.name if reading.skill else _folder_of(key)
        version = SkillVersion(
            number=base + 1,
            name=name,
            created_at=self._clock(),
            author=by,
            digest=files_digest(files_now),
            reason=why,
            session=session,
            files=files_now,
        )
        contents = {blob_name(body): body for body, _ in bodies.values()}
        if not await self._store.add(key, version, base, contents, trust):
            return await asyncio.to_thread(self._conflict, key, base, await self.save_disk_changes(key), text, files)
        if not key.startswith(LIBRARY_PREFIX):
            await asyncio.to_thread(write_contents, Path(key.partition(":")[2]), bodies, self._bodies(key, base))
        return SkillSaved(key, version.number, reading.findings)

    def _conflict(self, key: str, base: int, head: int, text: str, files: FileChanges) -> SkillSaveConflict:
        old = self._bodies(key, base or -1)
        latest = self._bodies(key, head)
        base_text = decode_text(body_of(old, SKILL_FILE) or b"")[0]
        head_text = decode_text(body_of(latest, SKILL_FILE) or b"")[0]
        parts = diff_three_ways(base_text, text, head_text)
        conflicting_files = [
            path for path, body in files.items() if body_of(latest, path) not in (body, body_of(old, path))
        ]
        version = self._version(key, head)
        return SkillSaveConflict(
            key=key,
            base=base,
            latest=version,
            theirs=head_text,
            hunks=parts,
            merged=merge_parts(parts),
            files=tuple(conflicting_files),
        )

    def _current(self, key: str) -> tuple[tuple[SkillFile, ...], bytes]:
        """Return the current files of a skill, and the contents of its SKILL.md."""
        disk_skill = self._disk.find(key)
        if disk_skill:
            if disk_skill.error:
                raise Problem("This skill cannot be read.", disk_skill.error, "")
            return disk_skill.files, disk_skill.skill_md
        versions = self._store.versions(key)
        if not versions:
            raise Problem(f"There is no skill {key!r}.", "", "List them with `journeyman skills list`.")
        main = next((file for file in versions[0].files if file.path == SKILL_FILE), None)
        return versions[0].files, self._store.body(main.digest) if main else b""

    def _bodies(self, key: str, version: int) -> SkillContents:
        """Return the contents and executable flag of each file, by path.

        Version 0 is the current state, -1 an empty skill.
        """
        if version < 0:
            return {}
        if version == 0:
            disk_skill = self._disk.find(key)
            if disk_skill and not disk_skill.error:
                bodies = self._disk.read_files(disk_skill)
                return {file.path: (bodies[file.path], file.executable) for file in disk_skill.files}
            versions = self._store.versions(key)
            files = versions[0].files if versions else ()
        else:
            files = self._version(key, version).files
        return {file.path: (self._store.body(file.digest), file.executable) for file in files}

    def _version(self, key: str, number: int) -> SkillVersion:
        version = next((candidate for candidate in self._store.versions(key) if candidate.number == number), None)
        if version is None:
            raise Problem(f"There is no version {number} of {key}.", "", f"See `journeyman skills history {key}`.")
        return version


def _decoded(body: bytes | None) -> str | None:
    return None if body is None else body.decode("utf-8", "replace")


def _require_valid_name(name: str) -> None:
    if not is_valid_name(name):
        rule = "A name has at most 64 letters a to z, digits and single hyphens, with no hyphen at either end."
        raise Problem(f"{name[:80]!r} is not a valid skill name.", rule, "Choose another name.")


def _folder_of(key: str) -> str:
    return key.rpartition("/")[2]


def _name_of(skill: DiskSkill) -> str:
    return skill.name_of(skill.parse().skill)


def _reading(main: bytes, files: tuple[SkillFile, ...], folder: str) -> ParsedSkill:
    text, encoding_findings = decode_text(main)
    parsed = parse_skill(text, [file.path for file in files], folder=folder)
    return replace(parsed, findings=(*encoding_findings, *parsed.findings))


def _require_no_new_errors(reading: ParsedSkill, before: SkillContents, folder: str) -> None:
    """Raise Problem if a save would add errors.

    Errors that the previous version has, for example an imported one, may stay.
    """
    previous = _reading(before[SKILL_FILE][0], list_files(before), folder).findings if SKILL_FILE in before else ()
    previous_messages = {finding.message for finding in previous}
    new = [
        finding for finding in reading.findings if finding.level == "error" and finding.message not in previous_messages
    ]
    if reading.skill is None or new:
        errors = new or [finding for finding in reading.findings if finding.level == "error"]
        why = error_summary(errors) or "It has no name or no description."
        raise Problem("The skill was not saved because it is not valid.", why, errors[0].fix if errors else "")
