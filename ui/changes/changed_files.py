"""The list of changed files, with the number of lines added and removed and whether a file is new or deleted."""

from collections.abc import Callable
from typing import Any, Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.timeline.session_activity import ChangedFile
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.paint import chip_width, draw_chip, draw_line, draw_row_state
from ui.widgets.tooltip import tooltip_text

ROW: Final = 29
EDGE: Final = 14
ICON: Final = 16
COMMENTS: Final = "accent"  # the color of the badge with the number of comments, which is painted with an icon

AnyIndex = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()


class ChangedFilesModel(QAbstractListModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stories: list[ChangedFile] = []
        self._is_unreviewed: Callable[[str], bool] = lambda _: False
        self._is_kept: Callable[[ChangedFile], bool] = lambda _: False
        self._comment_count: Callable[[str], int] = lambda _: 0

    def differs_from(self, stories: list[ChangedFile]) -> bool:
        return stories != self._stories

    def show_unreviewed(self, is_unreviewed: Callable[[str], bool]) -> None:
        """Mark the files that a run wrote after reading untrusted content, and the user has not reviewed."""
        self._is_unreviewed = is_unreviewed
        self.refresh_review()

    def show_review(self, is_kept: Callable[[ChangedFile], bool], comment_count: Callable[[str], int]) -> None:
        """Mark the files that the user keeps as they are, and those with comments that are not sent."""
        self._is_kept, self._comment_count = is_kept, comment_count
        self.refresh_review()

    def refresh_review(self) -> None:
        if self._stories:
            self.dataChanged.emit(self.index(0), self.index(len(self._stories) - 1))

    def files(self) -> list[ChangedFile]:
        return self._stories

    def show(self, stories: list[ChangedFile]) -> bool:
        """Show these files; return False if nothing changed."""
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

    def file_at(self, index: int) -> ChangedFile | None:
        return self._stories[index] if 0 <= index < len(self._stories) else None

    def row_of(self, path: str) -> int:
        return next((index for index, story in enumerate(self._stories) if story.path == path), -1)

    def badges(self, story: ChangedFile) -> list[tuple[str, str]]:
        """Return the badges of a file as pairs of text and theme color."""
        if story.unchanged:
            return [(self.tr("reverted"), "second")]
        badges = [(self.tr("deleted"), "failed")] if story.deleted and story.has_contents else []
        if story.created and story.has_contents and not story.deleted and not story.added:
            badges.append((self.tr("new"), "second"))
        if story.added:
            badges.append((f"+{story.added}", "done"))
        if story.removed:
            badges.append((f"−{story.removed}", "failed"))
        if self._is_unreviewed(story.path):
            badges.append((self.tr("not reviewed"), "waiting"))
        if count := self._comment_count(story.path):
            text = self.tr("1 comment") if count == 1 else self.tr("{} comments").format(count)
            badges.append((text, COMMENTS))
        if self._is_kept(story):
            badges.append((self.tr("kept"), "done"))
        return badges

    # Qt overrides

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._stories)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        story = self.file_at(index.row()) if index.isValid() else None
        if story is None:
            return None
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return " ".join([visible(story.path), *(text for text, _ in self.badges(story))])
        return tooltip_text(story.path) if role == Qt.ItemDataRole.ToolTipRole else None


class ChangedFileDelegate(QStyledItemDelegate):
    def __init__(self, rows: ChangedFilesModel, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.look = look

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        story = self._rows.file_at(index.row())
        if story is None:
            return
        theme, fonts, box = self.look.theme, self.look.fonts, QRect(option.rect)
        draw_row_state(painter, option, theme)
        icon_size = self.look.size(ICON)
        icon_name = "file-pen-line"
        if story.has_contents and story.deleted:
            icon_name = "file-minus"
        elif story.has_contents and story.created:
            icon_name = "file-plus"
        icon_color = theme.failed if icon_name == "file-minus" else theme.done
        picture = pixmap(icon_name, icon_color, icon_size, painter.device().devicePixelRatio())
        painter.drawPixmap(box.x() + EDGE, box.y() + (box.height() - icon_size) // 2, picture)
        path_right, badge_height = box.right() - EDGE + 1, QFontMetrics(fonts.caption).height() + 4
        for text, token in reversed(self._rows.badges(story)):
            if token == COMMENTS:
                text = text.split()[0]
            width = chip_width(text, fonts.caption) + (badge_height if token == COMMENTS else 0)
            badge_rect = QRect(path_right - width, box.y() + (box.height() - badge_height) // 2, width, badge_height)
            if token == COMMENTS:
                size = badge_height - 4
                glyph = pixmap("message-square", theme.accent, size, painter.device().devicePixelRatio())
                painter.drawPixmap(badge_rect.x() + 4, badge_rect.y() + 2, glyph)
                badge_rect.setLeft(badge_rect.left() + badge_height)
                draw_line(painter, badge_rect.adjusted(4, 0, 4, 0), text, fonts.caption, theme.accent)
            else:
                draw_chip(painter, badge_rect, text, fonts.caption, theme.color(token), theme.strong_line)
            path_right -= width + 6
        path_left = box.x() + EDGE + icon_size + 7
        elided_path = QFontMetrics(fonts.mono).elidedText(
            visible(story.path), Qt.TextElideMode.ElideLeft, max(0, path_right - path_left - 4)
        )
        painter.setFont(fonts.mono)
        painter.setPen(theme.text)
        path_rect = QRect(path_left, box.y(), path_right - path_left, box.height())
        painter.drawText(path_rect, Qt.AlignmentFlag.AlignVCenter, elided_path)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW))
