"""The command `rewind`: reverts the files and the conversation of a session to an earlier event."""

from dataclasses import asdict

from app.commands.invocation import Invocation
from app.commands.run_follower import find_session_id
from app.process.exit_codes import DONE, FAILED
from app.process.output import plural
from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.engine.history.rewind import FilePlan, RewindPlan

ACTIONS = {
    "change": "revert",
    "create": "recreate",
    "remove": "remove",
    "same": "unchanged",
    "conflict": "conflict",
    "lost": "lost",
}


async def rewind(context: Invocation) -> int:
    typed, history = context.args, context.engine.history
    session = find_session_id(context.engine, typed.session)
    if typed.undo:
        made = await history.plan_undo(session, typed.force)
    else:
        made = await history.plan_rewind(
            session, await history.last_seq_of_step(session, typed.to) if typed.to else 1, typed.force
        )
    unknown = sorted(set(typed.force) - {file.path for file in made.files})
    if unknown:
        what = f"{visible_name(unknown[0])} is not one of the files."
        raise Problem(what, "The agent has not changed it since that step.", "List them with --dry-run.")
    _tell_plan(context, made)
    if typed.dry_run:
        return DONE
    done = await history.rewind(session, made)
    if not typed.json:
        context.out.write(
            f"Reverted {plural(len(done.files), 'file')}, left {len(done.skipped)}."
            if made.files
            else "Nothing to revert."
        )
        if done.files and not typed.undo:
            context.out.write(f"Undo with: journeyman rewind {session} --undo")
    return FAILED if done.skipped else DONE


def _tell_plan(context: Invocation, made: RewindPlan) -> None:
    for file in made.files:
        if context.args.json:
            context.out.write_json(asdict(file))
        else:
            context.out.write(_file_line(file))
    if context.args.json:
        for name in made.unsaved:
            context.out.write_json({"path": name, "action": "unrestorable"})
        return
    _tell_list(
        context,
        "These files were changed too, but their earlier contents are not kept, so they stay as they are:",
        made.unsaved,
    )
    ran = "These commands ran since; their effects beyond the files above are not reverted:"
    _tell_list(context, ran, made.commands)


def _tell_list(context: Invocation, title: str, names: tuple[str, ...]) -> None:
    if names:
        context.out.write(title)
    for name in names:
        context.out.write(f"  {visible_name(name)}")


def _file_line(file: FilePlan) -> str:
    figures = f"+{file.added} −{file.removed}" if file.added or file.removed else ""
    rest = "  ".join(part for part in (figures, file.reason) if part)
    return f"{ACTIONS[file.action]:10} {visible_name(file.path)}" + (f"  ({rest})" if rest else "")
