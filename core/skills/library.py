"""Every skill there is: listed, opened, saved without overwriting anybody, compared, restored, moved and archived."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from core.domain.clock import Clock, now
from core.domain.problems import Problem
from core.domain.skill import (
    MAIN,
    FileDifference,
    Moved,
    OpenSkill,
    Saved,
    SkillFile,
    SkillRow,
    SkillUse,
    SkillVersion,
    valid_name,
)
from core.skills.danger import file_dangers
from core.skills.format import Reading, decoded, read, summary, template, with_field
from core.skills.found import Disk, OnDisk, digest_of, hash_of
from core.skills.listing import Listing, Obeys
from core.skills.merge import merged, three_ways
from core.skills.packed import FILE_SIZE, FILES, TOTAL, check_name
from core.store.skills import SkillStore
from core.workspace.broker import Broker

OWN = "library/"
Changes = Mapping[str, bytes | None]
Bodies = dict[str, tuple[bytes, bool]]


class Library:
    """Reads at once, on whatever thread; writes on the store's.

    A name is a key of the list, or the plain name of a skill: then the one that goes before the others is meant.
    """

    def __init__(self, store: SkillStore, disk: Disk, clock: Clock = now) -> None:
        self._store = store
        self._disk = disk
        self._clock = clock
        self._listing = Listing(store, disk)

    @property
    def can_keep(self) -> bool:
        """Whether the data folder can be written."""
        return self._store.can_write

    def list(self, folder: Path | None = None, obeys: Obeys | None = None) -> tuple[SkillRow, ...]:
        """Every skill for this folder. `obeys` says which of the folder's own files are trusted; None: not any."""
        return tuple(self._listing.rows(folder, obeys))

    def key_of(self, name: str, folder: Path | None = None, obeys: Obeys | None = None) -> str:
        """Which skill is meant. Problem where there is none."""
        rows = self.list(folder, obeys)
        if any(row.key == name for row in rows) or "/" in name or name.startswith(("folder:", "home:")):
            return name
        named = sorted((row for row in rows if row.name == name), key=lambda row: (row.state != "on", row.state))
        if not named:
            raise Problem(f"There is no skill {name!r}.", "", "List them with `journeyman skills list`.")
        return named[0].key

    def open(self, name: str, folder: Path | None = None, obeys: Obeys | None = None) -> OpenSkill:
        """A skill with its text, its files and its versions."""
        key = self.key_of(name, folder, obeys)
        row = next((each for each in self.list(folder, obeys) if each.key == key), None) or self._listing.row(key)
        if row is None:
            raise Problem(f"There is no skill {name!r}.", "", "List them with `journeyman skills list`.")
        files, main = self._now(key)
        reading = _reading(main, files, _folder_of(key))
        others = (
            each
            for path, (body, _) in self._bodies(key, 0).items()
            if path != MAIN
            for each in file_dangers(path, body)
        )
        findings = (*reading.findings, *others)
        return OpenSkill(row, decoded(main)[0], row.version, findings, files, self._store.versions(key))

    def text(self, key: str, version: int = 0) -> str:
        """What SKILL.md says, or said in this version."""
        return decoded(self.body(key, MAIN, version))[0]

    def body(self, key: str, path: str = MAIN, version: int = 0) -> bytes:
        """A file of a skill. Version 0 is how it is now."""
        files = self._version(key, version).files if version else self._now(key)[0]
        found = next((file for file in files if file.path == path), None)
        if found is None:
            near = ", ".join(file.path for file in files[:20])
            raise Problem(f"The skill has no file {path!r}.", "", f"It has: {near}.")
        on_disk = None if version else self._disk.at(key)
        return self._disk.bodies(on_disk)[path] if on_disk else self._store.body(found.digest)

    def template(self, name: str, description: str = "Say what it does. Use it when …") -> str:
        """A text to begin a new skill with."""
        _refuse_name(name)
        return template(name, description)

    async def save(
        self, name: str, text: str, files: Changes | None = None, base: int = 0, *, by: str = "person", why: str = "",
        session: str = "", trust: bool = True,
    ) -> Saved | Moved:  # fmt: skip
        """A new version on top of `base`, which is the one the text was made from; 0 for a new skill.

        `files` are the others that change: contents, or None for one that goes. Where somebody was faster nothing is
        saved, and what came of it is given back. Problem where the text breaks a rule that it did not break before.
        """
        key = name if name.startswith((OWN, "builtin/", "folder:", "home:")) else f"{OWN}{name}"
        if key.startswith("builtin/"):  # what came with the program stays as it is; a changed one is the person's own
            key, base = await self._own_copy(key)
        if key.startswith(OWN):
            _refuse_name(key[len(OWN) :])
        elif await asyncio.to_thread(self._disk.at, key) is None:
            raise Problem(
                "This skill is not there any more.", f"There is no {key.partition(':')[2]}.", "Save it as new."
            )
        head = await self.kept(key)
        if head != base:
            return await asyncio.to_thread(self._moved, key, base, head, text, files or {})
        before = await asyncio.to_thread(self._bodies, key, head)
        bodies = _changed(before, text, files or {})
        reading = _reading(bodies[MAIN][0], listed(bodies), _folder_of(key))
        _refuse_worse(reading, before, _folder_of(key))
        if head and bodies == before:
            return Saved(key, head, reading.findings, unchanged=True)
        return await self._add(
            key, base, bodies, reading, text, files or {}, by=by, why=why, session=session, trust=trust
        )

    async def kept(self, key: str) -> int:
        """The newest version; what somebody else changed on the disk becomes one first."""
        found = await asyncio.to_thread(self._disk.at, key)
        head = self.head(key)
        if found is None or found.trouble or (head and self.digest(key) == found.digest):
            return head
        by = "builtin" if found.source == "builtin" else "disk"
        bodies = {hash_of(body): body for body in (await asyncio.to_thread(self._disk.bodies, found)).values()}
        made = SkillVersion(head + 1, _named(found), self._clock(), by, found.digest, files=found.files)
        await self._store.add(key, made, head, bodies, trust=by == "builtin")
        return head + 1

    def difference(self, key: str, a: int, b: int) -> tuple[FileDifference, ...]:
        """The files that differ between two versions; 0 is how it is now, -1 is nothing."""
        before, after = self._bodies(key, a), self._bodies(key, b)
        found = []
        for path in sorted(before.keys() | after.keys(), key=lambda path: (path != MAIN, path)):
            one, other = (bodies[path][0] if path in bodies else None for bodies in (before, after))
            if one != other:
                texts = [None if body is None else body.decode("utf-8", "replace") for body in (one, other)]
                plain = not any(body and b"\0" in body[:8192] for body in (one, other))
                found.append(FileDifference(path, texts[0], texts[1], plain))
        return tuple(found)

    async def restore(self, key: str, version: int, *, by: str = "person", why: str = "") -> Saved | Moved:
        """An old version as the newest one."""
        head = await self.kept(key)
        was = await asyncio.to_thread(self._bodies, key, version)
        here = await asyncio.to_thread(self._bodies, key, head)
        files: dict[str, bytes | None] = {path: None for path in here if path != MAIN}
        files |= {path: body for path, (body, _) in was.items() if path != MAIN}
        text = decoded(was[MAIN][0])[0]
        return await self.save(key, text, files, head, by=by, why=why or f"as in version {version}")

    async def trust(self, key: str, digest: str) -> None:
        """A person has looked at exactly these files, and wants them to be used. Problem where they are others now."""
        row = await asyncio.to_thread(self._listing.row, key)
        if row is None or row.digest != digest:
            raise Problem("The skill has changed since it was shown.", "", "Look at it again.")
        await self.kept(key)
        await self._store.mark(key, row.name, trusted=digest)

    async def distrust(self, key: str) -> None:
        """It is not used any more until somebody says so."""
        await self._mark(key, trusted="")

    async def distrust_below(self, folder: Path) -> None:
        """The same of every skill that lies in a folder."""
        for key, known in self._store.known().items():
            if known.trusted and key.startswith(f"folder:{folder}/"):
                await self._store.mark(key, known.name, trusted="")

    async def pin(self, key: str, on: bool = True) -> None:
        """Keep it first in the list, and out of reach of agents."""
        await self._mark(key, pinned=self._clock() if on else 0)

    async def disable(self, key: str, on: bool = True) -> None:
        """No agent is told of it."""
        await self._mark(key, disabled=self._clock() if on else 0)

    async def archive(self, key: str, on: bool = True) -> None:
        """Out of the way, with every version kept."""
        if not key.startswith(OWN):
            raise Problem("Only skills of the library can be archived.", "This one lies elsewhere.", "Switch it off.")
        await self._mark(key, archived=self._clock() if on else 0)

    async def rename(self, key: str, name: str) -> str:
        """Another name, in its text as well; the new key. Its past goes along."""
        if not key.startswith(OWN):
            raise Problem(
                "Only skills of the library can be renamed.", "This one lies elsewhere.", "Rename its folder."
            )
        _refuse_name(name)
        to, text = f"{OWN}{name}", self.text(key)
        if to == key:
            return key
        await self._store.move(key, to)
        head = await self.kept(to)
        saved = await self.save(to, with_field(text, "name", name), None, head, why=f"renamed from {key[len(OWN) :]}")
        if isinstance(saved, Moved):
            raise Problem("The skill was saved by somebody else meanwhile.", "", "Its text still has the former name.")
        return to

    def head(self, key: str) -> int:
        """The newest version that is kept; 0 for none."""
        known = self._store.known().get(key)
        return known.head if known else 0

    def newest(self) -> dict[str, tuple[int, str]]:
        """The newest version of each that is kept, and the digest of its files."""
        return {key: (version.number, version.digest) for key, version in self._store.heads().items()}

    def digest(self, key: str) -> str:
        """Of all files of the newest version that is kept; empty for none."""
        versions = self._store.versions(key)
        return versions[0].digest if versions else ""

    def used_in(self, key: str) -> tuple[SkillUse, ...]:
        """The runs that used it, the newest first."""
        return tuple(self._store.used_in(key))

    def files(self, key: str, version: int) -> tuple[SkillFile, ...]:
        """What a version is made of."""
        return self._version(key, version).files

    def contents(self, key: str, version: int = 0) -> Bodies:
        """Every file of a version with whether it can be run; of 0 how it is now."""
        self._now(key)
        return self._bodies(key, version)

    async def take(self, name: str, bodies: Bodies, base: int, why: str) -> int:
        """Keep files that came from elsewhere as they are, byte for byte; nobody uses them before somebody said so."""
        _refuse_name(name)
        key = f"{OWN}{name}"
        files = listed(bodies)
        made = SkillVersion(base + 1, name, self._clock(), "import", digest_of(files), why, files=files)
        contents = {hash_of(body): body for body, _ in bodies.values()}
        if not await self._store.add(key, made, base, contents, trust=False):
            raise Problem(f"The skill {name!r} was saved by somebody else meanwhile.", "", "Import it again.")
        return made.number

    async def _mark(self, key: str, **changes: int | str) -> None:
        row = await asyncio.to_thread(self._listing.row, key)
        if row is None:
            raise Problem(f"There is no skill {key!r}.", "", "List them with `journeyman skills list`.")
        await self._store.mark(key, row.name, **changes)

    async def _own_copy(self, key: str) -> tuple[str, int]:
        """A built-in skill becomes the first version of one of the library; its key, and the version like it."""
        own, found = f"{OWN}{key.partition('/')[2]}", self._disk.at(key)
        if found is None:
            raise Problem(f"There is no skill {key!r}.", "", "List them with `journeyman skills list`.")
        if versions := self._store.versions(own):
            return own, next((each.number for each in versions if each.digest == found.digest), 0)
        bodies = {hash_of(body): body for body in (await asyncio.to_thread(self._disk.bodies, found)).values()}
        made = SkillVersion(1, _named(found), self._clock(), "builtin", found.digest, files=found.files)
        await self._store.add(own, made, 0, bodies, trust=True)
        return own, 1

    async def _add(
        self, key: str, base: int, bodies: Bodies, reading: Reading, text: str, files: Changes, *, by: str, why: str,
        session: str, trust: bool,
    ) -> Saved | Moved:  # fmt: skip
        files_now = listed(bodies)
        name = reading.skill.name if reading.skill else _folder_of(key)
        made = SkillVersion(base + 1, name, self._clock(), by, digest_of(files_now), why, session, files_now)
        contents = {hash_of(body): body for body, _ in bodies.values()}
        if not await self._store.add(key, made, base, contents, trust):
            return await asyncio.to_thread(self._moved, key, base, await self.kept(key), text, files)
        if not key.startswith(OWN):
            await asyncio.to_thread(_write, Path(key.partition(":")[2]), bodies, self._bodies(key, base))
        return Saved(key, made.number, reading.findings)

    def _moved(self, key: str, base: int, head: int, text: str, files: Changes) -> Moved:
        old, new = self._bodies(key, base or -1), self._bodies(key, head)
        was, theirs = (decoded(each.get(MAIN, (b"", False))[0])[0] for each in (old, new))
        parts = three_ways(was, text, theirs)
        differ = [
            path for path, body in files.items() if new.get(path, (None,))[0] not in (body, old.get(path, (None,))[0])
        ]
        version = self._version(key, head)
        return Moved(key, base, version, theirs, parts, merged(parts), tuple(differ))

    def _now(self, key: str) -> tuple[tuple[SkillFile, ...], bytes]:
        """The files as they are, and what SKILL.md holds."""
        found = self._disk.at(key)
        if found:
            if found.trouble:
                raise Problem("This skill cannot be read.", found.trouble, "")
            return found.files, found.main
        versions = self._store.versions(key)
        if not versions:
            raise Problem(f"There is no skill {key!r}.", "", "List them with `journeyman skills list`.")
        main = next((file for file in versions[0].files if file.path == MAIN), None)
        return versions[0].files, self._store.body(main.digest) if main else b""

    def _bodies(self, key: str, version: int) -> Bodies:
        """The contents of a version with what can be run; of 0 how it is now, of -1 nothing."""
        if version < 0:
            return {}
        if version == 0:
            found = self._disk.at(key)
            if found and not found.trouble:
                bodies = self._disk.bodies(found)
                return {file.path: (bodies[file.path], file.executable) for file in found.files}
            versions = self._store.versions(key)
            files = versions[0].files if versions else ()
        else:
            files = self._version(key, version).files
        return {file.path: (self._store.body(file.digest), file.executable) for file in files}

    def _version(self, key: str, number: int) -> SkillVersion:
        found = next((each for each in self._store.versions(key) if each.number == number), None)
        if found is None:
            raise Problem(f"There is no version {number} of {key}.", "", f"See `journeyman skills history {key}`.")
        return found


def _refuse_name(name: str) -> None:
    if not valid_name(name):
        rule = "Small letters a to z, digits and single hyphens between them, at most 64."
        raise Problem(f"{name[:80]!r} is no name for a skill.", rule, "Choose another.")


def _folder_of(key: str) -> str:
    return key.rpartition("/")[2]


def _named(found: OnDisk) -> str:
    return found.name(found.reading().skill)


def listed(bodies: Bodies) -> tuple[SkillFile, ...]:
    """Contents as a version names them."""
    return tuple(SkillFile(path, hash_of(body), len(body), runs) for path, (body, runs) in sorted(bodies.items()))


def _reading(main: bytes, files: tuple[SkillFile, ...], folder: str) -> Reading:
    text, more = decoded(main)
    said = read(text, [file.path for file in files], folder=folder)
    return replace(said, findings=(*more, *said.findings))


def _changed(before: Bodies, text: str, files: Changes) -> Bodies:
    """All contents after a save. What could be run still can; a new script with a first line `#!` can as well."""
    main = text.encode("utf-8", "replace")
    after = dict(before) | {MAIN: (main, False)}
    if MAIN in before and decoded(before[MAIN][0])[0] == text:
        after[MAIN] = before[MAIN]  # byte for byte what it was, in whatever form
    for path, body in files.items():
        if path == MAIN:
            raise ValueError("the text of SKILL.md is given as text")
        check_name(path)
        if body is None:
            after.pop(path, None)
        else:
            after[path] = (body, before[path][1] if path in before else body.startswith(b"#!"))
    sizes = [len(body) for body, _ in after.values()]
    if len(sizes) > FILES or max(sizes) > FILE_SIZE or sum(sizes) > TOTAL:
        most = f"{FILES:,} files, {FILE_SIZE >> 20} MB each and {TOTAL >> 20} MB together are the most."
        raise Problem("This is too large for a skill.", most, "Take out what is not needed.")
    return after


def _refuse_worse(reading: Reading, before: Bodies, folder: str) -> None:
    """A save breaks no rule that was kept before; what came in from elsewhere may stay as it is."""
    had = (
        {each.what for each in _reading(before[MAIN][0], listed(before), folder).findings} if MAIN in before else set()
    )
    new = [each for each in reading.findings if each.level == "error" and each.what not in had]
    if reading.skill is None or new:
        errors = new or [each for each in reading.findings if each.level == "error"]
        told = summary(errors) or "It has no name or no description."
        raise Problem("This was not saved: it is against the rules for skills.", told, errors[0].do if errors else "")


def _write(place: Path, bodies: Bodies, before: Bodies) -> None:
    """Bring a folder on the disk to these contents."""
    with Broker(place) as broker:
        for path, (body, executable) in bodies.items():
            if before.get(path) != (body, executable):
                broker.write(path, body, protected=True, mode=0o755 if executable else 0)
        for path in before.keys() - bodies.keys():
            broker.remove(path, protected=True)
