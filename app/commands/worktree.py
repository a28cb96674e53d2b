"""The command `worktree`: lists, merges and removes the git worktrees of sessions."""

from dataclasses import asdict
from pathlib import Path

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from core.domain.worktree import WorktreeCreated

MAX_SEQ = 4  # the last event that may be the one that names the worktree of a session


async def worktree(context: Invocation) -> int:
    args, trees = context.args, context.engine.worktrees
    folder = (context.folder / args.folder).resolve()
    if args.action == "remove":
        removed = await trees.remove(folder, args.name, discard=args.discard)
        context.out.write(f"Removed {removed.folder} and the branch {removed.branch}.")
        return DONE
    worktrees = await trees.in_repository(folder)
    for entry in worktrees:
        session_ids = [row.id for row in entry.sessions]
        if args.json:
            context.out.write_json(asdict(entry.tree) | {"sessions": session_ids})
            continue
        tree = entry.tree
        changes = "a command is running" if tree.changed_files is None else f"{tree.changed_files} changed"
        context.out.write(f"{tree.branch}  {changes}, {tree.commits_ahead} ahead  {' '.join(session_ids)}")
        context.out.write(f"      in {tree.folder}")
    if not worktrees and not args.json:
        context.out.write("No worktrees of sessions in this repository.")
    return DONE


async def print_kept_work(context: Invocation, session: str) -> None:
    """If a session worked in a git worktree, print how to merge or remove its changes."""
    created = await _created_worktree(context, session)
    if created is None or context.args.json:
        return
    out, worktrees = context.out, await context.engine.worktrees.in_repository(Path(created.folder))
    out.write(f"The work is kept in {created.folder}, on the branch {created.branch}.")
    if any(worktree.tree.changed_files for worktree in worktrees if worktree.tree.branch == created.branch):
        out.write(f"Commit the changes: git -C {created.folder} add -A && git -C {created.folder} commit")
    out.write(f"Merge it: git -C {created.repository} merge {created.branch}")
    out.write(f"Remove it: journeyman worktree remove -C {created.repository} {created.branch}")


async def _created_worktree(context: Invocation, session: str) -> WorktreeCreated | None:
    async for entry in context.engine.events(session):
        if entry.seq > MAX_SEQ:
            return None
        if isinstance(entry.event, WorktreeCreated):
            return entry.event
    return None
