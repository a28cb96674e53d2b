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
    if args.action == "list":
        listed = queue.list(None if args.all else "pending", args.of)
        for proposal in listed:
            _print_proposal(context, proposal)
        if not listed and not args.json:
            context.out.write("No proposals." if args.all else "No pending proposals.")
        return DONE
    if args.action == "show":
        _show(context, queue.get(args.proposal))
        return DONE
    if args.action == "keep":
        text = None if args.text is None else context.read_text(args.text)
        decided = await queue.accept(args.proposal, text)
    else:
        decided = await (queue.reject if args.action == "reject" else queue.undo)(args.proposal)
    result = f": {decided.result}" if decided.state == "accepted" and decided.result else ""
    context.out.write(f"{decided.id} is {decided.state}{result}.")
    return DONE


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
        rows = f", step {', '.join(map(str, proposal.steps))}" if proposal.steps else ""
        context.out.write(f"from session {proposal.session}{rows}, by the {proposal.author}")
    for reason in proposal_reasons(proposal) if proposal.target_kind == "memory" else ():
        context.out.write(f"needs your decision: {reason}")
    if proposal.text:
        print_diff(context, before or "", proposal.text)


def _plain(proposal: Proposal) -> dict[str, object]:
    return asdict(proposal) | {
        "created_at": iso_time(proposal.created_at),
        "resolved_at": iso_time(proposal.resolved_at) if proposal.resolved_at else None,
        "result": "" if proposal.result is None else str(proposal.result),
    }
