"""Execute one tool call and convert its outcome into events."""

from dataclasses import replace
from typing import Any, NamedTuple

from core.domain.events import FileChanged, SessionEvent, ToolReturned
from core.domain.problems import Problem
from core.domain.text import Attachment, Text
from core.store.blobs import blob_hash
from core.timeline.text_diff import LineCounts, changed_blocks
from core.tools.read_before_edit import updated_digests
from core.tools.tool import READ_ONLY_ACCESS, MediaContent, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.file_change import FileChange

# Access kinds of tools before whose calls no scan for changes by background commands is needed: reading changes no
# file, and a command scans the folder itself.
WITHOUT_PRIOR_SCAN = READ_ONLY_ACCESS | {"execute"}
MAX_COMPARED_BYTES = 1 << 20  # larger files are recorded without line counts, because comparing them is slow


class ExecutedCall(NamedTuple):
    """The events of an executed call, and the blobs they refer to, by hash."""

    events: list[SessionEvent]
    blobs: dict[str, bytes]


async def execute_call(
    tool: Tool, call: str, parameters: Any, context: ToolContext, read_digests: dict[str, str]
) -> ExecutedCall:
    """Execute a tool call.

    An exception raised by the tool becomes a failed result, so that the model can react to it. `read_digests` maps the
    path of each file that the run has read to the digest of its contents; it is updated in place.
    """
    if tool.access == "execute":
        context.commands.begin_command()
    try:
        if tool.access not in WITHOUT_PRIOR_SCAN:
            await context.commands.before_call(context.grant.protected_paths)
        result = await tool.run(
            tool.with_known_files(parameters, read_digests) if tool.with_known_files else parameters,
            context.for_call(call),
        )
    except Problem as problem:
        result = ToolResult(str(problem), failed=True)
    except Exception as error:  # The model reads the error and may try another approach.
        result = ToolResult(f"{type(error).__name__}: {error}", failed=True)
    if tool.access == "execute":
        result = replace(result, changes=context.commands.own_changes(result.changes))
    context.commands.note_foreign_changes(result.changes)
    updated = updated_digests(read_digests, result)  # This also removes deleted files.
    read_digests.clear()
    read_digests.update(updated)
    blobs: dict[str, bytes] = {}
    events: list[SessionEvent] = [tool.event(call, parameters)] if tool.event and not result.failed else []
    events += [file_changed_event(call, change, blobs) for change in result.changes]
    attached = tuple(_attached(item, blobs) for item in result.media)
    events.append(
        ToolReturned(
            call,
            Text(result.output),
            failed=result.failed,
            exit_code=result.exit_code,
            attachments=attached,
            unrestorable=result.unrestorable,
            changed_history=result.changed_history,
        )
    )
    return ExecutedCall(events, blobs)


def _attached(media: MediaContent, blobs: dict[str, bytes]) -> Attachment:
    return Attachment(media.name, media.media_type, _add_blob(media.body, blobs), len(media.body))


def _add_blob(body: bytes | None, blobs: dict[str, bytes]) -> str:
    """Add contents to `blobs` and return their hash; "" for a file that does not exist."""
    if body is None:
        return ""
    name = blob_hash(body)
    blobs[name] = body
    return name


def file_changed_event(call: str, change: FileChange, blobs: dict[str, bytes]) -> FileChanged:
    """Return the event for a change, and add the contents before and after it to `blobs`."""
    counts = count_changed_lines(change.before or b"", change.after or b"")
    mode_before, mode_after = change.modes
    return FileChanged(
        call_id=call,
        path=change.path,
        before=_add_blob(change.before, blobs),
        after=_add_blob(change.after, blobs),
        added=counts.added,
        removed=counts.removed,
        mode_before=mode_before,
        mode_after=mode_after,
    )


def count_changed_lines(before: bytes, after: bytes) -> LineCounts:
    """Count the added and removed lines. The counts are 0 if a file is too large to compare."""
    if max(len(before), len(after)) > MAX_COMPARED_BYTES:
        return LineCounts()
    old = before.decode("utf-8", "replace").splitlines()
    new = after.decode("utf-8", "replace").splitlines()
    if not old or not new:
        return LineCounts(len(new), len(old))
    blocks = changed_blocks(old, new)
    return LineCounts(
        added=sum(block.new_end - block.new for block in blocks),
        removed=sum(block.old_end - block.old for block in blocks),
    )
