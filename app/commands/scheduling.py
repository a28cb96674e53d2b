"""`schedule`: sessions that begin at a time."""

from dataclasses import asdict

from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.follow import read_file
from app.output import moment
from core.domain.problems import Problem
from core.domain.schedule import Schedule, words_of
from core.engine.schedules import Met, Wish
from core.models.catalogue import SCRIPTED

UNWATCHED = "They begin while the window is open, or while `journeyman schedule watch` runs. Neither is so now."


async def schedule(context: Context) -> int:
    action = context.typed.action
    if action == "add":
        await _add(context)
    elif action == "remove":
        gone = await context.engine.schedules.remove(context.typed.schedule)
        context.out.write(f"Removed {gone.id}: {gone.task}")
    elif action == "watch":
        await _watch(context)
    else:
        _list(context)
    return DONE


async def _add(context: Context) -> None:
    typed = context.typed
    script = read_file(context, typed.script) if typed.script else ""
    made = await context.engine.schedules.add(
        Wish(
            typed.task, (context.folder / typed.folder).resolve(), typed.at, typed.every, typed.missed,
            SCRIPTED if script else typed.model, typed.mode, script,
            typed.worktree,
        )
    )  # fmt: skip
    _tell(context, made)
    _tell_watch(context)


def _list(context: Context) -> None:
    found = context.engine.schedules.all()
    for each in found:
        _tell(context, each)
    if found:
        _tell_watch(context)
    elif not context.typed.json:
        context.out.write("There are no schedules.")


async def _watch(context: Context) -> None:
    schedules, out = context.engine.schedules, context.out
    if schedules.watched:
        out.write("They are looked after already.")
        return
    for each in schedules.all():
        _tell(context, each)

    def tell(met: Met) -> None:
        if context.typed.json:
            out.json({"session": met.session, **_plain(met.schedule)})
        elif met.session:
            out.write(f"{met.schedule.id} began session {met.session}: {met.schedule.task}")
        else:
            why = met.schedule.trouble or "The time was missed, and is skipped."
            out.write(f"{met.schedule.id} began nothing. {why}")

    def report(problem: Problem) -> None:
        out.trouble(problem.trouble)

    await schedules.watch(tell, report)


def _tell(context: Context, each: Schedule) -> None:
    if context.typed.json:
        context.out.json(_plain(each))
        return
    context.out.write(f"{each.id}  {words_of(each)}  {each.task}")
    late = "made up for once" if each.missed == "run" else "skipped"
    where = f"a worktree of {each.folder}" if each.worktree else each.folder
    context.out.write(f"      in {where}; a missed time is {late}")
    if each.session:
        context.out.write(f"      began session {each.session} last")
    if each.skipped:
        context.out.write(f"      {each.skipped} time{'' if each.skipped == 1 else 's'} passed without a session since")
    if each.trouble:
        context.out.write(f"      {each.trouble}")


def _tell_watch(context: Context) -> None:
    if not context.engine.schedules.watched and not context.typed.json:
        context.out.write(UNWATCHED)


def _plain(each: Schedule) -> dict[str, object]:
    plain = asdict(each) | {"first": moment(each.first), "due": moment(each.due) if each.due else ""}
    return {name: value for name, value in plain.items() if name != "script"}
