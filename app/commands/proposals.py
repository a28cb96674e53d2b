"""The command `proposals`: lists, accepts and rejects the memories and skills that agents propose."""

from dataclasses import asdict

from app.commands.invocation import Invocation
from app.commands.run_follower import read_text_argument
from app.commands.skills import print_diff
from app.process.exit_codes import DONE
from app.process.output import iso_time
from core.domain.proposal import Proposal
from core.memory.approval import proposal_reasons


async def proposals(context: Invocation) -> int:
    typed, tray = context.args, context.engine.proposals
    if typed.action == "list":
        found = tray.list(None if typed.all else "pending", typed.of)
        for each in found:
            _tell(context, each)
        if not found and not typed.json:
            context.out.write("No proposals." if typed.all else "No pending proposals.")
        return DONE
    if typed.action == "show":
        _show(context, tray.get(typed.proposal))
        return DONE
    if typed.action == "keep":
        text = None if typed.text is None else read_text_argument(context, typed.text)
        done = await tray.accept(typed.proposal, text)
    else:
        done = await (tray.reject if typed.action == "reject" else tray.undo)(typed.proposal)
    made = f": {done.result}" if done.state == "accepted" and done.result else ""
    context.out.write(f"{done.id} is {done.state}{made}.")
    return DONE


def _tell(context: Invocation, each: Proposal) -> None:
    if context.args.json:
        context.out.write_json(_plain(each))
        return
    untrusted = (
        "  after reading untrusted content: " + ", ".join(each.untrusted_sources) if each.untrusted_sources else ""
    )
    state = "" if each.state == "pending" else f" [{each.state}]"
    text = (
        f" “{' '.join(each.text.split())}”" if each.target_kind == "memory" else ""
    )  # the text of a skill is too long for a line
    named = " ".join(filter(None, (each.target_kind, each.target)))
    context.out.write(f"{each.id}  {each.action} {named}{text}{state}  {each.reason}{untrusted}")


def _show(context: Invocation, each: Proposal) -> None:
    before = context.engine.proposals.current_text(each.id)
    if context.args.json:
        context.out.write_json(_plain(each) | {"before": before})
        return
    _tell(context, each)
    if each.session:
        rows = f", step {', '.join(map(str, each.steps))}" if each.steps else ""
        context.out.write(f"from session {each.session}{rows}, by the {each.author}")
    for reason in proposal_reasons(each) if each.target_kind == "memory" else ():
        context.out.write(f"needs your decision: {reason}")
    if each.text:
        print_diff(context, before or "", each.text)


def _plain(each: Proposal) -> dict[str, object]:
    return asdict(each) | {
        "created_at": iso_time(each.created_at),
        "resolved_at": iso_time(each.resolved_at) if each.resolved_at else None,
    }
