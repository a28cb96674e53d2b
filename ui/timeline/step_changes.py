"""The changed files and attached images of a step, and the preview of a diff in the step pane."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor

from core.domain.steps import Step
from core.timeline.text_diff import MAX_COUNTED_BYTES, TextDiff, diff_texts, is_text
from ui.style.number_formats import size
from ui.style.theme import Look, blend
from ui.text.visible import cut_lines, visible
from ui.timeline.output_tab import FittedTextView
from ui.timeline.step_provenance import EventSource
from ui.widgets.image_view import is_image

SEARCHED_EVENTS: Final = 40  # number of events before a step's last event that are searched for its changes
MAX_LINES: Final = 40
MAX_FILES: Final = 3
SIGNS: Final = {"+": "+ ", "-": "− ", " ": "  "}


class StepPaneSource(EventSource, Protocol):
    """The data source of the step pane."""

    def find_blob(self, blob: str) -> bytes | None: ...

    def row_of(self, session: str, seq: int) -> int | None: ...


class StepFileChange(NamedTuple):
    """A file changed by a step. `diff` is set if both versions are text, `image` if the new version is an image."""

    path: str
    added: int
    removed: int
    diff: TextDiff | None = None
    image: bytes = b""


class AttachedImage(NamedTuple):
    """An image attached to a message or returned by a tool."""

    name: str
    data: bytes


def file_changes_of(rows: StepPaneSource, session: str, step: Step) -> list[StepFileChange]:
    """Return the files that a step changed, in order."""
    if not step.metrics.get("files"):
        return []
    changes = list[StepFileChange]()
    for seq in range(step.last_seq, max(step.first_seq, step.last_seq - SEARCHED_EVENTS), -1):
        entry = rows.event(session, seq)
        if entry.get("kind") == "file_changed" and entry.get("call_id") == step.key:
            changes.append(_file_change(rows, entry))
    return changes[::-1]


def attached_images(rows: StepPaneSource, session: str, step: Step) -> Iterator[AttachedImage]:
    """Yield the images that the user attached or a tool returned."""
    entry = rows.event(session, step.last_seq)
    for attachment in entry.get("attachments") or ():
        if str(attachment.get("media_type", "")).startswith("image/"):
            body = rows.find_blob(str(attachment.get("blob", "")))
            if body and is_image(body):
                yield AttachedImage(str(attachment.get("name", "")), body)


def attachment_lines(entry: Mapping[str, Any]) -> str:
    """Return one line for each attachment of a message; an empty string if there are none."""
    attachments = entry.get("attachments") or ()
    return "\n".join(
        f"[{visible(str(attachment.get('name', '')))} · {size(attachment.get('size', 0))}]"
        for attachment in attachments
    )


def _file_change(rows: StepPaneSource, entry: dict[str, Any]) -> StepFileChange:
    change = StepFileChange(
        path=str(entry.get("path", "")),
        added=int(entry.get("added", 0)),
        removed=int(entry.get("removed", 0)),
    )
    old, new = _version(rows, entry, "before"), _version(rows, entry, "after")
    if new and is_image(new):
        return change._replace(image=new)
    if old is None or new is None or not _can_diff(old) or not _can_diff(new):
        return change
    return change._replace(diff=diff_texts(old.decode("utf-8", "replace"), new.decode("utf-8", "replace")))


def _version(rows: StepPaneSource, entry: dict[str, Any], name: str) -> bytes | None:
    """Return the contents of the file `before` or `after` the change; empty if it did not exist, None if unknown."""
    blob = entry.get(name)
    return rows.find_blob(str(blob)) if blob else b""


def _can_diff(body: bytes) -> bool:
    return len(body) <= MAX_COUNTED_BYTES and is_text(body)


class DiffPreview(FittedTextView):
    """Shows the first lines of a diff; added and removed lines are marked by a sign and a background color."""

    def __init__(self, look: Look, diff: TextDiff, name: str) -> None:
        super().__init__(look, "", name)
        self.setAccessibleName(self.tr("Changed lines"))
        rows = [row for row in diff.rows(1) if row.sign != "head"]
        theme = look.theme
        tints = {"+": theme.done, "-": theme.failed}
        cursor = QTextCursor(self.document())
        for index, row in enumerate(rows[:MAX_LINES]):
            if index:
                cursor.insertBlock()
            block_format, char_format = QTextBlockFormat(), QTextCharFormat()
            if row.sign in tints:
                block_format.setBackground(blend(tints[row.sign], theme.background, 0.14))
            char_format.setForeground(theme.text if row.sign in tints else theme.second)
            cursor.setBlockFormat(block_format)
            text = cut_lines(visible(row.text.rstrip("\r\n"))).replace("\n", " ")
            cursor.insertText(SIGNS[row.sign] + text.expandtabs(4), char_format)
