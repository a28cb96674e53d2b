"""A tool call as the permission policy sees it."""

from dataclasses import dataclass
from typing import Any

from core.domain.permissions import Access, canonical_json
from core.domain.rules import Subject
from core.tools.fetch import parse_url
from core.tools.tool import Tool

RULE_SUBJECTS: dict[Access, Subject] = {
    "none": "none",
    "read": "path",
    "write": "path",
    "execute": "command",
    "network": "host",
}


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """What the permission policy needs to know about a tool call.

    `subjects` are its paths, its command line (one item) or its hosts, depending on `access`. `object` is the text that
    names them to the user.
    """

    call_id: str
    tool: str
    object: str
    access: Access
    arguments: str
    subjects: tuple[str, ...] = ()


def propose_call(tool: Tool, parameters: Any, call_id: str, engine: str = "") -> ProposedCall:
    """Describe a call for the policy, with every file, command or host that it names.

    These are the parameters `path`, `command` and `url`, and the files that `Tool.paths` returns.
    `engine` is the host of the web search engine, which is not among the parameters of a web search.
    """
    arguments = {name: getattr(parameters, name) for name in parameters.__dataclass_fields__}
    match tool.access:
        case "read" | "write":
            subjects = tool.paths(parameters) if tool.paths else (str(arguments["path"]),)
        case "execute":
            subjects = (str(arguments["command"]),)
        case "network":
            host = arguments.get("server", engine)
            subjects = (parse_url(str(arguments["url"])).netloc,) if "url" in arguments else (str(host),)
        case "none":
            subjects = ()
    return ProposedCall(
        call_id=call_id,
        tool=tool.name,
        object=tool.describe(parameters),
        access=tool.access,
        arguments=canonical_json(arguments),
        subjects=subjects,
    )
