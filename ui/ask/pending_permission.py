"""The texts of a permission request, for both the card and the dialog: title, complete tool call and details."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QCoreApplication

from core.domain.clock import SECOND
from core.domain.permissions import PermissionRequest, RuleScope, can_be_answered_together
from core.domain.problems import Problem
from core.domain.untrusted_file import source_texts
from core.mcp.tool_definition import NAME_SEPARATOR
from core.timeline.text_diff import changed_blocks
from core.tools.former_names import current_arguments
from core.tools.unified_diff import parse_diff
from core.tools.write import keep_final_newline
from ui.ask.full_text import DiffSign, DisplayLine, one_line, split_exact
from ui.style.number_formats import duration, short_folder

MAX_PATTERNS: Final = 3  # patterns of a rule that are named in a sentence at most
MAX_SOURCES: Final = 3
# Characters; the old and new text of a longer file are shown in full instead of their diff.
MAX_DIFF_CHARS: Final = 400_000


@dataclass(frozen=True, slots=True)
class PendingPermission:
    """A permission request with the JSON arguments of its tool call and the contents of the file it would change.

    `asked_at` is in microseconds since the epoch. `file_contents` is None until the file has been read.
    """

    request: PermissionRequest
    arguments: str = ""
    asked_at: int = 0
    file_contents: str | None = None

    @property
    def id(self) -> str:
        return self.request.id

    def parsed_arguments(self) -> dict[str, Any]:
        """Return the parsed arguments of the tool call; an empty dict if they are not a JSON object."""
        try:
            arguments = json.loads(self.arguments)
        except ValueError:
            return {}
        return current_arguments(self.request.tool, arguments) if isinstance(arguments, dict) else {}


@dataclass(frozen=True, slots=True)
class RequestDetail:
    label: str
    text: str
    tone: str = ""


def similar_requests(pending: PendingPermission, others: Sequence[PendingPermission]) -> tuple[PendingPermission, ...]:
    """Return those of the other requests that may be answered together with this one."""
    return tuple(
        other for other in others if other.id != pending.id and can_be_answered_together(pending.request, other.request)
    )


def request_title(request: PermissionRequest) -> str:
    match request.access:
        case "execute":
            return _tr("Run this command?")
        case "write":
            titles = {"patch": _tr("Apply this change?"), "write": _tr("Write this file?")}
            return titles.get(request.tool, _tr("Change this file?"))
        case "read":
            return _tr("Let the agent read this?")
        case "network" if server := _mcp_server(request):
            return _tr("Use a tool of the MCP server {}?").format(one_line(server))
        case "network":
            return _tr("Allow network access?")
        case _ if request.options:
            return _tr("Let the agent do this?")
        case _:
            return _tr("Use the tool {}?").format(one_line(request.tool))


def accessible_title(pending: PendingPermission) -> str:
    """Return what the request is about, for screen readers: its title and, for example, the command or file."""
    return f"{request_title(pending.request)} {one_line(pending.request.object)}"


def call_lines(pending: PendingPermission) -> list[DisplayLine]:
    """Return the complete text of the tool call. Nothing is left out, because the user decides by this text."""
    request = pending.request
    arguments = pending.parsed_arguments()
    match request.tool:
        case "run" if _has_only_command(arguments):
            return split_exact(str(arguments["command"]))
        case "edit" if arguments.keys() - {"replace_all"} == {"path", "old_string", "new_string"}:
            everywhere = _tr(", every occurrence") if arguments.get("replace_all") else ""
            changes = _diff(str(arguments["old_string"]), str(arguments["new_string"]))
            return [_heading(arguments["path"], everywhere), *changes]
        case "write" if arguments.keys() == {"path", "content"}:
            before = pending.file_contents or ""
            after = keep_final_newline(str(arguments["content"]), ends_with_newline=before.endswith("\n"))
            return [_heading(arguments["path"]), *_diff(before, after)]
        case "patch" if arguments.keys() == {"diff"}:
            return _patch(str(arguments["diff"]))
        case _ if request.options and isinstance(arguments.get("changes"), list):
            changes = [line for change in arguments.pop("changes") for line in _change(change)]
            return [*changes, *_arguments(arguments)]
        case _ if arguments:
            return _arguments(arguments)
        case _:
            return split_exact(pending.arguments or request.object)


def request_details(pending: PendingPermission, home: str = "") -> list[RequestDetail]:
    """Return the details that are shown below the tool call: reason, access, sandbox, rule, and warnings."""
    request = pending.request
    details: list[RequestDetail] = []
    if request.subagent:
        details.append(RequestDetail(_tr("Asked by"), _tr("Sub-agent {}").format(one_line(request.subagent))))
    details.append(RequestDetail(_tr("Reason"), one_line(request.reason)))
    details.append(RequestDetail(_tr("Access"), _access(pending, home or str(Path.home()))))
    if request.access == "execute":
        tone = "failed" if request.sandbox_level == "none" else ""
        details.append(RequestDetail(_tr("Sandbox"), _sandbox(request), tone))
    if request.protected_paths and not request.options:
        details.append(RequestDetail(_tr("Protected"), _protected(request.protected_paths), "waiting"))
    if _mcp_server(request):
        unsandboxed = _tr("Does not apply: MCP servers run outside the sandbox, local ones with all your permissions")
        details.append(RequestDetail(_tr("Sandbox"), unsandboxed, "waiting"))
    if request.rule_id:
        details.append(RequestDetail(_tr("Rule"), one_line(request.rule_id)))
    if request.untrusted_sources:
        details.append(RequestDetail(_tr("Caution"), _untrusted(request.untrusted_sources), "waiting"))
    if not request.reversible:
        warning = _tr("This cannot be undone. Journeyman asks every time.")
        details.append(RequestDetail(_tr("Warning"), warning, "failed"))
    return [detail for detail in details if detail.text]


def scope_label(scope: RuleScope) -> str:
    return {
        "once": _tr("Once"),
        "run": _tr("Until this run ends"),
        "folder": _tr("Always in this folder"),
        "always": _tr("Always everywhere"),
    }[scope]


def scope_consequence(request: PermissionRequest, scope: RuleScope, home: str = "") -> str:
    """Return a sentence that says what an approval with this scope will allow."""
    if scope == "once":
        patterns = _some_of(request.patterns, MAX_PATTERNS)
        call_text = {"execute": _tr("this command"), "write": _tr("this change")}.get(request.access, _tr("this call"))
        return _tr("Once allows only {}. The other choices save a rule for: {}").format(call_text, patterns)
    matching = {
        "execute": _tr("Matching commands run without asking"),
        "write": _tr("Matching files are changed without asking"),
        "read": _tr("Matching files are read without asking"),
    }.get(request.access, _tr("Matching calls run without asking"))
    if scope == "run":
        return _tr("{} until this run ends.").format(matching)
    folder = one_line(short_folder(request.cwd, home or str(Path.home())))
    folder_text = _tr("in {}").format(folder) if scope == "folder" else _tr("in every folder")
    return _tr("{} {}, in all sessions. To revoke: Settings, Permission rules.").format(matching, folder_text)


def _has_only_command(arguments: dict[str, Any]) -> bool:
    """Return whether a call has no arguments besides its command and timeout, both of which are shown elsewhere."""
    argument_names = {name for name, value in arguments.items() if name != "background" or value is not False}
    return "command" in argument_names and argument_names <= {"command", "timeout_s"}


def _access(pending: PendingPermission, home: str) -> str:
    request = pending.request
    folder = one_line(short_folder(request.cwd, home))
    match request.access:
        case "execute":
            access = _tr("Can change files in {} · {}").format(folder, _network(request.hosts))
            if request.sandbox_level == "none":
                access = _tr("Can do anything that you can do, also on the network")
            timeout_s = pending.parsed_arguments().get("timeout_s")
            if isinstance(timeout_s, int | float):
                return f"{access} · {_tr('stopped if it runs longer than {}').format(_duration(timeout_s))}"
            return access
        case "write":
            return _tr("Changes files in {} · you can undo it").format(folder)
        case "read":
            return _tr("Shows the model the contents of {}").format(one_line(request.object))
        case "network" if _mcp_server(request):
            return _tr(
                "Sends the values above to the server, which can use your network and bring untrusted content in"
            )
        case "network":
            return _tr("Sends data out and brings untrusted content in")
        case _:
            return ""


def _mcp_server(request: PermissionRequest) -> str:
    """Return the name of the MCP server whose tool is called.

    "" for any other tool, including those of external agents.
    """
    server, separator, _ = request.tool.partition(NAME_SEPARATOR)
    return server if separator and not request.options else ""


def _duration(seconds: float) -> str:
    """Return a number of whole minutes, such as `2 min`, or else a duration in seconds."""
    minutes, remaining_seconds = divmod(seconds, 60)
    if minutes and not remaining_seconds:
        return _tr("{} min").format(f"{minutes:g}")
    return duration(int(seconds * SECOND))


def _sandbox(request: PermissionRequest) -> str:
    if request.options:
        return _tr("Not sandboxed by Journeyman: the external agent runs it itself")
    return {
        "verified": _tr("On: cannot read the rest of your home folder, or change files outside this folder"),
        "reduced": _tr("Limited: the full sandbox is not available on this computer"),
        "none": _tr("Off: no sandbox is available on this computer"),
    }[request.sandbox_level]


def _network(hosts: tuple[str, ...]) -> str:
    return _tr("can reach {}").format(", ".join(map(one_line, hosts))) if hosts else _tr("no network")


def _protected(paths: tuple[str, ...]) -> str:
    """Return a sentence that names all protected paths; none is left out, because the approval makes all writable."""
    names = ", ".join(map(one_line, paths))
    return _tr("Approval lets it change {}, which other programs execute or follow").format(names)


def _untrusted(sources: tuple[str, ...]) -> str:
    return _tr("The run has read untrusted content: {}").format(_some_of(source_texts(sources), MAX_SOURCES))


def _some_of(names: Sequence[str], limit: int) -> str:
    """Return the first names, and the number of the others."""
    listed = ", ".join(one_line(name) for name in names[:limit])
    if len(names) > limit:
        listed += _tr(" and {} more").format(len(names) - limit)
    return listed


def _diff(before: str, after: str) -> list[DisplayLine]:
    """Return a diff that also contains all unchanged lines, so that the complete result can be read."""
    have_final_newline = all(text.endswith("\n") for text in (before, after) if text)
    old = _signed(before, "-", skip_final_newline=have_final_newline)
    new = _signed(after, "+", skip_final_newline=have_final_newline)
    if not before or len(before) + len(after) > MAX_DIFF_CHARS:
        return [*old, *new]
    lines: list[DisplayLine] = []
    shown = 0  # number of new lines that are in `lines`
    blocks = changed_blocks([line.text for line in old], [line.text for line in new])
    for old_start, old_end, new_start, new_end in blocks:
        lines += _unchanged(new[shown:new_start])
        lines += old[old_start:old_end]
        lines += new[new_start:new_end]
        shown = new_end
    return [*lines, *_unchanged(new[shown:])]


def _unchanged(lines: Sequence[DisplayLine]) -> list[DisplayLine]:
    return [DisplayLine(line.text, " ") for line in lines]


def _signed(text: str, sign: DiffSign, *, skip_final_newline: bool) -> list[DisplayLine]:
    """Split a text into lines with this sign.

    With `skip_final_newline`, a line feed at the end of the text does not add an empty line.
    """
    if not text:
        return []
    return split_exact(text.removesuffix("\n") if skip_final_newline else text, sign)


def _change(change: Any) -> list[DisplayLine]:
    """Return the lines that show one file change proposed by an external agent."""
    match change:
        case {"path": str(path), "old": str(old), "new": str(new)}:
            return [_heading(path), *_diff(old, new)]
        case _:
            return _argument("changes", change)


def _heading(path: object, suffix: str = "") -> DisplayLine:
    return DisplayLine(one_line(str(path)) + suffix, "@")


def _patch(diff: str) -> list[DisplayLine]:
    """Return the lines of a patch, file by file; if the tool would reject the patch, its raw text."""
    try:
        files = parse_diff(diff)
    except Problem:
        return split_exact(diff)
    lines: list[DisplayLine] = []
    for file in files:
        for hunk in file.hunks:
            lines.append(_heading(file.path, _tr(", line {}").format(hunk.start)))
            lines += _diff("".join(hunk.old), "".join(hunk.new))
    return lines


def _arguments(arguments: dict[str, Any]) -> list[DisplayLine]:
    return [line for name, value in arguments.items() for line in _argument(name, value)]


def _argument(name: str, value: Any) -> list[DisplayLine]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    first_line, *more_lines = split_exact(text)
    indented = (DisplayLine(f"    {line.text}") for line in more_lines)
    return [DisplayLine(f"{one_line(name)}: {first_line.text}"), *indented]


def _tr(text: str) -> str:
    return QCoreApplication.translate("consent", text)
