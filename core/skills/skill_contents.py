"""The contents of a skill's files in memory: what a save changes, and how they are written to a folder."""

from collections.abc import Mapping
from pathlib import Path

from core.domain.problems import Problem
from core.domain.skill import SKILL_FILE, SkillFile
from core.domain.text import to_utf8
from core.skills.skill_archive import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TOTAL_BYTES,
    check_file_name,
    check_no_file_is_folder,
)
from core.skills.skill_disk import blob_name
from core.skills.skill_md import decode_text
from core.workspace.broker import FileBroker

SkillContents = dict[str, tuple[bytes, bool]]
"""The contents of each file and whether it is executable, by path."""
FileChanges = Mapping[str, bytes | None]
"""The new contents of files by path; None deletes a file."""


def list_files(bodies: SkillContents) -> tuple[SkillFile, ...]:
    """Return the list of these files, with their sizes and hashes."""
    return tuple(
        SkillFile(path, blob_name(body), len(body), is_executable)
        for path, (body, is_executable) in sorted(bodies.items())
    )


def body_of(contents: SkillContents, path: str) -> bytes | None:
    """Return the contents of a file, or None if there is no such file."""
    return contents[path][0] if path in contents else None


def changed_contents(before: SkillContents, text: str, files: FileChanges) -> SkillContents:
    """Return the contents of all files after a save.

    Executable files stay executable. A new file is executable if it starts with `#!`.
    """
    main = to_utf8(text)
    after = dict(before) | {SKILL_FILE: (main, False)}
    if SKILL_FILE in before and decode_text(before[SKILL_FILE][0])[0] == text:
        after[SKILL_FILE] = before[SKILL_FILE]  # the text is unchanged, so keep its original bytes and encoding
    for path, body in files.items():
        if path == SKILL_FILE:
            raise ValueError("the text of SKILL.md is given as text")
        check_file_name(path)
        if body is None:
            after.pop(path, None)
        else:
            after[path] = (body, before[path][1] if path in before else body.startswith(b"#!"))
    check_no_file_is_folder(after)
    sizes = [len(body) for body, _ in after.values()]
    if len(sizes) > MAX_FILES or max(sizes) > MAX_FILE_BYTES or sum(sizes) > MAX_TOTAL_BYTES:
        limit = (
            f"A skill may have up to {MAX_FILES:,} files of {MAX_FILE_BYTES >> 20} MB each and"
            f" {MAX_TOTAL_BYTES >> 20} MB in total."
        )
        raise Problem("This is too large for a skill.", limit, "Remove what is not needed.")
    return after


def write_contents(folder: Path, bodies: SkillContents, before: SkillContents) -> None:
    """Write the changed contents to a folder on disk and remove the deleted files."""
    with FileBroker(folder) as broker:
        for path, (body, is_executable) in bodies.items():
            if before.get(path) != (body, is_executable):
                broker.write(path, body, allow_protected=True, mode=0o755 if is_executable else 0)
        for path in before.keys() - bodies.keys():
            broker.remove(path, allow_protected=True)
