"""The command `memory`: lists, searches, changes, exports and imports memories."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.commands.invocation import Invocation
from app.commands.memory_index import memory_index
from app.process.exit_codes import DONE
from app.process.output import ascii_json, iso_time, plural
from core.domain.clock import SECOND
from core.domain.memory import Memory, MemoryChange, MemoryScope, MemoryStatus
from core.domain.memory_marks import EXPIRES, USER_RATING, UserRating, join_tags, marks_of, tags_of
from core.domain.problems import Problem
from core.domain.proposal import Proposal, SkillResult
from core.engine.services.memory_results import MemoryListing, RunOutcomes
from core.memory.saving import SaveResult


async def memory(context: Invocation) -> int:
    await ACTIONS[context.args.action](context)
    return DONE


async def _list(context: Invocation) -> None:
    args = context.args
    status: MemoryStatus | None = None if args.all else "archived" if args.archived else "active"
    scope, scope_id = _scope(context) if args.folder or args.agent else ("", "")
    session = context.engine.session(args.session).id if args.session else ""
    memories = await context.engine.memory.list_memories(
        kind=args.kind or None, status=status, session=session, scope=scope, scope_id=scope_id, limit=args.limit or -1
    )
    if args.tag:
        memories = [item for item in memories if join_tags([args.tag]) in tags_of(item.memory.content)]
    _print_memories(context, memories, "No memories. Add one: journeyman memory add 'The user likes short answers.'")


async def _search(context: Invocation) -> None:
    folder = str((context.folder / context.args.folder).resolve()) if context.args.folder else ""
    memories = await context.engine.memory.find(context.args.text, folder=folder, limit=context.args.limit or 50)
    _print_memories(context, memories, "No memories match.")


async def _add(context: Invocation) -> None:
    args = context.args
    parts = {name: getattr(args, name) for name in ("when", "do", "what", "why", "instead") if getattr(args, name)}
    scope, scope_id = _scope(context)
    memories, kind = context.engine.memory, args.kind
    result = await memories.add(
        args.text,
        kind or "knowledge",
        scope=scope,
        scope_id=scope_id,
        parts=parts,
        context=args.context,
        tags=args.tag or (),
        expires=args.expires or "",
    )
    _print_saved(context, result)


async def _show(context: Invocation) -> None:
    details = await context.engine.memory.show(context.args.memory)
    out, listing = context.out, details.listed
    if context.args.json:
        plain = dataclasses.asdict(details) | {"changes": [_plain_change(change) for change in details.changes]}
        out.write_json(plain | {"listed": _plain(listing)})
        return
    out.write(_memory_line(listing))
    content = listing.memory.content
    for name, text in (
        ("for", f"{content.scope} {content.scope_id}".strip()),
        *content.fields.items(),
        ("context", content.context.replace("\n", "\n    ")),
    ):
        if text and text not in content.text:
            out.write(f"  {name}: {text}")
    origin = f"{listing.memory.author}" + (f", session {listing.memory.session}" if listing.memory.session else "")
    out.write(
        f"  from: {origin}, {_day(listing.memory.created_at)}; learned {listing.memory.evidence} ×;"
        f" confidence {content.confidence:.0%}"
    )
    forecast = ", ".join(f"{relevance:.2f} in {days} days" for days, relevance in details.forecast[1:])
    out.write(f"  relevance: {listing.relevance:.2f} now; {forecast} if it is not used")
    received_runs = details.outcomes_used.runs + details.outcomes_unused.runs
    used, unused = _rating_text(details.outcomes_used), _rating_text(details.outcomes_unused)
    out.write(
        f"  used in {details.outcomes_used.runs} of {plural(received_runs, 'run')} that received it;"
        f" with it {used}; received but not used {unused}"
    )
    for link in details.conflicts:
        out.write(f"  contradicts: {link.id}  {link.content.text}")
    for change in details.changes:
        out.write(f"  {change.number:3}  {_day(change.at)}  {_change_text(change)}")
    for use in details.uses[:10]:
        verb = "used" if use.used else "received"
        rating = f", {use.run_rating}" if use.run_rating else ""
        out.write(f"       {_day(use.at)}  {verb} in session {use.session}, run {use.run}{rating}")


async def _edit(context: Invocation) -> None:
    args = context.args
    scope: MemoryScope | None = None
    scope_id = ""
    if args.folder or args.agent or args.session or args.everywhere:
        scope, scope_id = _scope(context)
    marks = args.tag is not None or args.expires is not None
    if not (args.text or args.kind or scope or marks):
        raise Problem("There is nothing to change.", "", "Give a new TEXT, --kind, --tag, or a scope such as --folder.")
    memories, edited = context.engine.memory, None
    if args.text or args.kind or scope:
        edited = await memories.edit(
            args.memory, args.text or "", base=args.base, kind=args.kind or None, scope=scope, scope_id=scope_id
        )
    if marks or edited is None:
        edited = await memories.mark(args.memory, tags=args.tag, expires=args.expires)
    _print_change(context, "Changed", edited)


async def _pin(context: Invocation) -> None:
    pin = context.args.action == "pin"
    _print_change(context, "Pinned" if pin else "Unpinned", await context.engine.memory.pin(context.args.memory, pin))


async def _forget(context: Invocation) -> None:
    args, engine = context.args, context.engine
    if args.session or args.folder:
        folder = str((context.folder / args.folder).resolve()) if args.folder else ""
        session = engine.session(args.session).id if args.session else ""
        forgotten = await (engine.memory.forget_session(session) if session else engine.memory.forget_folder(folder))
        count = len(forgotten.proposals) - len(forgotten.skills)
        rejected_text = f" Rejected {plural(count, 'open proposal')}." if count else ""
        kept_text = "Kept what you wrote yourself."
        forgotten_text = f"Forgot {len(forgotten.memories)} {'memory' if len(forgotten.memories) == 1 else 'memories'}."
        context.out.write(f"{forgotten_text}{rejected_text} {kept_text}" + _restore_hint(forgotten.memories))
        for skill in forgotten.skills:
            context.out.write(_undone_skill_text(skill))
        return
    if not args.memory:
        raise Problem("There is nothing to forget.", "", "Name a memory, or give --session or --folder.")
    if args.permanently:
        await engine.memory.erase(args.memory)
        context.out.write("Permanently forgotten.")
        return
    _print_change(context, "Forgot", await engine.memory.forget(args.memory))


async def _restore(context: Invocation) -> None:
    _print_change(context, "Restored", await context.engine.memory.restore(context.args.memory))


async def _archive(context: Invocation) -> None:
    _print_change(context, "Archived", await context.engine.memory.archive(context.args.memory))


async def _undo(context: Invocation) -> None:
    args, memory = context.args, context.engine.memory
    changes = await memory.changes(args.memory)
    remaining = await memory.undo(args.memory, args.change)
    if remaining is not None:
        _print_change(context, "Undone", remaining)
        return
    redo_command = f"journeyman memory undo {changes[0].memory} --change {len(changes) + 1}"
    context.out.write(f"Undone. The memory no longer exists. Redo with: {redo_command}")


async def _rate(context: Invocation) -> None:
    rating: UserRating = "" if context.args.rating == "none" else context.args.rating
    label = {"good": "Rated good", "bad": "Rated bad", "": "Removed the rating"}[rating]
    _print_change(context, label, await context.engine.memory.mark(context.args.memory, user_rating=rating))


async def _tidy(context: Invocation) -> None:
    if context.args.dry_run:
        preview = await context.engine.memory.preview_tidy()
        for item, why in preview.archived:
            context.out.write(f"Would archive {item.id}  {item.content.text}  ({why})")
        for proposal in preview.proposed:
            context.out.write(f"Would propose to {proposal.action}: {proposal.text}")
        if not preview.archived and not preview.proposed:
            context.out.write("There is nothing to tidy.")
        return
    result = await context.engine.memory.tidy()
    count = len(result.archived)
    context.out.write(f"Archived {count} {'memory' if count == 1 else 'memories'}." + _restore_hint(result.archived))
    if result.proposed:
        context.out.write(f"Made {plural(len(result.proposed), 'proposal')}: journeyman proposals")


async def _log(context: Invocation) -> None:
    days = list(await context.engine.memory.learned_by_day())
    if not days and not context.args.json:
        context.out.write("Nothing was learned yet.")
    for day in days:
        if context.args.json:
            learned = [_plain_memory(item) for item in day.learned]
            context.out.write_json({"day": day.day, "learned": learned, "runs": day.runs})
            continue
        context.out.write(f"{day.day}  learned {len(day.learned)}, noted {plural(day.runs, 'run')}")
        for item in day.learned:
            context.out.write(f"  {item.id}  {item.content.kind}: {item.content.text}  ({item.author})")


async def _export(context: Invocation) -> None:
    text = await context.engine.memory.export(include_archived=context.args.all)
    if not context.args.output:
        context.out.write(ascii_json(text))
        return
    file = context.folder / context.args.output
    try:
        file.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise Problem(f"{file} cannot be written.", f"{error.strerror}.", "Name another file with --output.") from error
    context.out.write(f"Written to {file}.")


async def _import(context: Invocation) -> None:
    scope, scope_id = _scope(context)
    for name in context.args.files:
        result = await context.engine.memory.import_file(context.folder / name, scope=scope, scope_id=scope_id)
        new, proposed = sum(saved.did == "created" for saved in result.saved), len(result.proposed)
        proposals_text = f" {plural(proposed, 'proposal')} to decide on: journeyman proposals." if proposed else ""
        context.out.write(f"{name}: {new} new, {len(result.saved) - new} already known.{proposals_text}")


ACTIONS = {
    "list": _list, "search": _search, "add": _add, "show": _show, "edit": _edit, "pin": _pin, "unpin": _pin,
    "forget": _forget, "restore": _restore, "archive": _archive, "undo": _undo, "tidy": _tidy, "rate": _rate,
    "log": _log,
    "export": _export, "import": _import, "index": memory_index,
}  # fmt: skip


def _scope(context: Invocation) -> tuple[MemoryScope, str]:
    """Return the scope that the arguments select, and its folder, agent or session. The default is everywhere."""
    args = context.args
    if args.folder:
        return "folder", str((context.folder / args.folder).resolve())
    if getattr(args, "agent", ""):
        return "agent", args.agent
    if getattr(args, "session", ""):
        return "session", context.engine.session(args.session).id
    return "everywhere", ""


def _print_memories(context: Invocation, memories: list[MemoryListing], empty: str) -> None:
    for listing in memories:
        if context.args.json:
            context.out.write_json(_plain(listing))
        else:
            context.out.write(_memory_line(listing))
    if not memories and not context.args.json:
        context.out.write(empty)


def _print_saved(context: Invocation, result: SaveResult) -> None:
    if context.args.json:
        conflicts = [other.id for other in result.conflicts]
        context.out.write_json(_plain_memory(result.memory) | {"action": result.did, "contradicts": conflicts})
        return
    memory = result.memory
    known_text = f"Already known, learned {memory.evidence} times now"
    context.out.write(f"{'Added' if result.did == 'created' else known_text}: {memory.id}  {memory.content.text}")
    for other in result.conflicts:
        context.out.write(f"It contradicts {other.id}: {other.content.text}")
        context.out.write(f"Forget the one that is wrong: journeyman memory forget {other.id}")


def _print_change(context: Invocation, action: str, memory: Memory) -> None:
    context.out.write(f"{action}: {memory.id}  {memory.content.text}")


def _memory_line(listing: MemoryListing) -> str:
    memory = listing.memory
    status = "" if memory.status == "active" else f", {memory.status}"
    pinned = ", pinned" if memory.pinned else ""
    marks = marks_of(memory.content)
    pinned += f", rated {marks[USER_RATING]}" if USER_RATING in marks else ""
    pinned += f", until {marks[EXPIRES]}" if EXPIRES in marks else ""
    pinned += "".join(f" #{tag}" for tag in tags_of(memory.content))
    scope = f", {memory.content.scope} {memory.content.scope_id}" if memory.content.scope_id else ""
    match = f"  [{listing.score:.2f} {listing.match_reason}]" if listing.score else ""
    return f"{memory.id}  {memory.content.kind}: {memory.content.text}  ({listing.state}{pinned}{status}{scope}){match}"


def _rating_text(share: RunOutcomes) -> str:
    return f"{share.good} of {share.rated} rated runs were good" if share.rated else "no rated runs"


def _change_text(change: MemoryChange) -> str:
    descriptions = {"undone": f"undid change {change.undoes}", "conflict_found": f"linked to {change.related_memory}"}
    action = descriptions.get(change.action, change.action)
    text = f": {change.content.text}" if change.content else ""
    reason = f" ({change.reason})" if change.reason else ""
    return f"{change.author} {action}{text}{reason}"


def _restore_hint(forgotten: Sequence[str]) -> str:
    further = f", and the same for {', '.join(forgotten[1:])}" if forgotten[1:] else ""
    return f" Restore with: journeyman memory restore {forgotten[0]}{further}" if forgotten else ""


def _undone_skill_text(proposal: Proposal) -> str:
    """Describe how a skill was undone because its source was forgotten, with the command that restores it."""
    if not isinstance(proposal.result, SkillResult):
        return f"Undid the proposal {proposal.id}."
    key, version = proposal.result.key, proposal.result.version
    if proposal.action == "create":
        return f"Archived the skill {key}. Restore with: journeyman skills unarchive {key}"
    return f"Reverted version {version} of the skill {key}. Restore with: journeyman skills restore {key} {version}"


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / SECOND).astimezone().strftime("%Y-%m-%d")


def _plain(listing: MemoryListing) -> dict[str, Any]:
    score = {"score": listing.score, "match_reason": listing.match_reason} if listing.score else {}
    return _plain_memory(listing.memory) | {"relevance": round(listing.relevance, 4), "state": listing.state} | score


def _plain_memory(memory: Memory) -> dict[str, Any]:
    plain = dataclasses.asdict(memory)
    content = plain.pop("content")
    return {"id": plain["id"], **content, **plain} | {
        "created_at": iso_time(memory.created_at),
        "updated_at": iso_time(memory.updated_at),
    }


def _plain_change(change: MemoryChange) -> dict[str, Any]:
    return dataclasses.asdict(change) | {"at": iso_time(change.at)}
