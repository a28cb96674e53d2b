"""Permission requests in a terminal: prints them, and interprets the options of `approve`."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from app.process.output import Output, iso_time
from core.domain.permissions import PendingPermissionRequest, PermissionRequest, RuleScope, offered_scopes
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.domain.trusted_files import WHY_PROTECTED
from core.domain.untrusted_file import source_texts
from core.domain.visible import visible_exactly

LABELS: dict[RuleScope, str] = {
    "once": "Allow once",
    "run": "Allow for this run",
    "folder": "Allow in this folder",
    "always": "Allow always",
}
INDENT = "\n    "


class RequestOption(NamedTuple):
    """An option of a permission request, as `pending` lists it."""

    scope: RuleScope
    label: str


class ChosenApproval(NamedTuple):
    """What `approve` allows: the option of an external agent with this ID or, if that is empty, scope and patterns."""

    option_id: str
    scope: RuleScope
    patterns: Sequence[str]


def request_options(request: PermissionRequest) -> list[RequestOption]:
    """Return the options in the order in which `pending` numbers them.

    An external agent's request has options of its own. They are all returned with the scope `once`.
    """
    if request.options:
        return [
            RequestOption("once", option.name if option.allows else f"{option.name} (denies)")
            for option in request.options
        ]
    patterns = ", ".join(request.patterns)
    return [
        RequestOption(scope, LABELS[scope] if scope == "once" else f"{LABELS[scope]}: {request.tool} {patterns}")
        for scope in offered_scopes(request)
    ]


def choose_approval(request: PermissionRequest, scope: RuleScope, number: int) -> ChosenApproval:
    """Return what the options of `approve` allow.

    `number` selects an option as numbered by `pending`; 0 selects by `scope` instead. Raise Problem if the request does
    not offer that option.
    """
    options = request_options(request)
    if number and not 1 <= number <= len(options):
        raise Problem(
            f"There is no option {number}.", "", f"Choose from 1 to {len(options)}; see `journeyman pending`."
        )
    if request.options:
        return ChosenApproval(_option_id(request, scope, number), "once", ())
    if number:
        scope = options[number - 1].scope
    if scope not in offered_scopes(request):
        fix = "Approve it without --scope."
        raise Problem("This request can only be approved once.", "Its effects cannot be undone, or vary.", fix)
    return ChosenApproval("", scope, () if scope == "once" else request.patterns)


def _option_id(request: PermissionRequest, scope: RuleScope, number: int) -> str:
    """Return the ID of the external agent's option with this number or, if it is 0, of the first for this scope."""
    if number:
        return request.options[number - 1].id
    matches = [option.id for option in request.options if option.allows and option.persistent == (scope != "once")]
    if not matches:
        fix = "Choose one with --option N; see `journeyman pending`."
        raise Problem("The agent offers no such option.", f"It offers {len(request.options)} of its own.", fix)
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
        sources = ", ".join(source_texts(request.untrusted_sources))
        out.write(f"  The run has read untrusted content: {escape_lines(sources)}")
    if request.access == "execute":
        network = f"; network: {escape_lines(', '.join(request.hosts))}" if request.hosts else ""
        out.write(f"  In {escape_lines(request.cwd)}; sandbox: {request.sandbox_level}{network}")
    if request.protected_paths:
        names = escape_lines(", ".join(request.protected_paths))
        out.write(f"  Approval lets it change {names}, {WHY_PROTECTED}.")
    for number, option in enumerate(request_options(request), 1):
        out.write(f"  {number}  {escape_lines(option.label)}")
    change = "" if request.options else " | --change TEXT"
    out.write(f"Decide with: journeyman approve {request.id} [--option N{change}], or: journeyman deny {request.id}")


def escape_lines(text: str) -> str:
    """Show a text exactly, its further lines indented, so that it cannot imitate a line of the request."""
    return visible_exactly(text).replace("\n", INDENT)


def request_json(row: SessionRow, pending: PendingPermissionRequest) -> dict[str, Any]:
    """Return a request as the object that `pending --json` prints."""
    plain = dataclasses.asdict(pending.request)
    options = [{"label": option.label, "scope": option.scope} for option in request_options(pending.request)]
    return {
        "kind": "permission",
        "session": row.id,
        "title": row.title,
        **plain,
        "arguments": json.loads(pending.arguments or "{}"),
        "options": options,
        "requested_at": iso_time(pending.requested_at),
    }
