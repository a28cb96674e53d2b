"""The command `schedule`: lists, adds and removes sessions that start at a set time, once or repeatedly."""

from dataclasses import asdict

from app.commands.invocation import Invocation
from app.commands.run_follower import read_text_argument
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
        gone = await context.engine.schedules.remove(context.args.schedule)
        context.out.write(f"Removed {gone.id}: {gone.task}")
    elif action == "watch":
        await _watch(context)
    else:
        _list(context)
    return DONE


async def _add(context: Invocation) -> None:
    typed = context.args
    script = read_text_argument(context, typed.script) if typed.script else ""
    task = typed.given[0] if typed.task == "-" else typed.task
    folder = (context.folder / typed.folder).resolve()
    model = SCRIPTED if script else typed.model
    made = await context.engine.schedules.add(
        ScheduleRequest(task, folder, typed.at, typed.every, typed.missed, model, typed.mode, script, typed.worktree)
    )
    _tell(context, made)
    _tell_watch(context)


def _list(context: Invocation) -> None:
    found = context.engine.schedules.all()
    for each in found:
        _tell(context, each)
    if found:
        _tell_watch(context)
    elif not context.args.json:
        context.out.write("No schedules.")


async def _watch(context: Invocation) -> None:
    schedules, out = context.engine.schedules, context.out
    if schedules.running:
        out.write("Another Journeyman watches the schedules already.")
        return
    for each in schedules.all():
        _tell(context, each)

    def tell(met: DueResult) -> None:
        if context.args.json:
            out.write_json({"session": met.session, **_plain(met.schedule)})
        elif met.session:
            out.write(f"{met.schedule.id} started session {met.session}: {met.schedule.task}")
        else:
            why = met.schedule.error or "The time was missed, and is skipped."
            out.write(f"{met.schedule.id} did not start. {why}")

    def report(problem: Problem) -> None:
        out.print_error(problem.details)

    await schedules.run(tell, report)


def _tell(context: Invocation, each: Schedule) -> None:
    if context.args.json:
        context.out.write_json(_plain(each))
        return
    context.out.write(f"{each.id}  {describe_schedule(each)}  {each.task}")
    late = "run once, late" if each.on_missed == "run" else "skipped"
    where = f"a worktree of {each.folder}" if each.worktree else each.folder
    context.out.write(f"      in {where}; a missed time is {late}")
    if each.last_session:
        context.out.write(f"      last session: {each.last_session}")
    if each.missed_count:
        context.out.write(f"      {plural(each.missed_count, 'time')} skipped since")
    if each.error:
        context.out.write(f"      {each.error}")


def _tell_watch(context: Invocation) -> None:
    if not context.engine.schedules.running and not context.args.json:
        context.out.write(NOT_WATCHED_TEXT)


def _plain(each: Schedule) -> dict[str, object]:
    plain = asdict(each) | {"first_due": iso_time(each.first_due), "due": iso_time(each.due) if each.due else ""}
    return {name: value for name, value in plain.items() if name != "script"}
