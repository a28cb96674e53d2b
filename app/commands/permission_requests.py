"""Permission requests in a terminal: prints them, and interprets the options of `approve`."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from app.process.output import Output, iso_time
from core.domain.permissions import PendingPermissionRequest, PermissionRequest, RuleScope, offered_scopes
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.domain.trusted_files import WHY_PROTECTED
from core.domain.visible import visible_exactly

LABELS: dict[RuleScope, str] = {
    "once": "Allow once", "run": "Allow for this run", "folder": "Allow in this folder", "always": "Allow always",
}  # fmt: skip
INDENT = "\n    "


def request_options(request: PermissionRequest) -> list[tuple[RuleScope, str]]:
    """Return the scope and label of each option, in the order in which `pending` numbers them.

    An external agent's request has options of its own. They are all returned with the scope `once`.
    """
    if request.options:
        return [("once", f"{option.name}{'' if option.allows else ' (denies)'}") for option in request.options]
    patterns = ", ".join(request.patterns)
    return [
        (scope, LABELS[scope] + ("" if scope == "once" else f": {request.tool} {patterns}"))
        for scope in offered_scopes(request)
    ]


def approval(request: PermissionRequest, scope: RuleScope, number: int) -> tuple[str, RuleScope, Sequence[str]]:
    """Return (option, scope, patterns): the ID of an external agent's option, or else the scope and patterns to allow.

    `number` selects an option as numbered by `pending`; 0 selects by `scope` instead. Raise Problem if the request does
    not offer that option.
    """
    options = request_options(request)
    if number and not 1 <= number <= len(options):
        raise Problem(
            f"There is no option {number}.", "", f"Choose from 1 to {len(options)}; see `journeyman pending`."
        )
    if request.options:
        return _option_id(request, scope, number), "once", ()
    scopes = [offered_scope for offered_scope, _ in options]
    scope = scopes[number - 1] if number else scope
    if scope not in scopes:
        do = "Approve it without --scope."
        raise Problem("This request can only be approved once.", "Its effects cannot be undone, or vary.", do)
    return "", scope, () if scope == "once" else request.patterns


def _option_id(request: PermissionRequest, scope: RuleScope, number: int) -> str:
    """Return the ID of the external agent's option with this number or, if it is 0, of the first for this scope."""
    if number:
        return request.options[number - 1].id
    matches = [option.id for option in request.options if option.allows and option.persistent == (scope != "once")]
    if not matches:
        do = "Choose one with --option N; see `journeyman pending`."
        raise Problem("The agent offers no such option.", f"It offers {len(request.options)} of its own.", do)
    return matches[0]


def print_request(out: Output, pending: PendingPermissionRequest) -> None:
    """Print a request with its full arguments, and the commands to approve or deny it."""
    request = pending.request
    asker = f"{escape_lines(request.subagent)} asks: " if request.subagent else ""
    out.write(f"? {asker}Allow {escape_lines(request.tool)}: {escape_lines(request.object)}")
    for name, value in json.loads(pending.arguments or "{}").items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if text != request.object:
            out.write(f"  {escape_lines(name)}: {escape_lines(text)}")
    out.write(f"  {escape_lines(request.reason)}")
    if request.untrusted_sources:
        out.write(f"  The run has read untrusted content: {escape_lines(', '.join(request.untrusted_sources))}")
    if request.access == "execute":
        network = f"; network: {escape_lines(', '.join(request.hosts))}" if request.hosts else ""
        out.write(f"  In {escape_lines(request.cwd)}; sandbox: {request.sandbox_level}{network}")
    if request.protected_paths:
        names = escape_lines(", ".join(request.protected_paths))
        out.write(f"  Approval lets it change {names}, {WHY_PROTECTED}.")
    for number, (_, label) in enumerate(request_options(request), 1):
        out.write(f"  {number}  {escape_lines(label)}")
    change = "" if request.options else " | --change TEXT"
    out.write(f"Decide with: journeyman approve {request.id} [--option N{change}], or: journeyman deny {request.id}")


def escape_lines(text: str) -> str:
    """Show a text exactly, its further lines indented, so that it cannot imitate a line of the request."""
    return visible_exactly(text).replace("\n", INDENT)


def request_json(row: SessionRow, pending: PendingPermissionRequest) -> dict[str, Any]:
    """Return a request as the object that `pending --json` prints."""
    plain = dataclasses.asdict(pending.request)
    labels = [{"label": label, "scope": scope} for scope, label in request_options(pending.request)]
    more = {
        "arguments": json.loads(pending.arguments or "{}"),
        "options": labels,
        "requested_at": iso_time(pending.requested_at),
    }
    return {"kind": "permission", "session": row.id, "title": row.title, **plain, **more}
