"""Reverts the changes of commands that ran when Journeyman was killed: to trusted files and to git history.

Trusted files are also reverted after a power failure.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.tools.revert_unapproved import revert_unapproved
from core.tools.tool_context import CallGrant, ToolContext
from core.workspace.command_record import (
    CommandRecord,
    InterruptedCommand,
    interrupted_commands,
    interrupted_folders,
)
from core.workspace.file_change import FolderChanges, UnrecordedChanges
from core.workspace.folder_scan import FolderScan
from core.workspace.git_history import recover_history
from core.workspace.history_store import remove_abandoned
from core.workspace.threads import run_to_completion

# Seconds since a command was last seen running. Later changes are attributed to the user or another program.
LATE_S = 10.0
RECOVERED_HISTORY = (
    "history of a repository that was gone after an earlier command was interrupted was restored; tell the user, who"
    " can delete it: {}"
)
UNRECOVERED = (
    "an earlier command was interrupted, and what it did to the history of the repositories could not be checked ({}),"
    " so every further call needs approval; tell the user"
)


class RecoveredCommands(NamedTuple):
    """The paths of reverted trusted files, and notes for the model about restored git history."""

    reverted: tuple[str, ...]
    notes: list[str]


def record_command(context: ToolContext, scan: FolderScan) -> CommandRecord | None:
    """Record on disk that a command is about to run, for `recover_commands`.

    Return None if nothing could be reverted: the command cannot write, or the user let it run without a sandbox.
    """
    if context.grant.read_only or (context.grant.unsandboxed and context.level == "none"):
        return None
    state = scan.trusted_state() | {"approved": sorted(context.grant.protected_paths)}
    record = CommandRecord(context.data, context.folder, state | {"history": context.history.stored_as})
    scan.follow_own_writes(record.note_own_write)
    return record


def recover_commands(context: ToolContext) -> RecoveredCommands:
    """Revert the changes that interrupted commands have made in this folder."""
    reverted: set[str] = set()
    notes: list[str] = []
    for command in interrupted_commands(context.data, context.folder):
        notes += _restore_history(context, command)
        reverted |= _revert(context, command)
    remove_abandoned(context.data, context.folder)
    return RecoveredCommands(tuple(sorted(reverted)), notes)


async def recover_folders(data: Path, open_context: Callable[[Path], ToolContext]) -> dict[str, tuple[str, ...]]:
    """Revert the changes of interrupted commands in all folders, before the user's shell or editor acts on them.

    Return the reverted paths by folder. Whatever cannot be reverted is tried again before the next command there.
    """
    reverted: dict[str, tuple[str, ...]] = {}
    for folder in await run_to_completion(interrupted_folders, data):
        with contextlib.suppress(Problem, OSError):  # The folder was deleted.
            context = open_context(folder)
            try:
                recovered = await run_to_completion(recover_commands, context)
                reverted[str(folder)] = recovered.reverted
            finally:
                await context.close()
    return reverted


def _restore_history(context: ToolContext, command: InterruptedCommand) -> list[str]:
    """Restore the git history that a command deleted, and return notes for the model."""
    name = command.state.get("history", "")
    try:
        restored = recover_history(context.data, name, command.last_seen + LATE_S) if name else ()
    except Exception as error:  # A command may have corrupted the repository. Still revert the trusted files.
        context.unsettled.add([".git"])
        return [UNRECOVERED.format(f"{type(error).__name__}: {error}")]
    return [RECOVERED_HISTORY.format(", ".join(restored))] if restored else []


def _revert(context: ToolContext, command: InterruptedCommand) -> set[str]:
    """Revert what a command changed in trusted files, and return their paths."""
    scan = FolderScan.from_state(context.folder, context.broker, command.state)
    changes, missed = scan.changes_of_state()
    context.committed.begin(scan.git_places)

    def is_early(path: str) -> bool:
        return _last_change(context.folder, path) <= command.last_seen + LATE_S

    missed_early = UnrecordedChanges(
        unrecorded=tuple(filter(is_early, missed.unrecorded)),
        created=tuple(filter(is_early, missed.created)),
        originals=missed.originals,
        privileged=tuple(filter(is_early, missed.privileged)),
        closed=missed.closed,
        loosened={path: mode for path, mode in missed.loosened.items() if is_early(path)},
    )
    grant = CallGrant(protected_paths=tuple(command.state["approved"]))
    early_changes = FolderChanges(tuple(change for change in changes if is_early(change.path)), missed_early)
    return set(revert_unapproved(replace(context, scan=scan, grant=grant), early_changes).reverted)


def _last_change(folder: Path, path: str) -> float:
    """Return the ctime of a path, which no program can set; of a deleted one, that of its closest existing parent."""
    while True:
        try:
            return os.lstat(folder / path).st_ctime
        except OSError:
            if not path:
                return 0.0
            path = path.rpartition("/")[0]
