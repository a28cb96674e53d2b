"""Texts of the Changes tab about the steps that changed a file."""

import os
import posixpath
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from PySide6.QtCore import QCoreApplication

from core.domain.sessions import ACTIVE_STATUSES, SessionRow
from core.domain.steps import Step
from core.domain.untrusted_file import UntrustedFile
from core.timeline.session_activity import ChangedFile, FileEdit
from core.timeline.text_diff import is_text
from ui.changes.shown_diff import FileContents
from ui.style.number_formats import size
from ui.text.visible import visible

MAX_TEXT_BYTES: Final = 8 * 1024 * 1024


class StepLookup(Protocol):
    """Finds the steps of a session; implemented by the store's reader."""

    def row_of(self, session: str, seq: int) -> int | None: ...

    def steps(self, session: str, first: int, count: int) -> list[Step]: ...


def step_of(lookup: StepLookup, session: str, change: FileEdit) -> Step | None:
    row = lookup.row_of(session, change.seq)
    steps = lookup.steps(session, row, 1) if row is not None else []
    return steps[0] if steps else None


def changing_steps(lookup: StepLookup, session: str, files: Iterable[ChangedFile]) -> list[Step]:
    """Return the steps that changed any of these files, in order. Reverts are left out."""
    changes = (change for file in files for change in file.changes if not change.rewound)
    steps = {step.row: step for change in changes if (step := step_of(lookup, session, change))}
    return [steps[row] for row in sorted(steps)]


def step_name(step: Step | None, change: FileEdit) -> str:
    """Return a name for the step that made a change, such as `step 12`."""
    if change.rewound:
        return _tr("revert undone") if change.undoes_revert else _tr("reverted")
    return _tr("step {}").format(step.number) if step and step.number else _tr("one change")


def hunk_obstacle(file: ChangedFile, before: str, after: str) -> str:
    """Return why no hunk of the diff between two versions of a file can be reverted; "" if hunks can be reverted.

    A version is named by the ID of its contents; "" means that the file did not exist.
    """
    if after != file.changes[-1].after:
        return _tr("Later steps changed this file again. Show all its changes to revert a hunk.")
    if not (before and after) and before != file.changes[0].before:
        return _tr("This step created or deleted the file. Show all its changes to revert them.")
    return ""


def send_obstacle(session: SessionRow) -> str:
    """Return why comments cannot be sent to a session; "" if they can."""
    if session.imported_from:
        return _tr("An imported session is read-only. Fork it to send comments.")
    return _tr("First choose what to do about the interrupted step.") if session.status == "interrupted" else ""


def revert_obstacle(session: SessionRow, missing_folder: str) -> str:
    """Return why no file of a session can be reverted now; "" if files can be reverted."""
    if session.imported_from:
        return _tr("The files of an imported session cannot be reverted.")
    if session.folder and session.folder == missing_folder:
        return _tr("The folder of this session is gone, so its files cannot be reverted.")
    if session.status in ACTIVE_STATUSES:
        return _tr("Pause or stop the run to revert files.")
    return ""


def file_obstacle(file: ChangedFile) -> str:
    """Return why there is nothing to revert in a file; "" if it can be reverted."""
    if not file.has_contents:
        return _tr("The file cannot be reverted, because its contents were not recorded.")
    return _tr("There is nothing to revert: the file is the same as before.") if file.unchanged else ""


def diff_obstacle(old: bytes, new: bytes, contents: FileContents) -> str:
    """Return why there is no diff of two versions of a file, whose IDs are `contents`; "" if there is one."""
    sizes = size(len(old)), size(len(new))
    if not is_text(old) or not is_text(new):
        return _tr("Binary file: {} before, {} after.").format(*sizes)
    if max(len(old), len(new)) > MAX_TEXT_BYTES:
        return _tr("Too large to compare line by line: {} before, {} after.").format(*sizes)
    if old != new:
        return ""
    if contents.after and not contents.before:
        return _tr("The file is new and empty.")
    if contents.before and not contents.after:
        return _tr("The file was empty, and was deleted.")
    return _tr("The file is the same as before the agent changed it.")


def unreviewed_row(unreviewed: Mapping[str, UntrustedFile], folder: str, path: str) -> UntrustedFile | None:
    """Return the entry that marks a file as untrusted, either its own or that of a folder it is in.

    None if there is none.
    """
    if not unreviewed:
        return None
    full_path = posixpath.normpath(posixpath.join(folder, path.replace(os.sep, "/")))
    parts = full_path.split("/")
    folders = ("/".join(parts[:count]) + "/" for count in range(len(parts), 0, -1))
    marked = (unreviewed[name] for name in (full_path, *folders) if name in unreviewed)
    return next(marked, None)


def origin(lookup: StepLookup, session: str, file: ChangedFile) -> str:
    """Return a text that says which steps, or which command, changed the file."""
    steps = [step_of(lookup, session, change) for change in file.changes if not change.rewound]
    commands = [step for step in steps if step and step.kind == "command"]
    if commands:
        text = _tr("Step {} changed this file by a command: {}")
        return text.format(commands[-1].number, visible(commands[-1].object)[:120])
    numbers = [str(step.number) for step in steps[-6:] if step]
    text = _tr("Changed in steps {}.") if len(numbers) > 1 else _tr("Changed in step {}.")
    return text.format(", ".join(numbers)) if numbers else ""


def _tr(text: str) -> str:
    return QCoreApplication.translate("changes", text)
