"""Let a tool act, and turn what it did into facts."""

import difflib
from typing import Any

from core.domain.events import FileChanged, RunEvent, ToolReturned
from core.domain.problems import Problem
from core.domain.text import Attachment, Text
from core.store.blobs import blob_hash
from core.tools.place import Place
from core.tools.seen import seen_after
from core.tools.tool import Change, Result, Shown, Tool

COUNTED = 1 << 20  # larger files are kept, but their lines are not compared


async def act(
    tool: Tool, call: str, parameters: Any, place: Place, seen: dict[str, str]
) -> tuple[list[RunEvent], dict[str, bytes]]:
    """The facts of an act, and the contents they name. `seen` are the files the run has read, brought up to date."""
    try:
        result = await tool.run(tool.knowing(parameters, seen) if tool.knowing else parameters, place.acting(call))
    except Problem as problem:
        result = Result(str(problem), failed=True)
    except Exception as error:  # the model may see it and try another way
        result = Result(f"{type(error).__name__}: {error}", failed=True)
    place.commands.note((change.path, change.after) for change in result.changes)
    known = seen_after(seen, result)  # it also forgets what was deleted
    seen.clear()
    seen.update(known)
    blobs: dict[str, bytes] = {}
    events: list[RunEvent] = [tool.fact(call, parameters)] if tool.fact and not result.failed else []
    events += [file_changed(call, change, blobs) for change in result.changes]
    attached = tuple(_attached(shown, blobs) for shown in result.shown)
    events.append(ToolReturned(call, Text(result.output), result.failed, result.exit_code, attached, result.unkept))
    return events, blobs


def _attached(shown: Shown, blobs: dict[str, bytes]) -> Attachment:
    name = blob_hash(shown.body)
    blobs[name] = shown.body
    return Attachment(shown.name, shown.media_type, name, len(shown.body))


def file_changed(call: str, change: Change, blobs: dict[str, bytes]) -> FileChanged:
    """A change as a fact; both contents go to `blobs`."""
    names = []
    for body in (change.before, change.after):
        names.append("" if body is None else blob_hash(body))
        if body is not None:
            blobs[names[-1]] = body
    added, removed = lines_changed(change.before or b"", change.after or b"")
    return FileChanged(call, change.path, names[0], names[1], added, removed, *change.modes)


def lines_changed(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines came and went."""
    if max(len(before), len(after)) > COUNTED:
        return 0, 0
    old, new = (body.decode("utf-8", "replace").splitlines() for body in (before, after))
    if not old or not new:
        return len(new), len(old)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) > 2000)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return len(new) - same, len(old) - same
