"""What a step changed, as the pane of the step shows it: the first lines of each difference, and pictures."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor

from core.domain.steps import Step
from core.timeline.difference import LONGEST, Difference, difference, is_text
from ui.figures import size
from ui.theme import Look, blend
from ui.timeline.causes import CauseRows
from ui.timeline.output import FittedWords
from ui.visible import cut_lines, visible
from ui.widgets.picture import is_picture

LOOKED_AT: Final = 40  # entries before the end of a step among which its changes stand
LINES: Final = 40
FILES: Final = 3
SIGNS: Final = {"+": "+ ", "-": "− ", " ": "  "}


class PaneRows(CauseRows, Protocol):
    """What the pane of a step reads."""

    def kept(self, blob: str) -> bytes | None: ...

    def row_of(self, session: str, seq: int) -> int | None: ...


class Changed(NamedTuple):
    """A file that a step changed: `found` where both are texts, `picture` where it is one now."""

    path: str
    added: int
    removed: int
    found: Difference | None = None
    picture: bytes = b""


class Seen(NamedTuple):
    """A picture that came with a step."""

    name: str
    body: bytes


def changed_by(rows: PaneRows, session: str, step: Step) -> list[Changed]:
    """The files a step changed, in order."""
    if not step.marks.get("files"):
        return []
    found = list[Changed]()
    for seq in range(step.last, max(step.first, step.last - LOOKED_AT), -1):
        entry = rows.entry(session, seq)
        if entry.get("kind") == "file_changed" and entry.get("call_id") == step.key:
            found.append(_changed(rows, entry))
    return found[::-1]


def pictures_of(rows: PaneRows, session: str, step: Step) -> Iterator[Seen]:
    """The pictures that a person sent along or a tool gave."""
    entry = rows.entry(session, step.last)
    for one in entry.get("attachments") or ():
        if str(one.get("media_type", "")).startswith("image/"):
            body = rows.kept(str(one.get("blob", "")))
            if body and is_picture(body):
                yield Seen(str(one.get("name", "")), body)


def attached(entry: Mapping[str, Any]) -> str:
    """What a person sent along with words, a line each; empty where there was nothing."""
    sent = entry.get("attachments") or ()
    return "\n".join(f"[{visible(str(one.get('name', '')))} · {size(one.get('size', 0))}]" for one in sent)


def _changed(rows: PaneRows, entry: dict[str, Any]) -> Changed:
    path, added, removed = str(entry.get("path", "")), int(entry.get("added", 0)), int(entry.get("removed", 0))
    old, new = (rows.kept(str(entry.get(name))) if entry.get(name) else b"" for name in ("before", "after"))
    if new and is_picture(new):
        return Changed(path, added, removed, None, new)
    if old is None or new is None or max(len(old), len(new)) > LONGEST or not is_text(old) or not is_text(new):
        return Changed(path, added, removed)
    compared = difference(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
    return Changed(path, added, removed, compared)


class ChangedLines(FittedWords):
    """The first lines of a difference; added and removed ones by sign and by ground."""

    def __init__(self, look: Look, found: Difference, name: str) -> None:
        super().__init__(look, "", name)
        self.setAccessibleName(self.tr("What changed"))
        rows = [row for row in found.rows(1) if row.sign != "head"]
        self.more = len(rows) - LINES
        theme = look.theme
        tints = {"+": theme.done, "-": theme.failed}
        cursor = QTextCursor(self.document())
        for place, row in enumerate(rows[:LINES]):
            if place:
                cursor.insertBlock()
            ground, ink = QTextBlockFormat(), QTextCharFormat()
            if row.sign in tints:
                ground.setBackground(blend(tints[row.sign], theme.background, 0.14))
            ink.setForeground(theme.text if row.sign in tints else theme.second)
            cursor.setBlockFormat(ground)
            said = cut_lines(visible(row.text.rstrip("\r\n"))).replace("\n", " ")
            cursor.insertText(SIGNS[row.sign] + said.expandtabs(4), ink)
