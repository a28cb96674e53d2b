"""The session context: the folder, the date, the project's skills and instructions, and the conditions of the run."""

import json
from collections.abc import Sequence
from datetime import date, datetime
from itertools import islice
from pathlib import Path

from core.domain.events import RunStarted
from core.domain.provenance import ContentSource, mark_as_data
from core.domain.visible import visible
from core.engine.prompting.instructions import LoadedInstructions
from core.engine.prompting.prompt_templates import fill_template, join_sections
from core.engine.prompting.skills_section import skills_section
from core.engine.services.skills import SkillOffer
from core.tools.folder_walk import FolderWalk, printable_path

# Limits of the list of the folder's files in a compact prompt.
MAX_LISTED_FILES = 20
MAX_LIST_CHARS = 600


def session_context(
    run_start: RunStarted,
    folder: Path,
    instructions: Sequence[LoadedInstructions],
    nested_files: Sequence[str],
    usable_skills: Sequence[SkillOffer],
    *,
    compact: bool,
) -> str:
    """Return the text that precedes the first user message of a session.

    Text that does not change between sessions in this folder comes first, so that it stays in prompt caches. It is
    followed by the random data token and the instructions that are marked with it. The user's own instructions and
    skills are left out; they are in the system prompt.

    Args:
        run_start: the start of the run; its boundary is the data token.
        nested_files: the paths of the instruction files in subfolders.
        compact: also list the first files of the folder, for small models, which otherwise guess names.
    """
    return join_sections(
        _folder_and_date_section(folder),
        _folder_files_section(folder) if compact else "",
        skills_section([offer for offer in usable_skills if offer.row.source == "folder"], "project_skills"),
        fill_template("data_token", boundary=run_start.boundary),
        _project_instructions_section(instructions, run_start.boundary),
        _nested_instructions_section(nested_files, run_start.boundary),
        _sub_agent_section(run_start.script_role),
        _output_schema_section(run_start.output_schema.head),
        _sealed_files_section(run_start.sealed),
    )


def today() -> date:
    """Return the date in the user's time zone."""
    return datetime.now().astimezone().date()


def _folder_and_date_section(folder: Path) -> str:
    day = today()
    return fill_template("folder_and_date", folder=str(folder), today=f"{day:%A}, {day.isoformat()}")


def _folder_files_section(folder: Path) -> str:
    """Return the section with the first file names in the folder; "" if it has no files.

    The names are JSON strings, so that no name can end the list.
    """
    names = [printable_path(path) for path in islice(FolderWalk(folder).files(), MAX_LISTED_FILES + 1)]
    if not names:
        return ""
    listed = names[:MAX_LISTED_FILES]
    while sum(map(len, listed)) > MAX_LIST_CHARS:
        listed.pop()
    if len(listed) < len(names):
        listed.append("…")
    return fill_template("folder_files", names=json.dumps(listed, ensure_ascii=False))


def _project_instructions_section(instructions: Sequence[LoadedInstructions], boundary: str) -> str:
    marked = [_marked_instructions(loaded, boundary) for loaded in instructions if loaded.text and not loaded.is_own]
    if not marked:
        return ""
    return join_sections(fill_template("project_instructions"), *marked)


def _marked_instructions(loaded: LoadedInstructions, boundary: str) -> str:
    """Return the instructions marked as data, followed by a note if they were truncated."""
    file = loaded.file
    marked = mark_as_data(loaded.text, ContentSource("folder", file.name), boundary)
    if file.size <= file.included:
        return marked
    return f"{marked}\n[Truncated after {file.included:,} characters. Read the file for the rest.]"


def _nested_instructions_section(nested_files: Sequence[str], boundary: str) -> str:
    """Return the section that lists instruction files in subfolders, marked as data: file names are untrusted."""
    if not nested_files:
        return ""
    marked = mark_as_data("\n".join(nested_files), ContentSource("folder", "files"), boundary)
    return f"{fill_template('nested_instructions')}\n{marked}"


def _sub_agent_section(name: str) -> str:
    return fill_template("sub_agent", name=name) if name else ""


def _output_schema_section(schema: str) -> str:
    return fill_template("output_schema", schema=schema) if schema else ""


def _sealed_files_section(patterns: Sequence[str]) -> str:
    return fill_template("sealed_files", patterns=", ".join(map(visible, patterns))) if patterns else ""
