"""The command `rewind`: reverts the files and the conversation of a session to an earlier event."""

from dataclasses import asdict

from app.commands.invocation import Invocation
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
    args, history = context.args, context.engine.history
    session = context.session_id()
    if args.undo:
        plan = await history.plan_undo(session, args.force)
    else:
        target_seq = await history.last_seq_of_step(session, args.to) if args.to else 1
        plan = await history.plan_rewind(session, target_seq, args.force)
    unknown = sorted(set(args.force) - {file.path for file in plan.files})
    if unknown:
        message = f"{visible_name(unknown[0])} is not one of the files."
        raise Problem(message, "The agent has not changed it since that step.", "List them with --dry-run.")
    _print_plan(context, plan)
    if args.dry_run:
        return DONE
    result = await history.rewind(session, plan)
    if not args.json:
        counts = f"Reverted {plural(len(result.files), 'file')}, left {len(result.skipped)}."
        context.out.write(counts if plan.files else "Nothing to revert.")
        if result.files and not args.undo:
            context.out.write(f"Undo with: journeyman rewind {session} --undo")
    return FAILED if result.skipped else DONE


def _print_plan(context: Invocation, plan: RewindPlan) -> None:
    for file in plan.files:
        if context.args.json:
            context.out.write_json(asdict(file))
        else:
            context.out.write(_file_line(file))
    if context.args.json:
        for name in plan.unsaved:
            context.out.write_json({"path": name, "action": "unrestorable"})
        return
    _print_names(
        context,
        "These files were changed too, but their earlier contents are not kept, so they stay as they are:",
        plan.unsaved,
    )
    commands_title = "These commands ran since; their effects beyond the files above are not reverted:"
    _print_names(context, commands_title, plan.commands)


def _print_names(context: Invocation, title: str, names: tuple[str, ...]) -> None:
    if names:
        context.out.write(title)
    for name in names:
        context.out.write(f"  {visible_name(name)}")


def _file_line(file: FilePlan) -> str:
    figures = f"+{file.added} −{file.removed}" if file.added or file.removed else ""
    details = "  ".join(part for part in (figures, file.reason) if part)
    return f"{ACTIONS[file.action]:10} {visible_name(file.path)}" + (f"  ({details})" if details else "")
