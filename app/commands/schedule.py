"""The command `schedule`: lists, adds and removes sessions that start at a set time, once or repeatedly."""

from dataclasses import asdict

from app.commands.invocation import Invocation, UsageProblem
from app.process.exit_codes import DONE
from app.process.output import iso_time, plural
from core.domain.problems import Problem
from core.domain.schedule import Schedule, describe_schedule
from core.engine.lifecycle.scheduler import DueResult, ScheduleRequest
from core.models.catalog import SCRIPTED

NOT_WATCHED_TEXT = "Nothing starts now: open the window, or keep `journeyman schedule watch` running."


async def schedule(context: Invocation) -> int:
    action = context.args.action
    if action == "add":
        await _add(context)
    elif action == "remove":
        removed = await context.engine.schedules.remove(context.args.schedule)
        context.out.write(f"Removed {removed.id}: {removed.task}")
    elif action == "watch":
        await _watch(context)
    else:
        _list(context)
    return DONE


async def _add(context: Invocation) -> None:
    args = context.args
    if not (args.at or args.every):
        raise UsageProblem("The schedule has no time.", "", "Set a time with --at, an interval with --every, or both.")
    script = context.read_text(args.script) if args.script else ""
    task = args.given[0] if args.task == "-" else args.task
    folder = (context.folder / args.folder).resolve()
    model = SCRIPTED if script else args.model
    schedule = await context.engine.schedules.add(
        ScheduleRequest(
            task=task,
            folder=folder,
            at=args.at,
            every=args.every,
            missed=args.missed,
            model=model,
            mode=args.mode,
            script=script,
            worktree=args.worktree,
        )
    )
    _print_schedule(context, schedule)
    _print_watch_hint(context)


def _list(context: Invocation) -> None:
    schedules = context.engine.schedules.all()
    for schedule in schedules:
        _print_schedule(context, schedule)
    if schedules:
        _print_watch_hint(context)
    elif not context.args.json:
        context.out.write("No schedules.")


async def _watch(context: Invocation) -> None:
    schedules, out = context.engine.schedules, context.out
    if schedules.running:
        out.write("Another Journeyman watches the schedules already.")
        return
    for schedule in schedules.all():
        _print_schedule(context, schedule)

    def tell(result: DueResult) -> None:
        if context.args.json:
            out.write_json({"session": result.session, **_plain(result.schedule)})
        elif result.session:
            out.write(f"{result.schedule.id} started session {result.session}: {result.schedule.task}")
        else:
            reason = result.schedule.error or "The time was missed, and is skipped."
            out.write(f"{result.schedule.id} did not start. {reason}")

    def report(problem: Problem) -> None:
        out.print_error(problem.details)

    await schedules.run(tell, report)


def _print_schedule(context: Invocation, schedule: Schedule) -> None:
    if context.args.json:
        context.out.write_json(_plain(schedule))
        return
    context.out.write(f"{schedule.id}  {describe_schedule(schedule)}  {schedule.task}")
    missed_text = "run once, late" if schedule.on_missed == "run" else "skipped"
    workspace = f"a worktree of {schedule.folder}" if schedule.worktree else schedule.folder
    context.out.write(f"      in {workspace}; a missed time is {missed_text}")
    if schedule.last_session:
        context.out.write(f"      last session: {schedule.last_session}")
    if schedule.missed_count:
        context.out.write(f"      {plural(schedule.missed_count, 'time')} skipped since")
    if schedule.error:
        context.out.write(f"      {schedule.error}")


def _print_watch_hint(context: Invocation) -> None:
    if not context.engine.schedules.running and not context.args.json:
        context.out.write(NOT_WATCHED_TEXT)


def _plain(schedule: Schedule) -> dict[str, object]:
    plain = asdict(schedule) | {
        "first_due": iso_time(schedule.first_due),
        "due": iso_time(schedule.due) if schedule.due is not None else "",
    }
    return {name: value for name, value in plain.items() if name != "script"}
