"""Reverts what commands changed in trusted files if Journeyman was killed, or the power failed, while they ran."""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.tools.revert_unapproved import revert_unapproved
from core.tools.tool_context import CallGrant, ToolContext
from core.workspace.command_record import CommandRecord, interrupted_commands
from core.workspace.folder_scan import FolderScan, UnrecordedChanges

# What changed later than this after a command was last seen running was changed by the user, or by another program.
LATE_S = 10.0


def record_command(context: ToolContext, scan: FolderScan, approved: Collection[str] = ()) -> CommandRecord | None:
    """Record that a command is about to run that may write. `approved` are the protected paths it may change."""
    if context.grant.read_only or (context.grant.unsandboxed and context.level == "none"):
        return None
    state = scan.trusted_state() | {"approved": sorted({*context.grant.protected_paths, *approved})}
    return CommandRecord(context.data, context.folder, state)


def recover_commands(context: ToolContext) -> tuple[str, ...]:
    """Revert what commands that were interrupted in this folder changed in trusted files; return the paths."""
    reverted: set[str] = set()
    for state, alive in interrupted_commands(context.data, context.folder):
        reverted |= _revert(context, state, alive)
    return tuple(sorted(reverted))


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
