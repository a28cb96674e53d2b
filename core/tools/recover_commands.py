"""Reverts what commands did if Journeyman was killed while they ran: in trusted files, and to the history of git.

Trusted files are also reverted after a power failure.
"""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.tools.revert_unapproved import revert_unapproved
from core.tools.tool_context import CallGrant, ToolContext
from core.workspace.command_record import CommandRecord, interrupted_commands
from core.workspace.folder_scan import FolderScan, UnrecordedChanges
from core.workspace.git_history import recover_history
from core.workspace.history_store import remove_abandoned

# What changed later than this after a command was last seen running was changed by the user, or by another program.
LATE_S = 10.0
RECOVERED_HISTORY = (
    "history of a repository that was gone after an earlier command was interrupted was restored; tell the user, who"
    " can delete it: {}"
)
UNRECOVERED = (
    "an earlier command was interrupted, and what it did to the history of the repositories could not be checked ({}),"
    " so every further call needs approval; tell the user"
)


def record_command(context: ToolContext, scan: FolderScan, approved: Collection[str] = ()) -> CommandRecord | None:
    """Record that a command is about to run that may write. `approved` are the protected paths it may change."""
    if context.grant.read_only or (context.grant.unsandboxed and context.level == "none"):
        return None
    state = scan.trusted_state() | {"approved": sorted({*context.grant.protected_paths, *approved})}
    return CommandRecord(context.data, context.folder, state | {"history": context.history.stored_as})


def recover_commands(context: ToolContext) -> tuple[tuple[str, ...], list[str]]:
    """Revert what commands that were interrupted in this folder did.

    Return the paths of trusted files that were reverted, and what the model must know about the history of git.
    """
    reverted: set[str] = set()
    notes: list[str] = []
    for state, alive in interrupted_commands(context.data, context.folder):
        notes += _restore_history(context, state.get("history", ""), alive)
        reverted |= _revert(context, state, alive)
    remove_abandoned(context.data, context.folder)
    return tuple(sorted(reverted)), notes


def _restore_history(context: ToolContext, name: str, alive: float) -> list[str]:
    try:
        restored = recover_history(context.data, name, alive + LATE_S) if name else ()
    except Exception as error:  # A command may have written anything there. The trusted files are still reverted.
        context.unsettled.add([".git"])
        return [UNRECOVERED.format(f"{type(error).__name__}: {error}")]
    return [RECOVERED_HISTORY.format(", ".join(restored))] if restored else []


def _revert(context: ToolContext, state: dict[str, Any], alive: float) -> set[str]:
    scan = FolderScan.from_state(context.folder, context.broker, state)
    changes, missed = scan.changes_of_state()
    context.committed.begin(scan.git_places)

    def is_early(path: str) -> bool:
        return _last_change(context.folder, path) <= alive + LATE_S

    early = UnrecordedChanges(
        tuple(filter(is_early, missed.unrecorded)),
        created=tuple(filter(is_early, missed.created)),
        originals=missed.originals,
        privileged=tuple(filter(is_early, missed.privileged)),
        closed=missed.closed,
    )
    grant = CallGrant(protected_paths=tuple(state["approved"]))
    outcome = revert_unapproved(
        replace(context, scan=scan, grant=grant), [change for change in changes if is_early(change.path)], early
    )
    return set(outcome.reverted)


def _last_change(folder: Path, path: str) -> float:
    """Return when a path was changed; for one that is gone, the folder that it was in. Nothing can set that time."""
    while True:
        try:
            return os.lstat(folder / path).st_ctime
        except OSError:
            if not path:
                return 0.0
            path = path.rpartition("/")[0]
