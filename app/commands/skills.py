"""The command `skills`: lists, checks, adds, edits and exports the skills that agents can use."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE, FAILED
from app.process.output import iso_time, plural
from core.domain.problems import Problem
from core.domain.skill import SKILL_FILE, ImportedSkill, SkillFinding, SkillRow, SkillSaveConflict, SkillSaved
from core.skills.transfer import inspect_skills
from core.timeline.text_diff import diff_texts

STATE_TEXTS = {
    "enabled": "",
    "shadowed": "hidden by another of its name",
    "changed": "changed since you trusted it",
}
MAX_DESCRIPTION_CHARS = 90


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
        notes = ", ".join(filter(None, (row.source, "pinned" if row.pinned else "", state)))
        context.out.write(f"{row.name}  ({notes})  {_summary(row)}")
    return DONE


def _summary(row: SkillRow) -> str:
    text = " ".join(row.description.split()) or row.error
    return text if len(text) <= MAX_DESCRIPTION_CHARS else text[: MAX_DESCRIPTION_CHARS - 1] + "…"


async def _show(context: Invocation) -> int:
    args, out, engine = context.args, context.out, context.engine.skills
    document = await engine.open(args.name, _folder(context))
    if args.file:
        content = await engine.read_file(document.row.key, args.file, args.version)
        out.write(content.decode("utf-8", "replace"))
        return DONE
    text = await engine.read_text(document.row.key, args.version) if args.version else document.text
    if args.json:
        files = [asdict(file) for file in document.files]
        findings = [asdict(finding) for finding in document.findings]
        details = {"base": document.base, "text": text, "files": files, "findings": findings}
        out.write_json(asdict(document.row) | details)
        return DONE
    out.write(text.rstrip("\n"))
    out.write(f"[{document.row.key}, version {args.version or document.row.version}, {document.row.state}]")
    for file in document.files:
        if file.path != SKILL_FILE:
            out.write(f"[file {file.path}, {file.size:,} bytes{', executable' if file.executable else ''}]")
    _print_findings(context, document.findings)
    return DONE


async def _check(context: Invocation) -> int:
    reports = await asyncio.to_thread(inspect_skills, _path(context))
    all_valid = True
    for report in reports:
        errors = sum(finding.level == "error" for finding in report.findings)
        all_valid = all_valid and not errors and not report.error
        if context.args.json:
            plain = {"name": report.name, "valid": not errors and not report.error, "trouble": report.error}
            context.out.write_json(plain | {"findings": [asdict(finding) for finding in report.findings]})
            continue
        result = report.error or (plural(errors, "error") if errors else "valid")
        context.out.write(f"{report.name}: {result}")
        _print_findings(context, report.findings)
    return DONE if all_valid else FAILED


async def _add(context: Invocation) -> int:
    args, engine = context.args, context.engine.skills
    results = await engine.import_skills(_path(context), args.names, replace=args.replace)
    for result in results:
        row = next((row for row in await engine.list() if row.key == result.key), None)
        if args.trust and result.version and row:
            await engine.trust(row.key, row.digest)
        was_trusted = row is not None and row.state not in ("untrusted", "changed")
        _print_import(context, result, trusted=args.trust or was_trusted)
    return DONE if any(result.version for result in results) else FAILED


def _print_import(context: Invocation, result: ImportedSkill, *, trusted: bool) -> None:
    if context.args.json:
        context.out.write_json(asdict(result) | {"findings": [asdict(finding) for finding in result.findings]})
        return
    if not result.version:
        context.out.write(f"{result.name}: not added" + (f": {result.error}" if result.error else ""))
        return
    name = result.key.partition("/")[2]
    added = f"added as {name}, version {result.version}"
    outcome = "already in the library" if result.name_taken_by == "same" else added
    trust = "" if trusted else f"; read it, then `journeyman skills trust {name}`"
    context.out.write(f"{result.name}: {outcome}{trust}")
    _print_findings(context, [finding for finding in result.findings if finding.level != "note"])


async def _save(context: Invocation) -> int:
    args, engine = context.args, context.engine.skills
    text = args.given[0] if args.source == "-" else context.read_text(args.source)
    try:
        document = await engine.open(args.name, _folder(context))
        key, newest = document.row.key, document.base
    except Problem:
        key, newest = args.name, 0
    result = await engine.save(key, text, None, newest if args.base is None else args.base, why=args.note)
    if isinstance(result, SkillSaved):
        saved = {"key": result.key, "version": result.version}
        _print_result(context, saved, f"Saved {result.key}, version {result.version}.")
        _print_findings(context, result.findings)
        return DONE
    _print_save_conflict(context, result)
    return FAILED


def _print_save_conflict(context: Invocation, result: SkillSaveConflict) -> None:
    conflicts = sum(hunk.kind == "clash" for hunk in result.hunks)
    plain = {
        "key": result.key,
        "base": result.base,
        "latest": result.latest.number,
        "conflicts": conflicts,
        "merged": result.merged,
    }
    latest = result.latest
    message = f"Not saved: version {latest.number} was saved since version {result.base}, by {latest.author}"
    no_conflicts = "there are no conflicts, so save the text `merged` of --json"
    hint = plural(conflicts, "conflict") if conflicts else no_conflicts
    compare = f"Compare with `journeyman skills diff {context.args.name} {result.base}`."
    _print_result(context, plain, f"{message}; {hint}. {compare}")


async def _export(context: Invocation) -> int:
    args = context.args
    path = await context.engine.skills.export(await _key(context), context.folder / args.to, args.version)
    context.out.write(f"Exported to {path}.")
    return DONE


async def _history(context: Invocation) -> int:
    document = await context.engine.skills.open(context.args.name, _folder(context))
    for version in document.versions:
        if context.args.json:
            context.out.write_json(asdict(version) | {"created_at": iso_time(version.created_at)})
        else:
            source = f" (session {version.session})" if version.session else ""
            when = iso_time(version.created_at)[:16]  # to the minute
            line = f"{version.number:4}  {when}  {version.author}{source}  {version.reason}"
            context.out.write(line.rstrip())
    return DONE


async def _diff(context: Invocation) -> int:
    for diff in await context.engine.skills.diff(await _key(context), context.args.a, context.args.b):
        if diff.before is None:
            context.out.write(f"{diff.path} (added)")
        elif diff.after is None:
            context.out.write(f"{diff.path} (removed)")
        else:
            context.out.write(diff.path)
        if diff.text:
            print_diff(context, diff.before or "", diff.after or "")
    return DONE


def print_diff(context: Invocation, before: str, after: str) -> None:
    """Print the changes from `before` to `after` as a unified diff."""
    for row in diff_texts(before, after).rows():
        if row.sign != "head":
            context.out.write(row.sign + row.text.rstrip("\r\n"))
        elif row.text != "0":
            context.out.write(f"@@ {plural(int(row.text), 'equal line')}")


async def _restore(context: Invocation) -> int:
    result = await context.engine.skills.restore(await _key(context), context.args.number)
    if isinstance(result, SkillSaveConflict):
        raise Problem("The skill was saved by someone else just now.", "Nothing was changed.", "Try again.")
    context.out.write(f"Restored {result.key}, as version {result.version}.")
    return DONE


async def _runs(context: Invocation) -> int:
    uses = await context.engine.skills.usage(await _key(context))
    if not uses and not context.args.json:
        context.out.write("No run has used this skill.")
    for use in uses:
        if context.args.json:
            context.out.write_json(asdict(use) | {"at": iso_time(use.at)})
        else:
            rating = f", rated {'good' if use.rating == 'up' else 'bad'}" if use.rating else ""
            line = f"{use.session}  run {use.run}  version {use.version}  {use.status}{rating}  {use.title}"
            context.out.write(line)
    return DONE


async def _rename(context: Invocation) -> int:
    key = await context.engine.skills.rename(await _key(context), context.args.to)
    context.out.write(f"Renamed to {key}.")
    return DONE


async def _switch(context: Invocation, action: str) -> int:
    """Run a command of SWITCHES, such as `enable`, and print the new state of the skill."""
    engine = context.engine.skills
    name = await _untrusted(context) if action == "trust" else context.args.name
    document = await engine.open(name, _folder(context))
    key = document.row.key
    match action:
        case "trust":
            _print_findings(context, [finding for finding in document.findings if finding.level == "warning"])
            await engine.trust(key, document.row.digest)
        case "untrust":
            await engine.distrust(key)
        case "enable" | "disable":
            await engine.disable(key, action == "disable")
        case "pin" | "unpin":
            await engine.pin(key, action == "pin")
        case _:
            await engine.archive(key, action == "archive")
    state = next(row.state for row in await engine.list(_folder(context)) if row.key == key)
    context.out.write(f"{key}: {STATE_TEXTS.get(state, state) or 'enabled'}")
    return DONE


async def _untrusted(context: Invocation) -> str:
    """Return the key of the skill of the given name that is not trusted as it is now; the name itself if there is none.

    Meanwhile another skill of that name is used, such as a built-in one.
    """
    name = context.args.name
    rows = await context.engine.skills.list(_folder(context))
    keys = [row.key for row in rows if row.name == name and row.state in ("untrusted", "changed")]
    if len(keys) > 1:
        raise Problem(f"More than one skill {name!r} is not trusted.", f"{', '.join(keys)}.", "Give one of these keys.")
    return keys[0] if keys else name


async def _key(context: Invocation) -> str:
    return await context.engine.skills.key_of(context.args.name, _folder(context))


def _folder(context: Invocation) -> Path:
    return context.folder.joinpath(context.args.folder).resolve()


def _path(context: Invocation) -> Path:
    path = context.folder.joinpath(context.args.path)
    if not path.exists():
        raise Problem(f"{path} does not exist.", "", "Name a folder, a zip file or a SKILL.md.")
    return path


def _print_result(context: Invocation, plain: Mapping[str, object], text: str) -> None:
    if context.args.json:
        context.out.write_json(plain)
    else:
        context.out.write(text)


def _print_findings(context: Invocation, findings: Sequence[SkillFinding]) -> None:
    if context.args.action == "save" and context.args.json:
        return
    for finding in findings:
        text = " ".join(filter(None, (finding.message, finding.cause, finding.fix)))
        context.out.write(f"  line {finding.line}: {finding.level}: {text}")


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
