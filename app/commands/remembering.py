"""`memory`: list, look for, add, show, change, forget and carry what is remembered."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.meaning import vectors
from app.output import moment
from core.domain.clock import SECOND
from core.domain.memory import Change, Memory, Reach, Standing
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.engine.memory import Listed, Share
from core.memory.keep import Kept


async def memory(context: Context) -> int:
    """One of its actions."""
    await ACTIONS[context.typed.action](context)
    return DONE


async def _list(context: Context) -> None:
    typed = context.typed
    standing: Standing | None = None if typed.all else "archived" if typed.archived else "active"
    reach, place = _place(context) if typed.folder or typed.agent else ("", "")
    session = context.engine.session(typed.session).id if typed.session else ""
    found = await context.engine.memory.listed(
        kind=typed.kind or None, standing=standing, session=session, reach=reach, place=place, limit=typed.limit or -1
    )
    _tell(context, found, "Nothing is remembered yet. Add something: journeyman memory add 'They like short answers.'")


async def _search(context: Context) -> None:
    folder = str((context.folder / context.typed.folder).resolve()) if context.typed.folder else ""
    found = await context.engine.memory.find(context.typed.text, folder=folder, limit=context.typed.limit or 50)
    _tell(context, found, "Nothing remembered fits these words.")


async def _add(context: Context) -> None:
    typed = context.typed
    parts = {name: getattr(typed, name) for name in ("when", "do", "what", "why", "instead") if getattr(typed, name)}
    reach, place = _place(context)
    kept = await context.engine.memory.add(typed.text, typed.kind or "knowledge", reach=reach, place=place, parts=parts)
    _tell_kept(context, kept)


async def _show(context: Context) -> None:
    shown = await context.engine.memory.show(context.typed.memory)
    out, one = context.out, shown.listed
    if context.typed.json:
        plain = dataclasses.asdict(shown) | {"changes": [_plain_change(change) for change in shown.changes]}
        out.json(plain | {"listed": _plain(one)})
        return
    out.write(_line(one))
    said = one.memory.said
    for name, text in (("for", f"{said.reach} {said.place}".strip()), *said.parts.items(), ("around", said.around)):
        if text and text not in said.text:
            out.write(f"  {name}: {text}")
    origin = f"{one.memory.author}" + (f", session {one.memory.session}" if one.memory.session else "")
    out.write(f"  from: {origin}, {_day(one.memory.made)}; learnt {one.memory.evidence} ×; sure {said.confidence:.0%}")
    ahead = ", ".join(f"{left:.2f} in {days} days" for days, left in shown.ahead[1:])
    out.write(f"  strength: {one.strength:.2f} now; {ahead} when nobody uses it")
    told = shown.with_it.runs + shown.without.runs
    went = f"with it {_share(shown.with_it)}, told and not used {_share(shown.without)}"
    out.write(f"  used in {shown.with_it.runs} of {told} runs that were told it; {went}")
    for link in shown.links:
        out.write(f"  says otherwise: {link.id}  {link.said.text}")
    for change in shown.changes:
        out.write(f"  {change.number:3}  {_day(change.at)}  {_change(change)}")
    for use in shown.uses[:10]:
        used, went = "used" if use.used else "told", f", {use.went}" if use.went else ""
        out.write(f"       {_day(use.at)}  {used} in session {use.session}, run {use.run}{went}")


async def _edit(context: Context) -> None:
    typed = context.typed
    reach: Reach | None = None
    place = ""
    if typed.folder or typed.agent or typed.session or typed.everywhere:
        reach, place = _place(context)
    if not (typed.text or typed.kind or reach):
        raise Problem("Nothing was named.", "", "Say what it says now, its kind, or whom it is for.")
    edited = await context.engine.memory.edit(
        typed.memory, typed.text or "", base=typed.base, kind=typed.kind or None, reach=reach, place=place
    )
    _say(context, "Changed", edited)


async def _pin(context: Context) -> None:
    pinned = await context.engine.memory.pin(context.typed.memory, not context.typed.off)
    _say(context, "Unpinned" if context.typed.off else "Pinned", pinned)


async def _forget(context: Context) -> None:
    typed, engine = context.typed, context.engine
    if typed.session or typed.folder:
        folder = str((context.folder / typed.folder).resolve()) if typed.folder else ""
        session = engine.session(typed.session).id if typed.session else ""
        gone = await (engine.memory.forget_session(session) if session else engine.memory.forget_folder(folder))
        count = len(gone.proposals) - len(gone.skills)
        rejected = f" Rejected {count} that waited for you." if count else ""
        kept = "What you wrote yourself was kept."
        context.out.write(f"Forgot {len(gone.memories)}.{rejected} {kept}" + _back(gone.memories))
        for one in gone.skills:
            context.out.write(_skill_back(one))
        return
    if not typed.memory:
        raise Problem("Nothing was named.", "", "Name a memory, or --session or --folder.")
    if typed.for_good:
        await engine.memory.erase(typed.memory)
        context.out.write("Forgotten for good.")
        return
    _say(context, "Forgot", await engine.memory.forget(typed.memory))


async def _restore(context: Context) -> None:
    _say(context, "Restored", await context.engine.memory.restore(context.typed.memory))


async def _archive(context: Context) -> None:
    _say(context, "Archived", await context.engine.memory.archive(context.typed.memory))


async def _undo(context: Context) -> None:
    typed, memory = context.typed, context.engine.memory
    changes = await memory.changes(typed.memory)
    left = await memory.undo(typed.memory, typed.change)
    if left is not None:
        _say(context, "Taken back", left)
        return
    back = f"journeyman memory undo {changes[0].memory} --change {len(changes) + 1}"
    context.out.write(f"Taken back. Nothing is left of it. Back with: {back}")


async def _tidy(context: Context) -> None:
    done = await context.engine.memory.tidy()
    context.out.write(f"Archived {len(done.archived)}." + _back(done.archived))
    if done.proposed:
        context.out.write(f"Proposed {len(done.proposed)}: journeyman proposals list")


async def _journey(context: Context) -> None:
    for day in await context.engine.memory.journey():
        if context.typed.json:
            learnt = [_plain_memory(one) for one in day.learnt]
            context.out.json({"day": day.day, "learnt": learnt, "runs": day.runs})
            continue
        context.out.write(f"{day.day}  learnt {len(day.learnt)}, {day.runs} runs noted")
        for one in day.learnt:
            context.out.write(f"  {one.id}  {one.said.kind}: {one.said.text}  ({one.author})")


async def _export(context: Context) -> None:
    text = await context.engine.memory.export(all_of_them=context.typed.all)
    if not context.typed.output:
        context.out.write(text)
        return
    file = context.folder / context.typed.output
    try:
        file.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise Problem(f"{file} cannot be written.", f"{error.strerror}.", "Name another file.") from error
    context.out.write(f"Written to {file}.")


async def _import(context: Context) -> None:
    reach, place = _place(context)
    for name in context.typed.files:
        found = await context.engine.memory.take_in(context.folder / name, reach=reach, place=place)
        new = sum(kept.did == "kept" for kept in found)
        context.out.write(f"{name}: {new} new, {len(found) - new} known already.")


ACTIONS = {
    "list": _list, "search": _search, "add": _add, "show": _show, "edit": _edit, "pin": _pin, "forget": _forget,
    "restore": _restore, "archive": _archive, "undo": _undo, "tidy": _tidy, "journey": _journey, "export": _export,
    "import": _import, "vectors": vectors,
}  # fmt: skip


def _place(context: Context) -> tuple[Reach, str]:
    """For whom: a folder, an agent or a session that was named, else everywhere."""
    typed = context.typed
    if typed.folder:
        return "folder", str((context.folder / typed.folder).resolve())
    if getattr(typed, "agent", ""):
        return "agent", typed.agent
    if getattr(typed, "session", ""):
        return "session", context.engine.session(typed.session).id
    return "everywhere", ""


def _tell(context: Context, found: list[Listed], empty: str) -> None:
    for one in found:
        if context.typed.json:
            context.out.json(_plain(one))
        else:
            context.out.write(_line(one))
    if not found and not context.typed.json:
        context.out.write(empty)


def _tell_kept(context: Context, kept: Kept) -> None:
    if context.typed.json:
        others = [other.id for other in kept.others]
        context.out.json(_plain_memory(kept.memory) | {"did": kept.did, "contradicts": others})
        return
    known = f"Known already, learnt {kept.memory.evidence} times now"
    context.out.write(f"{'Remembered' if kept.did == 'kept' else known}: {kept.memory.id}  {kept.memory.said.text}")
    for other in kept.others:
        context.out.write(f"It says otherwise than {other.id}: {other.said.text}")
        context.out.write(f"Which one is true? Forget the other: journeyman memory forget {other.id}")


def _say(context: Context, did: str, memory: Memory) -> None:
    context.out.write(f"{did}: {memory.id}  {memory.said.text}")


def _line(one: Listed) -> str:
    memory = one.memory
    standing = "" if memory.standing == "active" else f", {memory.standing}"
    pinned = ", pinned" if memory.pinned else ""
    place = f", {memory.said.reach} {memory.said.place}" if memory.said.place else ""
    fits = f"  [{one.score:.2f} {one.words}]" if one.score else ""
    return f"{memory.id}  {memory.said.kind}: {memory.said.text}  ({one.state}{pinned}{standing}{place}){fits}"


def _share(share: Share) -> str:
    return f"{share.good} of {share.judged} judged went well" if share.judged else "none was judged"


def _change(change: Change) -> str:
    named = {"undone": f"took back change {change.back}", "linked": f"linked to {change.other}"}
    words = named.get(change.did, change.did)
    said = f": {change.said.text}" if change.said else ""
    why = f" ({change.why})" if change.why else ""
    return f"{change.by} {words}{said}{why}"


def _back(gone: Sequence[str]) -> str:
    rest = f", so too {', '.join(gone[1:])}" if gone[1:] else ""
    return f" Back with: journeyman memory restore {gone[0]}{rest}" if gone else ""


def _skill_back(gone: Proposal) -> str:
    """What became of a skill that was taken back, and how it is had again."""
    key, _, number = gone.result.partition(" ")
    if gone.what == "create":
        return f"Archived the skill {key}. Back with: journeyman skills unarchive {key}"
    return f"Took version {number} of the skill {key} back. Back with: journeyman skills restore {key} {number}"


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / SECOND).astimezone().strftime("%Y-%m-%d")


def _plain(one: Listed) -> dict[str, Any]:
    score = {"score": one.score, "words": one.words} if one.score else {}
    return _plain_memory(one.memory) | {"strength": round(one.strength, 4), "state": one.state} | score


def _plain_memory(memory: Memory) -> dict[str, Any]:
    plain = dataclasses.asdict(memory)
    said = plain.pop("said")
    return {"id": plain["id"], **said, **plain} | {"made": moment(memory.made), "changed": moment(memory.changed)}


def _plain_change(change: Change) -> dict[str, Any]:
    return dataclasses.asdict(change) | {"at": moment(change.at)}
