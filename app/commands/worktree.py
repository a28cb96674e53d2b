"""The command `worktree`: lists, merges and removes the git worktrees of sessions."""

from dataclasses import asdict
from pathlib import Path

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from core.domain.worktree import WorktreeCreated

FIRST = 4  # how many of a session's first events are searched for the one that names its worktree


async def worktree(context: Invocation) -> int:
    args, trees = context.args, context.engine.worktrees
    folder = (context.folder / args.folder).resolve()
    if args.action == "remove":
        removed = await trees.remove(folder, args.name, discard=args.discard)
        context.out.write(f"Removed {removed.folder} and the branch {removed.branch}.")
        return DONE
    worktrees = await trees.in_repository(folder)
    for entry in worktrees:
        names = [row.id for row in entry.sessions]
        if args.json:
            context.out.write_json(asdict(entry.tree) | {"sessions": names})
            continue
        tree = entry.tree
        changes = "a command is running" if tree.changed_files is None else f"{tree.changed_files} changed"
        context.out.write(f"{tree.branch}  {changes}, {tree.commits_ahead} ahead  {' '.join(names)}")
        context.out.write(f"      in {tree.folder}")
    if not worktrees and not args.json:
        context.out.write("No worktrees of sessions in this repository.")
    return DONE


async def print_kept_work(context: Invocation, session: str) -> None:
    """If a session worked in a git worktree, print how to merge or remove its changes."""
    created = None
    async for entry in context.engine.events(session):
        if entry.seq > FIRST or isinstance(created := entry.event, WorktreeCreated):
            break
    if not isinstance(created, WorktreeCreated) or context.args.json:
        return
    out, worktrees = context.out, await context.engine.worktrees.in_repository(Path(created.folder))
    out.write(f"The work is kept in {created.folder}, on the branch {created.branch}.")
    if any(worktree.tree.changed_files for worktree in worktrees if worktree.tree.branch == created.branch):
        out.write(f"Commit the changes: git -C {created.folder} add -A && git -C {created.folder} commit")
    out.write(f"Merge it: git -C {created.repository} merge {created.branch}")
    out.write(f"Remove it: journeyman worktree remove -C {created.repository} {created.branch}")
