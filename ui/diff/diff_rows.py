"""The Qt model of the lines of a diff, unified or side by side, and of the comments on them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)

from core.timeline.text_diff import HUNK_HEADER, DiffRow, TextDiff
from ui.diff.line_texts import LINE_LIMIT, TAB
from ui.diff.line_texts import DiffLine as DiffLine
from ui.text.visible import visible

MORE_LINES: Final = 20  # lines that each use of *Show more* adds
COMMENT: Final = "comment"  # the sign of a row with a comment; the text of the row is the ID of the comment
NOT_LINES: Final = frozenset({HUNK_HEADER, COMMENT})  # the signs of rows that show no line of the two texts

RowPair = tuple[DiffRow | None, DiffRow | None]
AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


NO_COMMENTS: Final[Mapping[DiffLine, Sequence[str]]] = {}


class DiffTableModel(QAbstractTableModel):
    """The rows of a diff: one column if unified; if side by side, two columns with the old lines in the first.

    `can_revert` and `can_keep` say whether hunk headers offer to do so. Of a hunk that is kept, only the header is
    shown.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._difference = TextDiff((), (), ())
        self._pairs: list[RowPair] = []
        self._longest_line = 0
        self._hunk_keys: list[str] = []
        self._kept: Collection[str] = ()
        self._more: dict[int, int] = {}
        self._comments = NO_COMMENTS
        self.side_by_side = False
        self.can_revert = False
        self.can_keep = False
        self.describe_comment: Callable[[str], str] = lambda _: self.tr("comment")

    @property
    def diff(self) -> TextDiff:
        return self._difference

    @property
    def hunk_keys(self) -> Sequence[str]:
        return self._hunk_keys

    def show(
        self,
        difference: TextDiff,
        *,
        side_by_side: bool,
        can_revert: bool,
        can_keep: bool = False,
        kept: Collection[str] = (),
        comments: Mapping[DiffLine, Sequence[str]] = NO_COMMENTS,
    ) -> None:
        """Show a diff. If only one of the two texts has changed, additional lines that were shown stay visible.

        `kept` are keys of hunks. `comments` are IDs of comments by the line below which they are shown.
        """
        same_file = self._difference.old == difference.old or self._difference.new == difference.new
        self.beginResetModel()
        self._more = self._more if same_file else {}
        self._difference = difference
        self.side_by_side = side_by_side
        self.can_revert = can_revert
        self.can_keep = can_keep
        self._kept = kept
        self._comments = comments
        self._hunk_keys = difference.hunk_keys() if can_keep else []
        self._longest_line = _longest(difference)
        self._build()
        self.endResetModel()

    def show_more(self, gap: int, lines: int) -> None:
        """Show more unchanged lines above the hunk with the index `gap`; for -1, below the last hunk."""
        self.beginResetModel()
        gap = gap if gap >= 0 else len(self._difference.hunks())
        self._more[gap] = self._more.get(gap, 0) + lines
        self._build()
        self.endResetModel()

    def row(self, position: int, column: int = 0) -> DiffRow | None:
        return self._pairs[position][column if self.side_by_side else 0] if 0 <= position < len(self._pairs) else None

    def either_row(self, position: int) -> DiffRow | None:
        """Return the row with the new line at a position or, if there is none, the row with the old one."""
        return self.row(position, 1) or self.row(position)

    def hunk_header(self, position: int) -> DiffRow | None:
        """Return the hunk header at this position; None if the row is not a header."""
        row = self.row(position)
        return row if row and row.is_header else None

    def line_at(self, position: int, column: int = -1) -> DiffLine | None:
        """Return the line of text at a position. With column -1, prefer the line of the new text."""
        row = self.either_row(position) if column < 0 else self.row(position, column)
        return _line_of(row) if row else None

    def position_of(self, line: DiffLine) -> int:
        """Return the position of a line of text; -1 if the line is not shown."""
        for position in range(len(self._pairs)):
            for column in range(self.columnCount()):
                row = self.row(position, column)
                if row and row.sign not in NOT_LINES and line.number == getattr(row, line.side):
                    return position
        return -1

    def position_near(self, line: DiffLine | None, hunk: int) -> int:
        """Return the position of a line, or else that of the header of `hunk`; -1 if neither is shown."""
        position = self.position_of(line) if line else -1
        if position >= 0 or (hunk < 0 and line is None):
            return position
        headers = (at for at in range(len(self._pairs)) if (row := self.hunk_header(at)) and row.hunk == hunk)
        return next(headers, -1)

    def new_line_from(self, position: int) -> int:
        """Return the number of the first line of the new text at or below a position; 0 if there is none."""
        rows = (self.either_row(at) for at in range(position, len(self._pairs)))
        return next((row.new for row in rows if row and row.new), 0) if position >= 0 else 0

    def is_kept(self, hunk: int) -> bool:
        return 0 <= hunk < len(self._hunk_keys) and self._hunk_keys[hunk] in self._kept

    def hunk_figures(self, hunk: int) -> str:
        """Return the numbers of lines that a hunk adds and removes, as text."""
        added, removed = self._line_counts(hunk)
        return f"+{added} −{removed}"

    def _line_counts(self, hunk: int) -> tuple[int, int]:
        blocks = self._difference.hunks()[hunk]
        added = sum(block.new_end - block.new for block in blocks)
        removed = sum(block.old_end - block.old for block in blocks)
        return added, removed

    def _accessible_header(self, row: DiffRow) -> str:
        """Return the text of a hunk header for screen readers."""
        if row.hunk < 0:
            return unchanged_lines_text(row.hidden_lines)
        parts = [
            self.tr("Hunk {} of {}").format(row.hunk + 1, len(self._difference.hunks())),
            self.tr("kept") if self.is_kept(row.hunk) else "",
            changed_lines_text(*self._line_counts(row.hunk)),
            unchanged_lines_text(row.hidden_lines) if row.hidden_lines else "",
        ]
        return ", ".join(filter(None, parts))

    def comment_rows(self) -> list[tuple[int, str]]:
        """Return the position and the ID of each comment."""
        if not self._comments:
            return []
        rows = ((position, self.row(position)) for position in range(len(self._pairs)))
        return [(position, row.text) for position, row in rows if row and row.sign == COMMENT]

    def hunk_positions(self) -> list[int]:
        """Return the position of the first row of each hunk."""
        positions: dict[int, int] = {}
        for position in range(len(self._pairs)):
            row = self.row(position) or self.row(position, 1)
            if row and row.hunk >= 0:
                positions.setdefault(row.hunk, position)
        return list(positions.values())

    @property
    def longest_line(self) -> int:
        """The number of characters in the longest line, at most `LINE_LIMIT`."""
        return self._longest_line

    def _build(self) -> None:
        has_actions = self.can_revert or self.can_keep
        kept = {hunk for hunk in range(len(self._hunk_keys)) if self.is_kept(hunk)}

        def is_shown(row: DiffRow) -> bool:
            if row.is_header:
                return has_actions or bool(row.hidden_lines)
            return row.hunk not in kept

        rows = [row for row in self._difference.rows(more=self._more) if is_shown(row)]
        pairs: list[RowPair] = _paired(rows) if self.side_by_side else [(row, row) for row in rows]
        self._pairs = self._with_comments(pairs) if self._comments else pairs

    def _with_comments(self, pairs: list[RowPair]) -> list[RowPair]:
        """Insert the comments below their lines. Comments on a line that is not shown come first."""
        missing = dict(self._comments)
        result: list[RowPair] = []
        for old, new in pairs:
            result.append((old, new))
            lines = dict.fromkeys(line for row in (old, new) if row and (line := _line_of(row)))
            row = new or old
            for line in lines:
                result += [_comment_row(name, row.hunk) for name in missing.pop(line, ())] if row else []
        return [_comment_row(name, -1) for names in missing.values() for name in names] + result

    # Overridden Qt methods

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._pairs)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        if parent.isValid():
            return 0
        return 2 if self.side_by_side else 1

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return None
        row = self.row(index.row(), index.column())
        for_screen_readers = role == Qt.ItemDataRole.AccessibleTextRole
        if row is None:
            return self.tr("no line") if for_screen_readers else ""
        if row.sign == COMMENT:
            return self.describe_comment(row.text) if for_screen_readers else ""
        if row.is_header:
            return self._accessible_header(row) if for_screen_readers else self._header_text(row)
        change = {"-": self.tr("removed"), "+": self.tr("added")}.get(row.sign, "")
        return visible(f"{change} {row.old or row.new}: {row.text.rstrip()}".strip())

    def _header_text(self, row: DiffRow) -> str:
        text = unchanged_lines_text(row.hidden_lines)
        if self.is_kept(row.hunk):
            return self.tr("kept {}, {}").format(self.hunk_figures(row.hunk), text)
        return text


def _longest(difference: TextDiff) -> int:
    lines = (*difference.old, *difference.new) if difference.blocks else ()
    longest = max((len(line.expandtabs(TAB)) if "\t" in line else len(line) for line in lines), default=0)
    return min(LINE_LIMIT, longest)


def _line_of(row: DiffRow) -> DiffLine | None:
    """Return the line of text that a row shows; for an unchanged line, that of the new text."""
    if row.sign in NOT_LINES:
        return None
    return DiffLine("new", row.new) if row.new else DiffLine("old", row.old)


def _comment_row(name: str, hunk: int) -> RowPair:
    row = DiffRow(COMMENT, 0, 0, name, hunk)
    return row, row


def unchanged_lines_text(lines: int) -> str:
    text = "{} unchanged line" if lines == 1 else "{} unchanged lines"
    return _tr(text).format(f"{lines:,}")


def changed_lines_text(added: int, removed: int) -> str:
    """Return the numbers of added and removed lines in words, for screen readers; "" if no line has changed."""
    texts = []
    if added:
        texts.append(_tr("1 line added") if added == 1 else _tr("{} lines added").format(f"{added:,}"))
    if removed:
        texts.append(_tr("1 line removed") if removed == 1 else _tr("{} lines removed").format(f"{removed:,}"))
    return ", ".join(texts)


def _tr(text: str) -> str:
    return QCoreApplication.translate("changes", text)


def _paired(rows: list[DiffRow]) -> list[RowPair]:
    """Pair the lines for the side-by-side view, so that removed lines are next to the lines that replace them."""
    pairs: list[RowPair] = []
    removed: list[DiffRow] = []
    added: list[DiffRow] = []

    def flush() -> None:
        for position in range(max(len(removed), len(added))):
            left = removed[position] if position < len(removed) else None
            right = added[position] if position < len(added) else None
            pairs.append((left, right))
        removed.clear()
        added.clear()

    for row in rows:
        if row.sign == "-":
            if added:
                flush()
            removed.append(row)
        elif row.sign == "+":
            added.append(row)
        else:
            flush()
            pairs.append((row, row))
    flush()
    return pairs
