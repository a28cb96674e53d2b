"""Sorts the sessions of the Overview page into groups."""

from collections.abc import Collection, Iterable
from typing import Final

from core.domain.sessions import FAILED_REQUEST, SessionRow

WAITING, RUNNING, FAILED, FINISHED = "waiting", "running", "failed", "finished"
GROUPS: Final = (WAITING, RUNNING, FAILED, FINISHED)


def board_group(row: SessionRow, unseen: Collection[str]) -> str:
    """Return the group of a session, or an empty string if the page does not list it."""
    if row.trashed or row.imported_from or (row.parent and row.status != "waiting"):
        return ""
    if row.status == "waiting" or needs_decision(row):
        return "" if row.archived else WAITING
    if row.status == "running":
        return RUNNING
    if row.id in unseen:
        return FAILED if row.status == "failed" else FINISHED
    return ""


def working_agents(rows: Iterable[SessionRow]) -> dict[str, tuple[str, ...]]:
    """Return the names of the sub-agents that work or wait, by the session that started them."""
    agents: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if row.parent and row.status in ("running", "waiting"):
            agents[row.parent] = (*agents.get(row.parent, ()), row.subagent)
    return agents


def needs_decision(row: SessionRow) -> bool:
    """Return whether a session waits for a decision that its own page offers, such as to try a request again."""
    return row.status == "interrupted" or (row.status == "paused" and row.activity_kind == FAILED_REQUEST)


def group_board(rows: Iterable[SessionRow], unseen: Collection[str]) -> dict[str, list[SessionRow]]:
    """Return the sessions by group: waiting and running ones oldest first, ended ones newest first."""
    groups: dict[str, list[SessionRow]] = {name: [] for name in GROUPS}
    for row in rows:
        if group := board_group(row, unseen):
            groups[group].append(row)
    groups[WAITING].sort(key=lambda row: (row.updated_at, row.id))
    groups[RUNNING].sort(key=lambda row: (row.created_at, row.id))
    for name in (FAILED, FINISHED):
        groups[name].sort(key=lambda row: (-row.updated_at, row.id))
    return groups
