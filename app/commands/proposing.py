"""`proposals`: what agents want to be kept, and a person's word on it."""

from dataclasses import asdict

from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.follow import read_file
from app.commands.skilled import write_difference
from app.output import moment
from core.domain.proposal import Proposal


async def proposals(context: Context) -> int:
    typed, tray = context.typed, context.engine.proposals
    if typed.action == "list":
        found = tray.list(None if typed.all else "open", typed.of)
        for each in found:
            _tell(context, each)
        if not found and not typed.json:
            context.out.write("Nothing waits for you.")
        return DONE
    if typed.action == "show":
        _show(context, tray.one(typed.proposal))
        return DONE
    if typed.action == "keep":
        text = None if typed.text is None else read_file(context, typed.text)
        done = await tray.keep(typed.proposal, text)
    else:
        done = await (tray.reject if typed.action == "reject" else tray.undo)(typed.proposal)
    made = f": {done.result}" if done.state == "kept" and done.result else ""
    context.out.write(f"{done.id} is {done.state}{made}.")
    return DONE


def _tell(context: Context, each: Proposal) -> None:
    if context.typed.json:
        context.out.json(_plain(each))
        return
    strangers = "  read before: " + ", ".join(each.taint) if each.taint else ""
    state = "" if each.state == "open" else f" [{each.state}]"
    text = f" “{' '.join(each.text.split())}”" if each.of == "memory" else ""  # of a skill it is a page
    named = " ".join(filter(None, (each.of, each.target)))
    context.out.write(f"{each.id}  {each.what} {named}{text}{state}  {each.reason}{strangers}")


def _show(context: Context, each: Proposal) -> None:
    before = context.engine.proposals.before(each.id)
    if context.typed.json:
        context.out.json(_plain(each) | {"before": before})
        return
    _tell(context, each)
    if each.session:
        rows = f", step {', '.join(map(str, each.steps))}" if each.steps else ""
        context.out.write(f"from session {each.session}{rows}, by the {each.by}")
    if each.text:
        write_difference(context, before or "", each.text)


def _plain(each: Proposal) -> dict[str, object]:
    return asdict(each) | {"made": moment(each.made), "settled": moment(each.settled) if each.settled else None}
