"""Reads the parameters of an editor's requests, and refuses wrong ones with a clear message."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from core.agents.json_rpc import INVALID_PARAMS, Params, RpcError
from core.agents.session_updates import block_text
from core.domain.message_files import EmbeddedText
from core.domain.visible import visible

# Limits of a notice about MCP servers.
MAX_NAMED_SERVERS = 5
MAX_NAME_CHARS = 60


def required_text(params: Params, name: str) -> str:
    """Return a required string."""
    value = params.get(name)
    if isinstance(value, str) and value:
        return value
    raise RpcError(INVALID_PARAMS, f"The request lacks {name}, or it is not a string.")


def workspace_param(params: Params) -> Path:
    """Return the folder of a new session, which must be an absolute path of an existing folder."""
    path = required_text(params, "cwd")
    folder = Path(path)
    if not folder.is_absolute():
        raise RpcError(INVALID_PARAMS, "The folder of a session (cwd) must be an absolute path.")
    exists = False
    with suppress(OSError, ValueError):  # for example, a name that is too long for the file system
        exists = folder.is_dir()
    if not exists:
        raise RpcError(INVALID_PARAMS, f"There is no folder {visible(path[:200])}. Open one that exists.")
    return folder


class PromptParts(NamedTuple):
    """What the user wrote in a prompt as one text, and the files in it."""

    text: str
    embedded: list[EmbeddedText]


def prompt_parts(params: Params) -> PromptParts:
    """Return the parts of a prompt. Raise RpcError if it has no text."""
    blocks = params.get("prompt")
    if not isinstance(blocks, list):
        raise RpcError(INVALID_PARAMS, "The request lacks the prompt, or it is not a list of blocks.")
    texts: list[str] = []
    embedded: list[EmbeddedText] = []
    for block in blocks:
        match block:
            case {"type": "resource", "resource": {"uri": uri, "text": str(text)}}:
                embedded.append(EmbeddedText(str(uri), text))
                texts.append(f"[{uri}]")
            case _:
                texts.append(block_text(block))
    message = "\n\n".join(filter(None, texts))
    if not message.strip():
        raise RpcError(INVALID_PARAMS, "The message is empty. Describe the task.")
    return PromptParts(message, embedded)


def unused_servers_notice(params: Params, user_servers: Collection[str]) -> str:
    """Return a notice about MCP servers that the editor offers; only those in `user_servers` are used."""
    servers = params.get("mcpServers", [])
    if not isinstance(servers, list):
        raise RpcError(INVALID_PARAMS, "The mcpServers of a session must be a list.")
    names = [str(server.get("name", "?")) for server in servers if isinstance(server, dict)]
    unused = [visible(name[:MAX_NAME_CHARS]) for name in names if name not in user_servers]
    if not unused:
        return ""
    more = f" and {len(unused) - MAX_NAMED_SERVERS} more" if len(unused) > MAX_NAMED_SERVERS else ""
    fix = "Add them to Journeyman: Settings, MCP servers, or journeyman mcp add."
    return f"[These MCP servers of the editor are not used: {', '.join(unused[:MAX_NAMED_SERVERS])}{more}. {fix}]\n\n"
