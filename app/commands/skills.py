"""The command `skills`: lists, checks, adds, edits and exports the skills that agents can use."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType

from app.commands.invocation import Invocation
from app.commands.run_follower import read_text_argument
from app.process.exit_codes import DONE, FAILED
from app.process.output import iso_time, plural
from core.domain.problems import Problem
from core.domain.skill import SKILL_FILE, ImportedSkill, SkillFinding, SkillRow, SkillSaveConflict, SkillSaved
from core.skills.transfer import inspect_skills
from core.timeline.text_diff import diff_texts

STATE_TEXTS = {
    "enabled": "", "shadowed": "hidden by another of its name", "changed": "changed since you trusted it",
}  # fmt: skip


async def skills(context: Invocation) -> int:
    action = context.args.action
    if action in ACTIONS:
        return await ACTIONS[action](context)
    return await _switch(context, action)


async def _list(context: Invocation) -> int:
    rows = await context.engine.skills.list(_folder(context))
    if not rows and not context.args.json:
        context.out.write("No skills. Add some: journeyman skills add PATH")
    for row in rows:
        if context.args.json:
            context.out.write_json(asdict(row))
            continue
        state = STATE_TEXTS.get(row.state, row.state)
        marks = ", ".join(mark for mark in ("pinned" if row.pinned else "", state) if mark)
        context.out.write(f"{row.name}  ({row.source}{', ' + marks if marks else ''})  {_short(row)}")
    return DONE


def _short(row: SkillRow) -> str:
    words = " ".join(row.description.split()) or row.error
    return words if len(words) <= 90 else words[:89] + "…"


async def _show(context: Invocation) -> int:
    typed, out, engine = context.args, context.out, context.engine.skills
    shown = await engine.open(typed.name, _folder(context))
    if typed.file:
        body = await engine.read_file(shown.row.key, typed.file, typed.version)
        out.write(body.decode("utf-8", "replace"))
        return DONE
    text = await engine.read_text(shown.row.key, typed.version) if typed.version else shown.text
    if typed.json:
        files = [asdict(file) for file in shown.files]
        findings = [asdict(each) for each in shown.findings]
        out.write_json({**asdict(shown.row), "base": shown.base, "text": text, "files": files, "findings": findings})
        return DONE
    out.write(text.rstrip("\n"))
    out.write(f"[{shown.row.key}, version {typed.version or shown.row.version}, {shown.row.state}]")
    for file in shown.files:
        if file.path != SKILL_FILE:
            out.write(f"[file {file.path}, {file.size:,} bytes{', executable' if file.executable else ''}]")
    _tell(context, shown.findings)
    return DONE


async def _check(context: Invocation) -> int:
    found = await asyncio.to_thread(inspect_skills, _path(context))
    for each in found:
        errors = sum(finding.level == "error" for finding in each.findings)
        if context.args.json:
            plain = {"name": each.name, "valid": not errors and not each.error, "trouble": each.error}
            context.out.write_json(plain | {"findings": [asdict(f) for f in each.findings]})
            continue
        said = each.error or (plural(errors, "error") if errors else "valid")
        context.out.write(f"{each.name}: {said}")
        _tell(context, each.findings)
    wrong = any(each.error or any(f.level == "error" for f in each.findings) for each in found)
    return FAILED if wrong else DONE


async def _add(context: Invocation) -> int:
    typed, engine = context.args, context.engine.skills
    brought = await engine.import_skills(_path(context), typed.names, replace=typed.replace)
    for each in brought:
        row = next((row for row in await engine.list() if row.key == each.key), None)
        if typed.trust and each.version and row:
            await engine.trust(row.key, row.digest)
        _tell_import(context, each, trusted=typed.trust or bool(row and row.state not in ("untrusted", "changed")))
    return DONE if any(each.version for each in brought) else FAILED


def _tell_import(context: Invocation, each: ImportedSkill, *, trusted: bool) -> None:
    if context.args.json:
        context.out.write_json(asdict(each) | {"findings": [asdict(finding) for finding in each.findings]})
        return
    if not each.version:
        context.out.write(f"{each.name}: not added" + (f": {each.error}" if each.error else ""))
        return
    name = each.key.partition("/")[2]
    told = "already in the library" if each.name_taken_by == "same" else f"added as {name}, version {each.version}"
    trust = "" if trusted else f"; read it, then `journeyman skills trust {name}`"
    context.out.write(f"{each.name}: {told}{trust}")
    _tell(context, [finding for finding in each.findings if finding.level != "note"])


async def _save(context: Invocation) -> int:
    typed, engine = context.args, context.engine.skills
    text = read_text_argument(context, typed.source)
    try:
        shown = await engine.open(typed.name, _folder(context))
        key, newest = shown.row.key, shown.base
    except Problem:
        key, newest = typed.name, 0
    done = await engine.save(key, text, None, newest if typed.base is None else typed.base, why=typed.note)
    if isinstance(done, SkillSaved):
        _say(context, {"key": done.key, "version": done.version}, f"Saved {done.key}, version {done.version}.")
        _tell(context, done.findings)
        return DONE
    conflicts = sum(part.kind == "clash" for part in done.hunks)
    plain = {
        "key": done.key,
        "base": done.base,
        "latest": done.latest.number,
        "conflicts": conflicts,
        "merged": done.merged,
    }
    what = f"Not saved: version {done.latest.number} was saved since version {done.base}, by {done.latest.author}"
    no_conflicts = "there are no conflicts, so save the text `merged` of --json"
    do = plural(conflicts, "conflict") if conflicts else no_conflicts
    _say(context, plain, f"{what}; {do}. Compare with `journeyman skills diff {typed.name} {done.base}`.")
    return FAILED


async def _export(context: Invocation) -> int:
    typed = context.args
    place = await context.engine.skills.export(await _key(context), context.folder / typed.to, typed.version)
    context.out.write(f"Exported to {place}.")
    return DONE


async def _history(context: Invocation) -> int:
    shown = await context.engine.skills.open(context.args.name, _folder(context))
    for each in shown.versions:
        if context.args.json:
            context.out.write_json(asdict(each) | {"created_at": iso_time(each.created_at)})
        else:
            source = f" (session {each.session})" if each.session else ""
            context.out.write(
                f"{each.number:4}  {iso_time(each.created_at)[:16]}  {each.author}{source}  {each.reason}".rstrip()
            )
    return DONE


async def _diff(context: Invocation) -> int:
    for each in await context.engine.skills.diff(await _key(context), context.args.a, context.args.b):
        context.out.write(
            f"{each.path}" + (" (added)" if each.before is None else " (removed)" if each.after is None else "")
        )
        if each.text:
            print_diff(context, each.before or "", each.after or "")
    return DONE


def print_diff(context: Invocation, before: str, after: str) -> None:
    """Print a unified diff with context lines."""
    for row in diff_texts(before, after).rows():
        if row.sign != "head":
            context.out.write(row.sign + row.text.rstrip("\r\n"))
        elif row.text != "0":
            context.out.write(f"@@ {plural(int(row.text), 'equal line')}")


async def _restore(context: Invocation) -> int:
    done = await context.engine.skills.restore(await _key(context), context.args.number)
    if isinstance(done, SkillSaveConflict):
        raise Problem("The skill was saved by someone else just now.", "Nothing was changed.", "Try again.")
    context.out.write(f"Restored {done.key}, as version {done.version}.")
    return DONE


async def _runs(context: Invocation) -> int:
    found = await context.engine.skills.usage(await _key(context))
    if not found and not context.args.json:
        context.out.write("No run has used this skill.")
    for each in found:
        if context.args.json:
            context.out.write_json(asdict(each) | {"at": iso_time(each.at)})
        else:
            rating = f", rated {'good' if each.rating == 'up' else 'bad'}" if each.rating else ""
            told = f"{each.session}  run {each.run}  version {each.version}  {each.status}{rating}  {each.title}"
            context.out.write(told)
    return DONE


async def _rename(context: Invocation) -> int:
    key = await context.engine.skills.rename(await _key(context), context.args.to)
    context.out.write(f"Renamed to {key}.")
    return DONE


async def _switch(context: Invocation, word: str) -> int:
    """Run a command of SWITCHES, such as `enable`, and print the new state of the skill."""
    engine = context.engine.skills
    shown = await engine.open(context.args.name, _folder(context))
    key = shown.row.key
    match word:
        case "trust":
            _tell(context, [each for each in shown.findings if each.level == "warning"])
            await engine.trust(key, shown.row.digest)
        case "untrust":
            await engine.distrust(key)
        case "enable" | "disable":
            await engine.disable(key, word == "disable")
        case "pin" | "unpin":
            await engine.pin(key, word == "pin")
        case _:
            await engine.archive(key, word == "archive")
    state = next(row.state for row in await engine.list(_folder(context)) if row.key == key)
    context.out.write(f"{key}: {STATE_TEXTS.get(state, state) or 'enabled'}")
    return DONE


async def _key(context: Invocation) -> str:
    return await context.engine.skills.key_of(context.args.name, _folder(context))


def _folder(context: Invocation) -> Path:
    return context.folder.joinpath(context.args.folder).resolve()


def _path(context: Invocation) -> Path:
    path = context.folder.joinpath(context.args.path)
    if not path.exists():
        raise Problem(f"{path} does not exist.", "", "Name a folder, a zip file or a SKILL.md.")
    return path


def _say(context: Invocation, plain: Mapping[str, object], words: str) -> None:
    if context.args.json:
        context.out.write_json(plain)
    else:
        context.out.write(words)


def _tell(context: Invocation, findings: Sequence[SkillFinding]) -> None:
    if context.args.action == "save" and context.args.json:
        return
    for each in findings:
        context.out.write(
            f"  line {each.line}: {each.level}: {' '.join(filter(None, (each.message, each.cause, each.fix)))}"
        )


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = MappingProxyType(
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
        "runs": _runs,
        "rename": _rename,
    }
)
