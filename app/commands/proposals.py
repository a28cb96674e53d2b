"""The command `proposals`: lists, accepts and rejects the memories and skills that agents propose."""

from dataclasses import asdict

from app.commands.invocation import Invocation
from app.commands.skills import print_diff
from app.process.exit_codes import DONE
from app.process.output import iso_time
from core.domain.proposal import Proposal
from core.memory.approval import proposal_reasons


async def proposals(context: Invocation) -> int:
    args, queue = context.args, context.engine.proposals
    match args.action:
        case "list":
            _list(context)
        case "show":
            _show(context, queue.get(args.proposal))
        case "keep":
            text = None if args.text is None else context.read_text(args.text)
            _print_state(context, await queue.accept(args.proposal, text))
        case "reject":
            _print_state(context, await queue.reject(args.proposal))
        case _:
            _print_state(context, await queue.undo(args.proposal))
    return DONE


def _list(context: Invocation) -> None:
    args = context.args
    listed = context.engine.proposals.list(None if args.all else "pending", args.of)
    for proposal in listed:
        _print_proposal(context, proposal)
    if not listed and not args.json:
        context.out.write("No proposals." if args.all else "No pending proposals.")


def _print_state(context: Invocation, proposal: Proposal) -> None:
    result = f": {proposal.result}" if proposal.state == "accepted" and proposal.result else ""
    context.out.write(f"{proposal.id} is {proposal.state}{result}.")


def _print_proposal(context: Invocation, proposal: Proposal) -> None:
    if context.args.json:
        context.out.write_json(_plain(proposal))
        return
    sources = ", ".join(proposal.untrusted_sources)
    untrusted = f"  after reading untrusted content: {sources}" if sources else ""
    state = "" if proposal.state == "pending" else f" [{proposal.state}]"
    # A proposed skill is a whole document, too long for a line of the list.
    text = f" “{' '.join(proposal.text.split())}”" if proposal.target_kind == "memory" else ""
    target = " ".join(filter(None, (proposal.target_kind, proposal.target)))
    context.out.write(f"{proposal.id}  {proposal.action} {target}{text}{state}  {proposal.reason}{untrusted}")


def _show(context: Invocation, proposal: Proposal) -> None:
    before = context.engine.proposals.current_text(proposal.id)
    if context.args.json:
        context.out.write_json(_plain(proposal) | {"before": before})
        return
    _print_proposal(context, proposal)
    if proposal.session:
        steps = f", step {', '.join(map(str, proposal.steps))}" if proposal.steps else ""
        context.out.write(f"from session {proposal.session}{steps}, by the {proposal.author}")
    if proposal.target_kind == "memory":
        for reason in proposal_reasons(proposal):
            context.out.write(f"needs your decision: {reason}")
    if proposal.text:
        print_diff(context, before or "", proposal.text)


def _plain(proposal: Proposal) -> dict[str, object]:
    return asdict(proposal) | {
        "created_at": iso_time(proposal.created_at),
        "resolved_at": iso_time(proposal.resolved_at) if proposal.resolved_at else None,
        "result": "" if proposal.result is None else str(proposal.result),
    }
