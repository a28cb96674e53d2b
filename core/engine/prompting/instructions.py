"""Loads the instruction files for a run: the user's own file, and those of a trusted project folder."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from core.domain.event_values import InstructionFile
from core.engine.policy.instruction_files import NAMES, FoundInstructions, instruction_files
from core.engine.policy.trust import FollowedFiles
from core.models.token_estimate import estimate_tokens
from core.tools.folder_walk import FolderWalk, printable_path

OWN_NAME = "AGENTS.md"
INSTRUCTIONS_MAX_CHARS = 32_000  # a longer file is cut off
TOTAL_MAX_CHARS = 96_000  # limit for all instruction files together; further files are left out
TOO_MUCH = f"All instructions together are longer than {TOTAL_MAX_CHARS:,} characters, so the file was left out."
IMPORTER_NOT_USED = "It is imported by {}, which is not used."
MAX_WALKED = 20_000  # files examined to find instructions in subfolders
MAX_NESTED = 30  # instruction files in subfolders that are listed in the prompt


@dataclass(frozen=True, slots=True)
class LoadedInstructions:
    """An instruction file. `text` is empty if the file is not followed or cannot be read.

    `is_own` means that it is the user's own file, which applies in every folder.
    """

    file: InstructionFile
    text: str = ""
    is_own: bool = False


def load_instructions(folder: Path, home: Path, follows: FollowedFiles | None) -> list[LoadedInstructions]:
    """Return the instructions for a run in a folder: the user's own in the data folder, then those of the project.

    A text that occurs in several files is included once. A file that `follows` rejects, or that cannot be read, is
    returned without text and with the reason. With `follows` None, project instructions are off.
    """
    loaded = _load_own(home)
    if follows is None:
        return loaded
    for found in instruction_files(folder):
        if item := _load(found, follows, loaded):
            loaded.append(item)
    return loaded


def nested_instructions(folder: Path) -> list[str]:
    """Return the paths of the instructions in subfolders; the model reads them when it works there."""
    files = islice(FolderWalk(folder).files(), MAX_WALKED)
    nested = islice((path for path in files if len(path) > 1 and path[-1] in NAMES), MAX_NESTED)
    try:
        return [printable_path(path) for path in nested]
    except OSError:  # The folder was deleted; the start of the run reports this.
        return []


def _load_own(home: Path) -> list[LoadedInstructions]:
    path = home / OWN_NAME
    try:
        text = path.read_text("utf-8", "replace").strip() if path.is_file() else ""
    except OSError as error:
        return [LoadedInstructions(InstructionFile(str(path), error=f"The file cannot be read: {error.strerror}."))]
    return [_included(str(path), text, INSTRUCTIONS_MAX_CHARS, is_own=True)] if text else []


def _load(
    found: FoundInstructions, follows: FollowedFiles, loaded: list[LoadedInstructions]
) -> LoadedInstructions | None:
    """Return a project file with its text, or with the reason why it is not used.

    None if it is empty or an already loaded file has the same text.
    """
    if found.error:
        return LoadedInstructions(InstructionFile(found.name, error=found.error))
    if reason := _reason_not_followed(found, follows, loaded):
        return LoadedInstructions(InstructionFile(found.name, len(found.contents), error=reason))
    text = found.contents.decode("utf-8", "replace").strip()
    if not text or any(text[:INSTRUCTIONS_MAX_CHARS] == item.text for item in loaded):
        return None
    remaining_chars = TOTAL_MAX_CHARS - sum(len(item.text) for item in loaded)
    if remaining_chars <= 0:
        return LoadedInstructions(InstructionFile(found.name, len(found.contents), error=TOO_MUCH))
    return _included(found.name, text, min(remaining_chars, INSTRUCTIONS_MAX_CHARS))


def _reason_not_followed(found: FoundInstructions, follows: FollowedFiles, loaded: list[LoadedInstructions]) -> str:
    """Return why the run does not follow the file; "" if it does. An imported file needs an importer that is used."""
    used_files = {item.file.name for item in loaded if not item.file.error}
    if found.importer and found.importer not in used_files:
        return IMPORTER_NOT_USED.format(found.importer)
    return "" if follows(found.name, found.contents) else follows.reason()


def _included(name: str, text: str, max_chars: int, *, is_own: bool = False) -> LoadedInstructions:
    """Return the first `max_chars` characters of a file that the run follows."""
    included = text[:max_chars]
    file = InstructionFile(name, len(text), len(included), tokens=estimate_tokens(included))
    return LoadedInstructions(file, included, is_own)
