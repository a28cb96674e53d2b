"""The command `memory`: lists, searches, changes, exports and imports memories."""

import dataclasses
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from app.commands.invocation import Invocation, UsageProblem
from app.commands.memory_index import memory_index
from app.process.exit_codes import DONE
from app.process.output import ascii_json, iso_time, plural
from core.domain.clock import SECOND
from core.domain.memory import FIELDS, MARKS, Memory, MemoryChange, MemoryScope, MemoryStatus, sentence
from core.domain.memory_marks import EXPIRES, USER_RATING, UserRating, join_tags, marks_of, tags_of
from core.domain.problems import Problem
from core.domain.proposal import Proposal, SkillResult
from core.engine.services.memory_results import MemoryDetails, MemoryListing, RunOutcomes
from core.memory.saving import SaveResult


class ChosenScope(NamedTuple):
    """A scope, and the folder, agent or session that it is limited to."""

    scope: MemoryScope
    scope_id: str


async def memory(context: Invocation) -> int:
    await ACTIONS[context.args.action](context)
    return DONE


async def _list(context: Invocation) -> None:
    args = context.args
    status: MemoryStatus | None = "archived" if args.archived else "active"
    if args.all:
        status = None
    scope, scope_id = _chosen_scope(context) if args.folder or args.agent else ("", "")
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
    if not (args.text or sentence(args.kind, parts)):
        fix = "Give a TEXT, or --when and --do of a heuristic, or --what of an anti-pattern."
        raise UsageProblem("There is nothing to remember.", "", fix)
    scope, scope_id = _chosen_scope(context)
    result = await context.engine.memory.add(
        args.text,
        args.kind,
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
    if context.args.json:
        plain = dataclasses.asdict(details) | {"changes": [_plain_change(change) for change in details.changes]}
        context.out.write_json(plain | {"listed": _plain(details.listed)})
        return
    for line in _describe(details):
        context.out.write(line)


def _describe(details: MemoryDetails) -> Iterator[str]:
    memory, content = details.listed.memory, details.listed.memory.content
    yield _memory_line(details.listed)
    for name, text in (
        ("for", f"{content.scope} {content.scope_id}".strip()),
        *((name, content.fields.get(name, "")) for name in (*FIELDS[content.kind], *MARKS)),
        ("context", content.context.replace("\n", "\n    ")),
    ):
        if text and text not in content.text:
            yield f"  {name}: {text}"
    origin = f"{memory.author}, session {memory.session}" if memory.session else memory.author
    learned = f"learned {memory.evidence} ×; confidence {content.confidence:.0%}"
    yield f"  from: {origin}, {_day(memory.created_at)}; {learned}"
    forecast = ", ".join(f"{relevance:.2f} in {days} days" for days, relevance in details.forecast[1:])
    yield f"  relevance: {details.listed.relevance:.2f} now; {forecast} if it is not used"
    yield _outcomes_line(details.outcomes_used, details.outcomes_unused)
    for conflict in details.conflicts:
        yield f"  contradicts: {conflict.id}  {conflict.content.text}"
    for change in details.changes:
        yield f"  {change.number:3}  {_day(change.at)}  {_change_text(change)}"
    for use in details.uses[:10]:
        verb = "used" if use.used else "received"
        rating = f", {use.run_rating}" if use.run_rating else ""
        yield f"       {_day(use.at)}  {verb} in session {use.session}, run {use.run}{rating}"


def _outcomes_line(used: RunOutcomes, unused: RunOutcomes) -> str:
    received = plural(used.runs + unused.runs, "run")
    ratings = f"with it {_rating_text(used)}; received but not used {_rating_text(unused)}"
    return f"  used in {used.runs} of {received} that received it; {ratings}"


async def _edit(context: Invocation) -> None:
    args = context.args
    scope: MemoryScope | None = None
    scope_id = ""
    if args.folder or args.agent or args.session or args.everywhere:
        scope, scope_id = _chosen_scope(context)
    changes_content = bool(args.text or args.kind or scope)
    changes_marks = args.tag is not None or args.expires is not None
    memories, edited = context.engine.memory, None
    if changes_content:
        edited = await memories.edit(
            args.memory, args.text or "", base=args.base, kind=args.kind or None, scope=scope, scope_id=scope_id
        )
    if changes_marks:
        edited = await memories.mark(args.memory, tags=args.tag, expires=args.expires)
    if edited is None:
        raise UsageProblem(
            "There is nothing to change.", "", "Give a new TEXT, --kind, --tag, or a scope such as --folder."
        )
    _print_change(context, "Changed", edited)


async def _pin(context: Invocation) -> None:
    pinned = context.args.action == "pin"
    changed = await context.engine.memory.pin(context.args.memory, pinned)
    _print_change(context, "Pinned" if pinned else "Unpinned", changed)


async def _forget(context: Invocation) -> None:
    args, engine = context.args, context.engine
    if not args.memory:
        await _forget_source(context)
        return
    if args.permanently:
        await engine.memory.erase(args.memory)
        context.out.write("Permanently forgotten.")
        return
    _print_change(context, "Forgot", await engine.memory.forget(args.memory))


async def _forget_source(context: Invocation) -> None:
    """Forget everything that was learned from a session or for a folder."""
    args, engine = context.args, context.engine
    if args.permanently:
        fix = "Forget them first, then delete each one with its ID."
        raise UsageProblem("--permanently needs the ID of a memory.", "", fix)
    if args.session:
        forgotten = await engine.memory.forget_session(engine.session(args.session).id)
    else:
        forgotten = await engine.memory.forget_folder(str((context.folder / args.folder).resolve()))
    rejected = len(forgotten.proposals) - len(forgotten.skills)
    rejected_text = f" Rejected {plural(rejected, 'open proposal')}." if rejected else ""
    forgotten_text = f"Forgot {_memory_count(len(forgotten.memories))}.{rejected_text} Kept what you wrote yourself."
    context.out.write(forgotten_text + _restore_hint(forgotten.memories))
    for skill in forgotten.skills:
        context.out.write(_undone_skill_text(skill))


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
        for item, reason in preview.archived:
            context.out.write(f"Would archive {item.id}  {item.content.text}  ({reason})")
        for proposal in preview.proposed:
            context.out.write(f"Would propose to {proposal.action}: {proposal.text}")
        if not preview.archived and not preview.proposed:
            context.out.write("There is nothing to tidy.")
        return
    result = await context.engine.memory.tidy()
    context.out.write(f"Archived {_memory_count(len(result.archived))}." + _restore_hint(result.archived))
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
    scope, scope_id = _chosen_scope(context)
    for name in context.args.files:
        result = await context.engine.memory.import_file(context.folder / name, scope=scope, scope_id=scope_id)
        new = sum(saved.did == "created" for saved in result.saved)
        proposed = len(result.proposed)
        proposals_text = f" {plural(proposed, 'proposal')} to decide on: journeyman proposals." if proposed else ""
        context.out.write(f"{name}: {new} new, {len(result.saved) - new} already known.{proposals_text}")


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[None]]] = MappingProxyType(
    {
        "list": _list,
        "search": _search,
        "add": _add,
        "show": _show,
        "edit": _edit,
        "pin": _pin,
        "unpin": _pin,
        "forget": _forget,
        "restore": _restore,
        "archive": _archive,
        "undo": _undo,
        "tidy": _tidy,
        "rate": _rate,
        "log": _log,
        "export": _export,
        "import": _import,
        "index": memory_index,
    }
)


def _chosen_scope(context: Invocation) -> ChosenScope:
    """Return the scope that the arguments select. The default is everywhere."""
    args = context.args
    if args.folder:
        return ChosenScope("folder", str((context.folder / args.folder).resolve()))
    if args.agent:
        return ChosenScope("agent", args.agent)
    if args.session:
        return ChosenScope("session", context.engine.session(args.session).id)
    return ChosenScope("everywhere", "")


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
    outcome = "Added" if result.did == "created" else f"Already known, learned {memory.evidence} times now"
    context.out.write(f"{outcome}: {memory.id}  {memory.content.text}")
    for other in result.conflicts:
        context.out.write(f"It contradicts {other.id}: {other.content.text}")
        context.out.write(f"Forget the one that is wrong: journeyman memory forget {other.id}")


def _print_change(context: Invocation, action: str, memory: Memory) -> None:
    context.out.write(f"{action}: {memory.id}  {memory.content.text}")


def _memory_line(listing: MemoryListing) -> str:
    memory, content = listing.memory, listing.memory.content
    marks = marks_of(content)
    state: str = listing.state
    if memory.pinned:
        state += ", pinned"
    if USER_RATING in marks:
        state += f", rated {marks[USER_RATING]}"
    if EXPIRES in marks:
        state += f", until {marks[EXPIRES]}"
    state += "".join(f" #{tag}" for tag in tags_of(content))
    if memory.status != "active":
        state += f", {memory.status}"
    if content.scope_id:
        state += f", {content.scope} {content.scope_id}"
    match = f"  [{listing.score:.2f} {listing.match_reason}]" if listing.score else ""
    return f"{memory.id}  {content.kind}: {content.text}  ({state}){match}"


def _memory_count(count: int) -> str:
    return f"{count} {'memory' if count == 1 else 'memories'}"


def _rating_text(outcomes: RunOutcomes) -> str:
    return f"{outcomes.good} of {outcomes.rated} rated runs were good" if outcomes.rated else "no rated runs"


def _change_text(change: MemoryChange) -> str:
    descriptions = {"undone": f"undid change {change.undoes}", "conflict_found": f"linked to {change.related_memory}"}
    action = descriptions.get(change.action, change.action)
    text = f": {change.content.text}" if change.content else ""
    reason = f" ({change.reason})" if change.reason else ""
    return f"{change.author} {action}{text}{reason}"


def _restore_hint(forgotten: Sequence[str]) -> str:
    if not forgotten:
        return ""
    first, *others = forgotten
    further = f", and the same for {', '.join(others)}" if others else ""
    return f" Restore with: journeyman memory restore {first}{further}"


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
