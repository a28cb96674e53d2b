"""`worktree`: the git worktrees in which sessions work."""

from dataclasses import asdict
from pathlib import Path

from app.commands.context import Context
from app.commands.exits import DONE
from core.domain.worktree import WorktreeMade

FIRST = 4  # entries that say why a session is there


async def worktree(context: Context) -> int:
    typed, trees = context.typed, context.engine.worktrees
    folder = (context.folder / typed.folder).resolve()
    if typed.action == "remove":
        gone = await trees.remove(folder, typed.name, lose=typed.discard)
        context.out.write(f"Removed {gone.folder} and the branch {gone.branch}.")
        return DONE
    found = await trees.of(folder)
    for held in found:
        names = [row.id for row in held.sessions]
        if typed.json:
            context.out.json(asdict(held.tree) | {"sessions": names})
            continue
        tree = held.tree
        context.out.write(f"{tree.branch}  {tree.changed} changed, {tree.ahead} ahead  {' '.join(names)}")
        context.out.write(f"      in {tree.folder}")
    if not found and not typed.json:
        context.out.write("There are no worktrees of sessions here.")
    return DONE


async def tell_kept(context: Context, session: str) -> None:
    """What a person does with the work of a session that has ended, where it worked in a worktree."""
    made = None
    async for entry in context.engine.entries(session):
        if entry.seq > FIRST or isinstance(made := entry.event, WorktreeMade):
            break
    if not isinstance(made, WorktreeMade) or context.typed.json:
        return
    out, tree = context.out, await context.engine.worktrees.of(Path(made.folder))
    out.write(f"The work is kept in {made.folder}, on the branch {made.branch}.")
    if any(held.tree.changed for held in tree if held.tree.branch == made.branch):
        out.write(f"Keep the changes: git -C {made.folder} add -A && git -C {made.folder} commit")
    out.write(f"Take it over: git -C {made.repository} merge {made.branch}")
    out.write(f"Remove it: journeyman worktree remove -C {made.repository} {made.branch}")
