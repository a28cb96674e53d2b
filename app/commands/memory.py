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
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.engine.services.memory_service import MemoryListing, RunOutcomes
from core.memory.saving import SaveResult


async def memory(context: Invocation) -> int:
    await ACTIONS[context.args.action](context)
    return DONE


async def _list(context: Invocation) -> None:
    typed = context.args
    standing: MemoryStatus | None = None if typed.all else "archived" if typed.archived else "active"
    reach, place = _scope(context) if typed.folder or typed.agent else ("", "")
    session = context.engine.session(typed.session).id if typed.session else ""
    found = await context.engine.memory.list_memories(
        kind=typed.kind or None, status=standing, session=session, scope=reach, scope_id=place, limit=typed.limit or -1
    )
    _tell(context, found, "No memories. Add one: journeyman memory add 'The user likes short answers.'")


async def _search(context: Invocation) -> None:
    folder = str((context.folder / context.args.folder).resolve()) if context.args.folder else ""
    found = await context.engine.memory.find(context.args.text, folder=folder, limit=context.args.limit or 50)
    _tell(context, found, "No memories match.")


async def _add(context: Invocation) -> None:
    typed = context.args
    parts = {name: getattr(typed, name) for name in ("when", "do", "what", "why", "instead") if getattr(typed, name)}
    reach, place = _scope(context)
    kept = await context.engine.memory.add(
        typed.text, typed.kind or "knowledge", scope=reach, scope_id=place, parts=parts
    )
    _tell_kept(context, kept)


async def _show(context: Invocation) -> None:
    shown = await context.engine.memory.show(context.args.memory)
    out, one = context.out, shown.listed
    if context.args.json:
        plain = dataclasses.asdict(shown) | {"changes": [_plain_change(change) for change in shown.changes]}
        out.write_json(plain | {"listed": _plain(one)})
        return
    out.write(_line(one))
    said = one.memory.content
    for name, text in (
        ("for", f"{said.scope} {said.scope_id}".strip()),
        *said.fields.items(),
        ("around", said.context),
    ):
        if text and text not in said.text:
            out.write(f"  {name}: {text}")
    origin = f"{one.memory.author}" + (f", session {one.memory.session}" if one.memory.session else "")
    out.write(
        f"  from: {origin}, {_day(one.memory.created_at)}; learned {one.memory.evidence} ×;"
        f" confidence {said.confidence:.0%}"
    )
    ahead = ", ".join(f"{left:.2f} in {days} days" for days, left in shown.forecast[1:])
    out.write(f"  relevance: {one.relevance:.2f} now; {ahead} if it is not used")
    told = shown.outcomes_used.runs + shown.outcomes_unused.runs
    went = f"with it {_share(shown.outcomes_used)}; received but not used {_share(shown.outcomes_unused)}"
    out.write(f"  used in {shown.outcomes_used.runs} of {plural(told, 'run')} that received it; {went}")
    for link in shown.conflicts:
        out.write(f"  contradicts: {link.id}  {link.content.text}")
    for change in shown.changes:
        out.write(f"  {change.number:3}  {_day(change.at)}  {_change(change)}")
    for use in shown.uses[:10]:
        used, went = "used" if use.used else "received", f", {use.run_rating}" if use.run_rating else ""
        out.write(f"       {_day(use.at)}  {used} in session {use.session}, run {use.run}{went}")


async def _edit(context: Invocation) -> None:
    typed = context.args
    reach: MemoryScope | None = None
    place = ""
    if typed.folder or typed.agent or typed.session or typed.everywhere:
        reach, place = _scope(context)
    if not (typed.text or typed.kind or reach):
        raise Problem("There is nothing to change.", "", "Give a new TEXT, --kind, or a scope such as --folder.")
    edited = await context.engine.memory.edit(
        typed.memory, typed.text or "", base=typed.base, kind=typed.kind or None, scope=reach, scope_id=place
    )
    _say(context, "Changed", edited)


async def _pin(context: Invocation) -> None:
    pin = context.args.action == "pin"
    _say(context, "Pinned" if pin else "Unpinned", await context.engine.memory.pin(context.args.memory, pin))


async def _forget(context: Invocation) -> None:
    typed, engine = context.args, context.engine
    if typed.session or typed.folder:
        folder = str((context.folder / typed.folder).resolve()) if typed.folder else ""
        session = engine.session(typed.session).id if typed.session else ""
        gone = await (engine.memory.forget_session(session) if session else engine.memory.forget_folder(folder))
        count = len(gone.proposals) - len(gone.skills)
        rejected = f" Rejected {plural(count, 'open proposal')}." if count else ""
        kept = "Kept what you wrote yourself."
        forgot = f"Forgot {len(gone.memories)} {'memory' if len(gone.memories) == 1 else 'memories'}."
        context.out.write(f"{forgot}{rejected} {kept}" + _back(gone.memories))
        for one in gone.skills:
            context.out.write(_undone_skill_text(one))
        return
    if not typed.memory:
        raise Problem("There is nothing to forget.", "", "Name a memory, or give --session or --folder.")
    if typed.permanently:
        await engine.memory.erase(typed.memory)
        context.out.write("Permanently forgotten.")
        return
    _say(context, "Forgot", await engine.memory.forget(typed.memory))


async def _restore(context: Invocation) -> None:
    _say(context, "Restored", await context.engine.memory.restore(context.args.memory))


async def _archive(context: Invocation) -> None:
    _say(context, "Archived", await context.engine.memory.archive(context.args.memory))


async def _undo(context: Invocation) -> None:
    typed, memory = context.args, context.engine.memory
    changes = await memory.changes(typed.memory)
    left = await memory.undo(typed.memory, typed.change)
    if left is not None:
        _say(context, "Undone", left)
        return
    back = f"journeyman memory undo {changes[0].memory} --change {len(changes) + 1}"
    context.out.write(f"Undone. The memory no longer exists. Redo with: {back}")


async def _tidy(context: Invocation) -> None:
    done = await context.engine.memory.tidy()
    count = len(done.archived)
    context.out.write(f"Archived {count} {'memory' if count == 1 else 'memories'}." + _back(done.archived))
    if done.proposed:
        context.out.write(f"Made {plural(len(done.proposed), 'proposal')}: journeyman proposals")


async def _log(context: Invocation) -> None:
    days = list(await context.engine.memory.learned_by_day())
    if not days and not context.args.json:
        context.out.write("Nothing was learned yet.")
    for day in days:
        if context.args.json:
            learned = [_plain_memory(one) for one in day.learned]
            context.out.write_json({"day": day.day, "learned": learned, "runs": day.runs})
            continue
        context.out.write(f"{day.day}  learned {len(day.learned)}, noted {plural(day.runs, 'run')}")
        for one in day.learned:
            context.out.write(f"  {one.id}  {one.content.kind}: {one.content.text}  ({one.author})")


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
    reach, place = _scope(context)
    for name in context.args.files:
        found = await context.engine.memory.import_file(context.folder / name, scope=reach, scope_id=place)
        new, waiting = sum(kept.did == "created" for kept in found.saved), len(found.proposed)
        asked = f" {plural(waiting, 'proposal')} to decide on: journeyman proposals." if waiting else ""
        context.out.write(f"{name}: {new} new, {len(found.saved) - new} already known.{asked}")


ACTIONS = {
    "list": _list, "search": _search, "add": _add, "show": _show, "edit": _edit, "pin": _pin, "unpin": _pin,
    "forget": _forget, "restore": _restore, "archive": _archive, "undo": _undo, "tidy": _tidy, "log": _log,
    "export": _export, "import": _import, "index": memory_index,
}  # fmt: skip


def _scope(context: Invocation) -> tuple[MemoryScope, str]:
    """Return the scope in the arguments with its folder, agent or session. The default is everywhere."""
    typed = context.args
    if typed.folder:
        return "folder", str((context.folder / typed.folder).resolve())
    if getattr(typed, "agent", ""):
        return "agent", typed.agent
    if getattr(typed, "session", ""):
        return "session", context.engine.session(typed.session).id
    return "everywhere", ""


def _tell(context: Invocation, found: list[MemoryListing], empty: str) -> None:
    for one in found:
        if context.args.json:
            context.out.write_json(_plain(one))
        else:
            context.out.write(_line(one))
    if not found and not context.args.json:
        context.out.write(empty)


def _tell_kept(context: Invocation, kept: SaveResult) -> None:
    if context.args.json:
        others = [other.id for other in kept.conflicts]
        context.out.write_json(_plain_memory(kept.memory) | {"action": kept.did, "contradicts": others})
        return
    known = f"Already known, learned {kept.memory.evidence} times now"
    context.out.write(f"{'Added' if kept.did == 'created' else known}: {kept.memory.id}  {kept.memory.content.text}")
    for other in kept.conflicts:
        context.out.write(f"It contradicts {other.id}: {other.content.text}")
        context.out.write(f"Forget the one that is wrong: journeyman memory forget {other.id}")


def _say(context: Invocation, did: str, memory: Memory) -> None:
    context.out.write(f"{did}: {memory.id}  {memory.content.text}")


def _line(one: MemoryListing) -> str:
    memory = one.memory
    standing = "" if memory.status == "active" else f", {memory.status}"
    pinned = ", pinned" if memory.pinned else ""
    place = f", {memory.content.scope} {memory.content.scope_id}" if memory.content.scope_id else ""
    fits = f"  [{one.score:.2f} {one.match_reason}]" if one.score else ""
    return f"{memory.id}  {memory.content.kind}: {memory.content.text}  ({one.state}{pinned}{standing}{place}){fits}"


def _share(share: RunOutcomes) -> str:
    return f"{share.good} of {share.rated} rated runs were good" if share.rated else "no rated runs"


def _change(change: MemoryChange) -> str:
    named = {"undone": f"undid change {change.undoes}", "conflict_found": f"linked to {change.related_memory}"}
    words = named.get(change.action, change.action)
    said = f": {change.content.text}" if change.content else ""
    why = f" ({change.reason})" if change.reason else ""
    return f"{change.author} {words}{said}{why}"


def _back(gone: Sequence[str]) -> str:
    rest = f", and the same for {', '.join(gone[1:])}" if gone[1:] else ""
    return f" Restore with: journeyman memory restore {gone[0]}{rest}" if gone else ""


def _undone_skill_text(gone: Proposal) -> str:
    """Describe how a skill was undone because its source was forgotten, with the command that restores it."""
    key, _, number = gone.result.partition(" ")
    if gone.action == "create":
        return f"Archived the skill {key}. Restore with: journeyman skills unarchive {key}"
    return f"Reverted version {number} of the skill {key}. Restore with: journeyman skills restore {key} {number}"


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / SECOND).astimezone().strftime("%Y-%m-%d")


def _plain(one: MemoryListing) -> dict[str, Any]:
    score = {"score": one.score, "match_reason": one.match_reason} if one.score else {}
    return _plain_memory(one.memory) | {"relevance": round(one.relevance, 4), "state": one.state} | score


def _plain_memory(memory: Memory) -> dict[str, Any]:
    plain = dataclasses.asdict(memory)
    content = plain.pop("content")
    return {"id": plain["id"], **content, **plain} | {
        "created_at": iso_time(memory.created_at),
        "updated_at": iso_time(memory.updated_at),
    }


def _plain_change(change: MemoryChange) -> dict[str, Any]:
    return dataclasses.asdict(change) | {"at": iso_time(change.at)}
