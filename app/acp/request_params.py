"""Reads the parameters of an editor's requests, and refuses wrong ones with a clear message."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from core.agents.json_rpc import INVALID_PARAMS, Params, RpcError
from core.agents.session_updates import block_text
from core.domain.visible import visible

# Limits of an error message: how many MCP servers it names, and how many characters of each name it shows.
NAMED, LONG = 5, 60


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


def prompt_parts(params: Params) -> tuple[str, list[tuple[str, str]]]:
    """Return what the user wrote in a prompt as one text, and the names and texts of the files in it."""
    blocks = params.get("prompt")
    if not isinstance(blocks, list):
        raise RpcError(INVALID_PARAMS, "The request lacks the prompt, or it is not a list of blocks.")
    texts, embedded = [], list[tuple[str, str]]()
    for block in blocks:
        match block:
            case {"type": "resource", "resource": {"uri": uri, "text": str(text)}}:
                embedded.append((str(uri), text))
                texts.append(f"[{uri}]")
            case _:
                texts.append(block_text(block))
    message = "\n\n".join(filter(None, texts))
    if not message.strip():
        raise RpcError(INVALID_PARAMS, "The message is empty. Describe the task.")
    return message, embedded


def unused_servers_notice(params: Params, user_servers: Collection[str]) -> str:
    """Return a notice about MCP servers that the editor offers; only those in `user_servers` are used."""
    servers = params.get("mcpServers", [])
    if not isinstance(servers, list):
        raise RpcError(INVALID_PARAMS, "The mcpServers of a session must be a list.")
    names = [str(server.get("name", "?")) for server in servers if isinstance(server, dict)]
    unused = [visible(name[:LONG]) for name in names if name not in user_servers]
    if not unused:
        return ""
    more = f" and {len(unused) - NAMED} more" if len(unused) > NAMED else ""
    do = "Add them to Journeyman: Settings, MCP servers, or journeyman mcp add."
    return f"[These MCP servers of the editor are not used: {', '.join(unused[:NAMED])}{more}. {do}]\n\n"
