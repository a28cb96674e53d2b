"""A tool call as the permission policy sees it."""

from dataclasses import dataclass
from typing import Any

from core.domain.permissions import canonical_json
from core.domain.rules import Subject
from core.tools.fetch import parse_url
from core.tools.tool import Access, Tool

RULE_SUBJECTS: dict[Access, Subject] = {
    "none": "none", "read": "path", "write": "path", "execute": "command", "network": "host",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call as the policy sees it. `subjects` are its paths, its command or its hosts."""

    call_id: str
    tool: str
    object: str
    access: Access
    arguments: str
    subjects: tuple[str, ...] = ()


def propose_call(tool: Tool, parameters: Any, call_id: str, engine: str = "") -> ProposedCall:
    """Describe a call for the policy, with every file, command or host that it names.

    `engine` is the host of the web search engine, which is not among the parameters of a web search.
    """
    arguments = {name: getattr(parameters, name) for name in parameters.__dataclass_fields__}
    match tool.access:
        case "read" | "write":
            subjects = tool.paths(parameters) if tool.paths else (str(arguments.get("path", ".")),)
        case "execute":
            subjects = (str(arguments["command"]),)
        case "network":
            host = arguments.get("server", engine)
            subjects = (parse_url(str(arguments["url"])).netloc,) if "url" in arguments else (str(host),)
        case "none":
            subjects = ()
    return ProposedCall(call_id, tool.name, tool.describe(parameters), tool.access, canonical_json(arguments), subjects)
