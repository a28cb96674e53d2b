"""Skills carried in from a zip file or a folder, looked at first, and carried out again byte for byte."""

import asyncio
import dataclasses
import re
import secrets
import unicodedata
import zipfile
from collections.abc import Collection
from pathlib import Path

from core.domain.problems import Problem
from core.domain.skill import MAIN, NAME_LIMIT, Finding, Imported, valid_name
from core.skills.danger import file_dangers
from core.skills.format import decoded, read
from core.skills.found import digest_of
from core.skills.library import OWN, Bodies, Library, listed
from core.skills.packed import Packed, unpacked

YEAR_ONE = (1980, 1, 1, 0, 0, 0)  # a zip file made twice of the same skill is the same file


async def look_into(library: Library, path: Path, *, replace: bool = False) -> tuple[Imported, ...]:
    """What an import would bring; nothing is kept."""
    return tuple(found for found, _ in await asyncio.to_thread(_looked, library, path, replace))


def seen(path: Path) -> tuple[Imported, ...]:
    """What is to be said of each skill found there, by itself."""
    found = []
    for packed in unpacked(path):
        if packed.trouble:
            found.append(_left_out(packed, packed.trouble))
            continue
        name, findings, _ = _said(packed)
        found.append(Imported(name or packed.folder, "", findings))
    return tuple(found)


def _left_out(packed: Packed, trouble: Problem) -> Imported:
    return Imported(packed.folder, "", trouble=str(trouble))


def _said(packed: Packed) -> tuple[str, tuple[Finding, ...], str]:
    """The name of a skill, empty where nobody could use it, what is to be said of its files, and its text."""
    text, more = decoded(packed.files[MAIN])
    said = read(text, packed.files.keys(), folder=packed.folder)
    others = (each for path, body in packed.files.items() if path != MAIN for each in file_dangers(path, body))
    return said.skill.name if said.skill else "", (*more, *said.findings, *others), text


async def bring(
    library: Library, path: Path, names: Collection[str] = (), *, replace: bool = False
) -> tuple[Imported, ...]:
    """Keep the skills found there, or those of them with these keys or names; none is used before it is trusted.

    One with the name of another is kept beside it, or with `replace` as its next version.
    """
    brought, looked = [], await asyncio.to_thread(_looked, library, path, replace)
    there = {name for found, _ in looked for name in (found.name, found.key)}
    if missing := next((name for name in names if name not in there), ""):
        has = ", ".join(found.name for found, _ in looked[:20])
        raise Problem(f"There is no skill {missing!r} in {path.name}.", f"It has: {has}.", "Nothing was added.")
    for found, packed in looked:
        if found.trouble or (names and found.name not in names and found.key not in names):
            brought.append(found)
            continue
        version = library.head(found.key)
        if found.clash != "same":
            why = f"imported from {path.name}"
            version = await library.take(found.key[len(OWN) :], _bodies(packed), version, why)
        brought.append(dataclasses.replace(found, version=version))
    return tuple(brought)


def export(library: Library, key: str, to: Path, version: int = 0) -> Path:
    """Write a skill into the folder `to`, or as a zip file if it is called so; nothing that is there is overwritten."""
    bodies = library.contents(key, version)
    name = key.rpartition("/")[2]
    target = to if to.suffix.lower() == ".zip" else to / name
    if target.exists():
        raise Problem(f"{target} is there already.", "Nothing is overwritten.", "Choose another place.")
    part = target.with_name(f".journeyman-{secrets.token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix.lower() == ".zip":
            _pack(part, name, bodies)
        else:
            _lay_out(part, bodies)
        part.rename(target)
    except OSError as error:
        raise Problem(f"{target} cannot be written.", f"{error.strerror}.", "Choose another place.") from error
    return target


def _pack(part: Path, name: str, bodies: Bodies) -> None:
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, (body, executable) in sorted(bodies.items()):
            entry = zipfile.ZipInfo(f"{name}/{path}", YEAR_ONE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            packed.writestr(entry, body)


def _lay_out(part: Path, bodies: Bodies) -> None:
    for path, (body, executable) in bodies.items():
        file = part / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
        if executable:
            file.chmod(0o755)


def _looked(library: Library, path: Path, replace: bool) -> list[tuple[Imported, Packed]]:
    taken: set[str] = set()
    found = []
    for packed in unpacked(path):
        made = _one(library, packed, taken, replace)
        taken.add(made.key)
        found.append((made, packed))
    return found


def _one(library: Library, packed: Packed, taken: set[str], replace: bool) -> Imported:
    if packed.trouble:
        return _left_out(packed, packed.trouble)
    called, findings, text = _said(packed)
    if not called:
        why = next((each.what for each in findings if each.level == "error"), "")
        return Imported(packed.folder, "", findings, tuple(packed.files), text, trouble=why)
    wanted = _name(called, packed.folder)
    digest = digest_of(listed(_bodies(packed)))
    name, number = wanted, 1
    while (there := library.digest(f"{OWN}{name}")) or f"{OWN}{name}" in taken:
        if there == digest:
            return Imported(called, f"{OWN}{name}", findings, tuple(packed.files), text, clash="same")
        if replace and f"{OWN}{name}" not in taken:
            return Imported(called, f"{OWN}{name}", findings, tuple(packed.files), text, clash="other")
        number += 1
        name = f"{wanted[: NAME_LIMIT - 4].rstrip('-')}-{number}"
    return Imported(called, f"{OWN}{name}", findings, tuple(packed.files), text, clash="other" if number > 1 else "")


def _name(name: str, folder: str) -> str:
    """What it is called in the library: as it says, or as near to that as the rules allow."""
    for wanted in (name, folder):
        if valid_name(wanted):
            return wanted
    plain = unicodedata.normalize("NFKD", name or folder).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:NAME_LIMIT].strip("-") or "skill"


def _bodies(packed: Packed) -> Bodies:
    return {path: (body, path in packed.executable) for path, body in packed.files.items()}
