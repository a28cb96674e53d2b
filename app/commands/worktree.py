"""The command `worktree`: lists, merges and removes the git worktrees of sessions."""

from dataclasses import asdict
from pathlib import Path

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from core.domain.worktree import WorktreeCreated

FIRST = 4  # number of events at the start of a session that are searched for its worktree


async def worktree(context: Invocation) -> int:
    typed, trees = context.args, context.engine.worktrees
    folder = (context.folder / typed.folder).resolve()
    if typed.action == "remove":
        gone = await trees.remove(folder, typed.name, discard=typed.discard)
        context.out.write(f"Removed {gone.folder} and the branch {gone.branch}.")
        return DONE
    found = await trees.in_repository(folder)
    for held in found:
        names = [row.id for row in held.sessions]
        if typed.json:
            context.out.write_json(asdict(held.tree) | {"sessions": names})
            continue
        tree = held.tree
        context.out.write(f"{tree.branch}  {tree.changed_files} changed, {tree.commits_ahead} ahead  {' '.join(names)}")
        context.out.write(f"      in {tree.folder}")
    if not found and not typed.json:
        context.out.write("No worktrees of sessions in this repository.")
    return DONE


async def print_kept_work(context: Invocation, session: str) -> None:
    """If a session worked in a git worktree, print how to merge or remove its changes."""
    made = None
    async for entry in context.engine.events(session):
        if entry.seq > FIRST or isinstance(made := entry.event, WorktreeCreated):
            break
    if not isinstance(made, WorktreeCreated) or context.args.json:
        return
    out, tree = context.out, await context.engine.worktrees.in_repository(Path(made.folder))
    out.write(f"The work is kept in {made.folder}, on the branch {made.branch}.")
    if any(held.tree.changed_files for held in tree if held.tree.branch == made.branch):
        out.write(f"Commit the changes: git -C {made.folder} add -A && git -C {made.folder} commit")
    out.write(f"Merge it: git -C {made.repository} merge {made.branch}")
    out.write(f"Remove it: journeyman worktree remove -C {made.repository} {made.branch}")
