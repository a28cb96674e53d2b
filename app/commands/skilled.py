"""`skills`: list, look at, check, add, save, compare and keep in order what agents are taught."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType

from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from app.commands.follow import read_file
from app.output import moment
from core.domain.problems import Problem
from core.domain.skill import MAIN, Finding, Imported, Moved, Saved, SkillRow
from core.skills.carry import seen
from core.timeline.difference import difference

SIGNS = {"on": "", "shadowed": "shadowed by another of its name", "changed": "changed since you trusted it"}


async def skills(context: Context) -> int:
    action = context.typed.action
    if action in ACTIONS:
        return await ACTIONS[action](context)
    return await _word(context, action)


async def _list(context: Context) -> int:
    for row in await context.engine.skills.list(_folder(context)):
        if context.typed.json:
            context.out.json(asdict(row))
            continue
        state = SIGNS.get(row.state, row.state)
        marks = ", ".join(mark for mark in ("pinned" if row.pinned else "", state) if mark)
        context.out.write(f"{row.name}  ({row.source}{', ' + marks if marks else ''})  {_short(row)}")
    return DONE


def _short(row: SkillRow) -> str:
    words = " ".join(row.description.split()) or row.trouble
    return words if len(words) <= 90 else words[:89] + "…"


async def _show(context: Context) -> int:
    typed, out, engine = context.typed, context.out, context.engine.skills
    shown = await engine.open(typed.name, _folder(context))
    if typed.file:
        body = await engine.body(shown.row.key, typed.file, typed.version)
        out.write(body.decode("utf-8", "replace"))
        return DONE
    text = await engine.text(shown.row.key, typed.version) if typed.version else shown.text
    if typed.json:
        files = [asdict(file) for file in shown.files]
        findings = [asdict(each) for each in shown.findings]
        out.json({**asdict(shown.row), "base": shown.base, "text": text, "files": files, "findings": findings})
        return DONE
    out.write(text.rstrip("\n"))
    out.write(f"[{shown.row.key}, version {typed.version or shown.row.version}, {shown.row.state}]")
    for file in shown.files:
        if file.path != MAIN:
            out.write(f"[file {file.path}, {file.size:,} bytes{', can be run' if file.executable else ''}]")
    _tell(context, shown.findings)
    return DONE


async def _check(context: Context) -> int:
    found = await asyncio.to_thread(seen, _path(context))
    for each in found:
        errors = sum(finding.level == "error" for finding in each.findings)
        if context.typed.json:
            plain = {"name": each.name, "valid": not errors and not each.trouble, "trouble": each.trouble}
            context.out.json(plain | {"findings": [asdict(f) for f in each.findings]})
            continue
        said = each.trouble or ("valid" if not errors else f"{errors} against the format")
        context.out.write(f"{each.name}: {said}")
        _tell(context, each.findings)
    wrong = any(each.trouble or any(f.level == "error" for f in each.findings) for each in found)
    return FAILED if wrong else DONE


async def _add(context: Context) -> int:
    typed, engine = context.typed, context.engine.skills
    brought = await engine.bring(_path(context), typed.names, replace=typed.replace)
    for each in brought:
        row = next((row for row in await engine.list() if row.key == each.key), None)
        if typed.trust and each.version and row:
            await engine.trust(row.key, row.digest)
        _tell_import(context, each, trusted=typed.trust or bool(row and row.state not in ("untrusted", "changed")))
    return DONE if any(each.version for each in brought) else FAILED


def _tell_import(context: Context, each: Imported, *, trusted: bool) -> None:
    if context.typed.json:
        context.out.json(asdict(each) | {"findings": [asdict(finding) for finding in each.findings]})
        return
    if not each.version:
        context.out.write(f"{each.name}: not added" + (f": {each.trouble}" if each.trouble else ""))
        return
    name = each.key.partition("/")[2]
    told = "it was there already" if each.clash == "same" else f"added as {name}, version {each.version}"
    trust = "" if trusted else f"; look at it, then `journeyman skills trust {name}`"
    context.out.write(f"{each.name}: {told}{trust}")
    _tell(context, [finding for finding in each.findings if finding.level != "note"])


async def _save(context: Context) -> int:
    typed, engine = context.typed, context.engine.skills
    text = read_file(context, typed.source)
    try:
        shown = await engine.open(typed.name, _folder(context))
        key, newest = shown.row.key, shown.base
    except Problem:
        key, newest = typed.name, 0
    done = await engine.save(key, text, None, newest if typed.base is None else typed.base, why=typed.why)
    if isinstance(done, Saved):
        _say(context, {"key": done.key, "version": done.version}, f"{done.key} is at version {done.version}.")
        _tell(context, done.findings)
        return DONE
    clashes = sum(part.kind == "clash" for part in done.parts)
    plain = {"key": done.key, "base": done.base, "head": done.head.number, "clashes": clashes, "merged": done.merged}
    what = f"Not saved: {done.head.by} saved version {done.head.number} since version {done.base}"
    do = "the changes do not touch; save the text of --json `merged`" if not clashes else f"{clashes} changes clash"
    _say(context, plain, f"{what}; {do}. Compare with `journeyman skills diff {typed.name} {done.base}`.")
    return FAILED


async def _export(context: Context) -> int:
    typed = context.typed
    place = await context.engine.skills.export(await _key(context), context.folder / typed.to, typed.version)
    context.out.write(f"Written to {place}")
    return DONE


async def _history(context: Context) -> int:
    shown = await context.engine.skills.open(context.typed.name, _folder(context))
    for each in shown.versions:
        if context.typed.json:
            context.out.json(asdict(each) | {"made": moment(each.made)})
        else:
            source = f" (session {each.session})" if each.session else ""
            context.out.write(f"{each.number:4}  {moment(each.made)[:16]}  {each.by}{source}  {each.why}".rstrip())
    return DONE


async def _diff(context: Context) -> int:
    for each in await context.engine.skills.difference(await _key(context), context.typed.a, context.typed.b):
        context.out.write(
            f"{each.path}" + (" (new)" if each.before is None else " (gone)" if each.after is None else "")
        )
        if each.text:
            write_difference(context, each.before or "", each.after or "")
    return DONE


def write_difference(context: Context, before: str, after: str) -> None:
    """Line by line, with + and -."""
    for row in difference(before, after).rows():
        if row.sign != "head":
            context.out.write(row.sign + row.text.rstrip("\r\n"))
        elif row.text != "0":
            context.out.write(f"@@ {row.text} lines alike")


async def _restore(context: Context) -> int:
    done = await context.engine.skills.restore(await _key(context), context.typed.number)
    if isinstance(done, Moved):
        raise Problem("Somebody saved it at this moment.", "Nothing was changed.", "Try again.")
    context.out.write(f"{done.key} is at version {done.version}.")
    return DONE


async def _used(context: Context) -> int:
    for each in await context.engine.skills.used_in(await _key(context)):
        if context.typed.json:
            context.out.json(asdict(each) | {"at": moment(each.at)})
        else:
            verdict = f", {'good' if each.verdict == 'up' else 'bad'}" if each.verdict else ""
            told = f"{each.session}  run {each.run}  version {each.version}  {each.status}{verdict}  {each.title}"
            context.out.write(told)
    return DONE


async def _rename(context: Context) -> int:
    key = await context.engine.skills.rename(await _key(context), context.typed.to)
    context.out.write(f"It is {key} now.")
    return DONE


async def _word(context: Context, word: str) -> int:
    """One of those that need no more than a skill."""
    engine = context.engine.skills
    shown = await engine.open(context.typed.name, _folder(context))
    key = shown.row.key
    match word:
        case "trust":
            _tell(context, [each for each in shown.findings if each.level == "warning"])
            await engine.trust(key, shown.row.digest)
        case "untrust":
            await engine.distrust(key)
        case "on" | "off":
            await engine.disable(key, word == "off")
        case "pin" | "unpin":
            await engine.pin(key, word == "pin")
        case _:
            await engine.archive(key, word == "archive")
    state = next(row.state for row in await engine.list(_folder(context)) if row.key == key)
    context.out.write(f"{key}: {SIGNS.get(state) or state}")
    return DONE


async def _key(context: Context) -> str:
    return await context.engine.skills.key_of(context.typed.name, _folder(context))


def _folder(context: Context) -> Path:
    return context.folder.joinpath(context.typed.folder).resolve()


def _path(context: Context) -> Path:
    path = context.folder.joinpath(context.typed.path)
    if not path.exists():
        raise Problem(f"There is no {path}.", "", "Name a folder, a zip file or a SKILL.md.")
    return path


def _say(context: Context, plain: Mapping[str, object], words: str) -> None:
    if context.typed.json:
        context.out.json(plain)
    else:
        context.out.write(words)


def _tell(context: Context, findings: Sequence[Finding]) -> None:
    if context.typed.action == "save" and context.typed.json:
        return
    for each in findings:
        context.out.write(f"  line {each.line}: {each.level}: {' '.join(filter(None, (each.what, each.why, each.do)))}")


ACTIONS: Mapping[str, Callable[[Context], Awaitable[int]]] = MappingProxyType(
    {
        "list": _list,
        "show": _show,
        "check": _check,
        "add": _add,
        "save": _save,
        "export": _export,
        "history": _history,
        "diff": _diff,
        "restore": _restore,
        "used": _used,
        "rename": _rename,
    }
)
