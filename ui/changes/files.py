"""The list of changed files: name, lines added and removed, and what is special about each."""

from typing import Any, Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.timeline.past import FileStory
from ui.icons import pixmap
from ui.theme import Look
from ui.visible import visible
from ui.widgets.paint import chip_width, draw_chip, draw_chosen, draw_frame
from ui.widgets.tip import tip

ROW: Final = 29
EDGE: Final = 14
ICON: Final = 16

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class FileRows(QAbstractListModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stories: list[FileStory] = []

    def show(self, stories: list[FileStory]) -> bool:
        """False where nothing is different."""
        if stories == self._stories:
            return False
        if [story.path for story in stories] == [story.path for story in self._stories]:
            self._stories = stories
            self.dataChanged.emit(self.index(0), self.index(len(stories) - 1))
            return True
        self.beginResetModel()
        self._stories = stories
        self.endResetModel()
        return True

    def story(self, place: int) -> FileStory | None:
        return self._stories[place] if 0 <= place < len(self._stories) else None

    def place(self, path: str) -> int:
        return next((place for place, story in enumerate(self._stories) if story.path == path), -1)

    def badges(self, story: FileStory) -> list[tuple[str, str]]:
        """Small words and the tokens of their colours."""
        if story.back and story.kept:
            return [(self.tr("put back"), "second")]
        found = [(self.tr("removed"), "failed")] if story.gone and story.kept else []
        if story.new and story.kept and not story.gone and not story.added:
            found.append((self.tr("new"), "second"))
        if story.added:
            found.append((f"+{story.added}", "done"))
        if story.removed:
            found.append((f"−{story.removed}", "failed"))
        return found

    # Qt

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._stories)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        story = self.story(index.row()) if index.isValid() else None
        if story is None:
            return None
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return " ".join([visible(story.path), *(text for text, _ in self.badges(story))])
        return tip(story.path) if role == Qt.ItemDataRole.ToolTipRole else None


class FilePainter(QStyledItemDelegate):
    def __init__(self, rows: FileRows, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.look = look

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        story = self._rows.story(index.row())
        if story is None:
            return
        theme, fonts, box = self.look.theme, self.look.fonts, QRect(option.rect)
        if QStyle.StateFlag.State_Selected in option.state:
            draw_chosen(painter, box, theme)
        if (
            QStyle.StateFlag.State_HasFocus in option.state
            and QStyle.StateFlag.State_KeyboardFocusChange in option.state
        ):
            draw_frame(painter, box.adjusted(1, 1, -1, -1), 4, None, theme.accent)
        size = self.look.size(ICON)
        name = (
            "file-minus" if story.gone and story.kept else "file-plus" if story.new and story.kept else "file-pen-line"
        )
        ink = theme.failed if name == "file-minus" else theme.done
        picture = pixmap(name, ink, size, painter.device().devicePixelRatio())
        painter.drawPixmap(box.x() + EDGE, box.y() + (box.height() - size) // 2, picture)
        right, tall = box.right() - EDGE + 1, QFontMetrics(fonts.caption).height() + 4
        for text, token in reversed(self._rows.badges(story)):
            width = chip_width(text, fonts.caption)
            place = QRect(right - width, box.y() + (box.height() - tall) // 2, width, tall)
            draw_chip(painter, place, text, fonts.caption, theme.colour(token), theme.strong_line)
            right -= width + 6
        left = box.x() + EDGE + size + 7
        shown = QFontMetrics(fonts.mono).elidedText(
            visible(story.path), Qt.TextElideMode.ElideMiddle, max(0, right - left - 4)
        )
        painter.setFont(fonts.mono)
        painter.setPen(theme.text)
        painter.drawText(QRect(left, box.y(), right - left, box.height()), Qt.AlignmentFlag.AlignVCenter, shown)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW))
