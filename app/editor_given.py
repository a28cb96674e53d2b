"""What an editor gives along with a request: read, or refused in words that fit it."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from core.agents.peer import BAD_PARAMS, Params, Refused
from core.agents.told import block_text
from core.domain.visible import visible

NAMED, LONG = 5, 60  # tool servers that are named, and characters of a name


def text_of(params: Params, name: str) -> str:
    """A text that a request cannot do without."""
    given = params.get(name)
    if isinstance(given, str) and given:
        return given
    raise Refused(BAD_PARAMS, f"The request lacks {name}, or it is no text.")


def folder_of(params: Params) -> Path:
    """Where a session is to work."""
    given = text_of(params, "cwd")
    folder = Path(given)
    if not folder.is_absolute():
        raise Refused(BAD_PARAMS, "The folder of a session (cwd) must be a whole path.")
    there = False
    with suppress(OSError, ValueError):  # such as a name that is too long for any disk
        there = folder.is_dir()
    if not there:
        raise Refused(BAD_PARAMS, f"There is no folder {visible(given[:200])}. Open one that exists.")
    return folder


def words_of(params: Params) -> str:
    """What a prompt says, as one text."""
    blocks = params.get("prompt")
    if not isinstance(blocks, list):
        raise Refused(BAD_PARAMS, "The request lacks the prompt, or it is no list of blocks.")
    words = "\n\n".join(filter(None, map(block_text, blocks)))
    if not words.strip():
        raise Refused(BAD_PARAMS, "The message is empty. Say what is to be done.")
    return words


def unused_servers(params: Params, own: Collection[str]) -> str:
    """What is said of tool servers that the editor gives: only a person's `own` are used here."""
    given = params.get("mcpServers", [])
    if not isinstance(given, list):
        raise Refused(BAD_PARAMS, "The mcpServers of a session must be a list.")
    names = [str(one.get("name", "?")) for one in given if isinstance(one, dict)]
    lacking = [visible(name[:LONG]) for name in names if name not in own]
    if not lacking:
        return ""
    more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
    do = "Add them to Journeyman: Settings, Tool servers, or journeyman mcp add."
    return f"[Tool servers of the editor are not used here: {', '.join(lacking[:NAMED])}{more}. {do}]\n\n"
