"""A call that waits for a person, in a terminal: what it is, what can be answered, and the answer."""

import dataclasses
import json
from typing import Any

from app.commands.context import Context
from app.output import moment
from core.domain.consent import OpenConsent, Scope, scopes
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.domain.visible import visible

LABELS: dict[Scope, str] = {
    "once": "Allow once", "run": "Allow for this run", "folder": "Allow in this folder", "always": "Allow always",
}  # fmt: skip
INDENT = "\n    "


def options(waiting: OpenConsent) -> list[tuple[Scope, str]]:
    """What can be said, in the order of its numbers: how long a yes holds, and the words for it.

    An agent of others brings words of its own.
    """
    if waiting.request.options:
        return [("once", f"{option.name}{'' if option.allows else ' (no)'}") for option in waiting.request.options]
    patterns = ", ".join(waiting.request.patterns)
    return [
        (scope, LABELS[scope] + ("" if scope == "once" else f": {waiting.request.tool} {patterns}"))
        for scope in scopes(waiting.request)
    ]


def tell_consent(context: Context, waiting: OpenConsent) -> None:
    """All of it, so that nothing is allowed unseen, with the command that answers."""
    request, out = waiting.request, context.out
    asker = f"{visible(request.agent)} asks: " if request.agent else ""
    out.write(f"? {asker}May it {request.tool}: {visible(request.object)}")
    for name, value in json.loads(waiting.arguments or "{}").items():
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if words != request.object:
            out.write(f"  {name}: {visible(words).replace(chr(10), INDENT)}")
    out.write(f"  {visible(request.why)}")
    if request.taint:
        out.write(f"  The run has read words of strangers: {visible(', '.join(request.taint))}")
    if request.touches == "runs":
        out.write(f"  In {request.cwd}; sandbox: {request.level}")
    for place, (_, label) in enumerate(options(waiting), 1):
        out.write(f"  {place}  {visible(label)}")
    out.write(f"Waiting for a word: journeyman answer {request.id} --option N, or --decline [TEXT]")


def consent_json(row: SessionRow, waiting: OpenConsent) -> dict[str, Any]:
    """A line of `questions --json`."""
    plain = dataclasses.asdict(waiting.request)
    labels = [{"label": label, "scope": scope} for scope, label in options(waiting)]
    more = {"arguments": json.loads(waiting.arguments or "{}"), "options": labels, "asked": moment(waiting.asked)}
    return {"kind": "consent", "session": row.id, "title": row.title, **plain, **more}


async def decide(context: Context, waiting: OpenConsent) -> str:
    """With what was typed; the session."""
    typed, name = context.typed, waiting.request.id
    if typed.decline is not None:
        return await context.engine.deny(name, typed.decline, like=typed.alike)
    offered = options(waiting)
    if not 1 <= typed.option <= len(offered):
        what = "This request takes an option or --decline." if typed.text else f"There is no option {typed.option}."
        raise Problem(what, f"The request has {len(offered)}.", "See them with `journeyman questions`.")
    if own := waiting.request.options:
        return await context.engine.choose(name, own[typed.option - 1].id)
    scope = offered[typed.option - 1][0]
    patterns = () if scope == "once" else waiting.request.patterns
    return await context.engine.allow(name, scope, patterns, like=typed.alike)
