"""Reading and replacing whole files for `edit` and `patch`, through the file broker of the run."""

from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.tools.missing_path import missing_path
from core.tools.tool_context import ToolContext
from core.workspace.file_change import FileModes
from core.workspace.paths import is_utf8_name

LIMIT = 8 << 20


def read_bytes(context: ToolContext, name: str) -> bytes:
    """Return the contents of a regular file of at most `LIMIT` bytes. Call it in a thread."""
    try:
        return context.broker.read(name, LIMIT, allow_secrets=False)
    except Problem as problem:
        if context.broker.stat(name) is None:
            raise missing_path(name, context) from problem
        raise


def refuse_undecodable_name(name: str) -> None:
    """Raise a Problem for a file name that is not UTF-8, because an event cannot store such a name exactly."""
    if not is_utf8_name(name):
        raise Problem(f"{visible_name(name)} cannot be changed.", "Its name is not UTF-8.", "Use another file.")


def replace_file(context: ToolContext, name: str, body: bytes | None, mode: int = 0) -> FileModes:
    """Replace the contents of a file, or remove it if `body` is None, and return its permission bits.

    `mode`: the new permission bits; 0 keeps the present ones.
    """
    refuse_undecodable_name(name)
    former_mode = context.broker.mode(context.broker.resolve(name))
    allow_protected = bool(context.grant.protected_paths)
    if body is None:
        context.broker.remove(name, allow_protected=allow_protected)
        return FileModes(before=former_mode)
    context.broker.write(name, body, allow_protected=allow_protected, mode=mode)
    return FileModes(before=former_mode, after=mode or former_mode)


def has_same_file_twice(context: ToolContext, names: list[str]) -> bool:
    """Return whether two of the paths are the same file, for example through a symbolic link."""
    return len({context.broker.resolve(name) for name in names}) < len(names)
