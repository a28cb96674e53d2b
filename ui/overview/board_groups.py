"""Sorts the sessions of the Overview page into groups."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from core.domain.sessions import SessionRow, needs_decision

WAITING, RUNNING, FAILED, FINISHED = "waiting", "running", "failed", "finished"
GROUPS: Final = (WAITING, RUNNING, FAILED, FINISHED)
CLEARABLE: Final = (FAILED, FINISHED)


class BoardEntry(NamedTuple):
    """A session on the page. `agents` are the names of its sub-agents that are working or waiting."""

    group: str
    row: SessionRow
    agents: tuple[str, ...] = ()

    @property
    def session(self) -> str:
        return self.row.id


def board_group(row: SessionRow, unseen: Collection[str]) -> str:
    """Return the group of a session; "" if the page does not list it.

    `unseen` are the sessions whose end the user has not seen yet.
    """
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
    """Return the names of the sub-agents that are working or waiting, by the session that started them."""
    agents: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if row.parent and row.status in ("running", "waiting"):
            agents[row.parent] = (*agents.get(row.parent, ()), row.subagent)
    return agents


def group_board(rows: Iterable[SessionRow], unseen: Collection[str]) -> dict[str, list[SessionRow]]:
    """Return the sessions by group. Waiting and running ones are ordered oldest first, ended ones newest first."""
    groups: dict[str, list[SessionRow]] = {name: [] for name in GROUPS}
    for row in rows:
        if group := board_group(row, unseen):
            groups[group].append(row)
    groups[WAITING].sort(key=lambda row: (row.updated_at, row.id))
    groups[RUNNING].sort(key=lambda row: (row.created_at, row.id))
    for name in (FAILED, FINISHED):
        groups[name].sort(key=lambda row: (-row.updated_at, row.id))
    return groups


def list_entries(rows: Collection[SessionRow], unseen: Collection[str]) -> list[BoardEntry]:
    """Return the sessions to list, in the order of the groups."""
    agents = working_agents(rows)
    groups = group_board(rows, unseen)
    return [BoardEntry(group, row, agents.get(row.id, ())) for group, members in groups.items() for row in members]
