"""Imports skills from a zip file or folder after a preview, and exports them byte for byte."""

import asyncio
import dataclasses
import re
import secrets
import unicodedata
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.skill import NAME_LIMIT, SKILL_FILE, ImportedSkill, SkillFinding, is_valid_name
from core.skills.library import LIBRARY_PREFIX, SkillLibrary
from core.skills.risk_scan import scan_file
from core.skills.skill_archive import PackedSkill, read_skills
from core.skills.skill_contents import SkillContents, list_files
from core.skills.skill_disk import files_digest
from core.skills.skill_md import decode_text, parse_skill

ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that two exports of a skill are identical


async def preview_import(library: SkillLibrary, path: Path, *, replace: bool = False) -> tuple[ImportedSkill, ...]:
    """Return what importing a zip file or folder would add, without adding it."""
    previews = await asyncio.to_thread(_preview_all, library, path, replace)
    return tuple(preview.imported for preview in previews)


def inspect_skills(path: Path) -> tuple[ImportedSkill, ...]:
    """Return the findings for each skill in a zip file or folder, without comparing it to the library."""
    previews = []
    for packed in read_skills(path):
        if packed.error:
            previews.append(_failed_import(packed, packed.error))
            continue
        name, findings, text = _inspect(packed)
        previews.append(
            ImportedSkill(name=name or packed.folder, key="", findings=findings, files=tuple(packed.files), text=text)
        )
    return tuple(previews)


def _failed_import(packed: PackedSkill, problem: Problem) -> ImportedSkill:
    return ImportedSkill(packed.folder, "", error=str(problem))


class _Inspection(NamedTuple):
    """What is in a packed skill: its name ("" if it is unusable), the findings for its files, and its SKILL.md text."""

    name: str
    findings: tuple[SkillFinding, ...]
    text: str


class _Preview(NamedTuple):
    """A packed skill, and what importing it would add."""

    imported: ImportedSkill
    packed: PackedSkill


def _inspect(packed: PackedSkill) -> _Inspection:
    text, encoding_findings = decode_text(packed.files[SKILL_FILE])
    parsed = parse_skill(text, packed.files.keys(), folder=packed.folder)
    findings = [*encoding_findings, *parsed.findings]
    for path, body in packed.files.items():
        if path != SKILL_FILE:
            findings += scan_file(path, body)
    return _Inspection(name=parsed.skill.name if parsed.skill else "", findings=tuple(findings), text=text)


async def import_skills(
    library: SkillLibrary, path: Path, names: Collection[str] = (), *, replace: bool = False
) -> tuple[ImportedSkill, ...]:
    """Add the skills of a zip file or folder to the library: all, or those whose key or name is in `names`.

    Added skills are untrusted. If a skill of the same name exists, a number is appended to the name or, with `replace`,
    a version is added to the existing skill. Raise Problem, with nothing added, if one of `names` is not found.
    """
    imported = []
    previews = await asyncio.to_thread(_preview_all, library, path, replace)
    existing = {name for preview, _ in previews for name in (preview.name, preview.key)}
    if missing := next((name for name in names if name not in existing), ""):
        has = ", ".join(preview.name for preview, _ in previews[:20])
        raise Problem(f"There is no skill {missing!r} in {path.name}.", f"It contains: {has}.", "Nothing was added.")
    for preview, packed in previews:
        if preview.error or (names and preview.name not in names and preview.key not in names):
            imported.append(preview)
            continue
        version = library.latest_version(preview.key)
        if preview.name_taken_by != "same":
            why = f"imported from {path.name}"
            version = await library.add_imported(preview.key[len(LIBRARY_PREFIX) :], _bodies(packed), version, why)
        imported.append(dataclasses.replace(preview, version=version))
    return tuple(imported)


def export_skill(library: SkillLibrary, key: str, to: Path, version: int = 0) -> Path:
    """Write a skill into the folder `to`, or to a zip file if `to` ends with `.zip`. Never overwrite existing files.

    Return the path written. Version 0 is the current state.
    """
    bodies = library.contents(key, version)
    name = key.rpartition("/")[2]
    target = to if to.suffix.lower() == ".zip" else to / name
    if target.exists():
        raise Problem(f"{target} already exists.", "Nothing was overwritten.", "Choose another location.")
    part = target.with_name(f".journeyman-{secrets.token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix.lower() == ".zip":
            _write_zip(part, name, bodies)
        else:
            _write_folder(part, bodies)
        part.rename(target)
    except OSError as error:
        raise Problem(f"{target} could not be written.", f"{error.strerror}.", "Choose another location.") from error
    return target


def _write_zip(part: Path, name: str, bodies: SkillContents) -> None:
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, (body, executable) in sorted(bodies.items()):
            entry = zipfile.ZipInfo(f"{name}/{path}", ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            packed.writestr(entry, body)


def _write_folder(part: Path, bodies: SkillContents) -> None:
    for path, (body, executable) in bodies.items():
        file = part / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
        if executable:
            file.chmod(0o755)


def _preview_all(library: SkillLibrary, path: Path, replace: bool) -> list[_Preview]:
    taken_keys: set[str] = set()
    previews = []
    for packed in read_skills(path):
        preview = _preview_one(library, packed, taken_keys, replace)
        taken_keys.add(preview.key)
        previews.append(_Preview(preview, packed))
    return previews


def _preview_one(library: SkillLibrary, packed: PackedSkill, taken_keys: set[str], replace: bool) -> ImportedSkill:
    if packed.error:
        return _failed_import(packed, packed.error)
    inspection = _inspect(packed)
    preview = ImportedSkill(
        name=inspection.name or packed.folder,
        key="",
        findings=inspection.findings,
        files=tuple(packed.files),
        text=inspection.text,
    )
    if not inspection.name:
        errors = [finding.message for finding in inspection.findings if finding.level == "error"]
        return dataclasses.replace(preview, error=errors[0] if errors else "")
    preferred = _name(inspection.name, packed.folder)
    digest = files_digest(list_files(_bodies(packed)))
    key, number = f"{LIBRARY_PREFIX}{preferred}", 1
    while (existing := library.digest(key)) or key in taken_keys:
        if existing == digest:
            return dataclasses.replace(preview, key=key, name_taken_by="same")
        if replace and key not in taken_keys:
            return dataclasses.replace(preview, key=key, name_taken_by="other")
        number += 1
        key = f"{LIBRARY_PREFIX}{preferred[: NAME_LIMIT - 4].rstrip('-')}-{number}"
    return dataclasses.replace(preview, key=key, name_taken_by="other" if number > 1 else "")


def _name(name: str, folder: str) -> str:
    """Return the name for an imported skill: its own, or the closest valid one."""
    for candidate in (name, folder):
        if is_valid_name(candidate):
            return candidate
    plain = unicodedata.normalize("NFKD", name or folder).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:NAME_LIMIT].strip("-") or "skill"


def _bodies(packed: PackedSkill) -> SkillContents:
    return {path: (body, path in packed.executable) for path, body in packed.files.items()}
