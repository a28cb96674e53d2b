"""The list of changed files, with the number of added and removed lines, and marks for new and deleted files."""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from PySide6.QtCore import QObject, QRect, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from core.timeline.session_activity import ChangedFile
from ui.diff.diff_rows import changed_lines_text
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.item_list import AnyIndex, ItemDelegate, ItemListModel
from ui.widgets.paint import chip_width, draw_chip, draw_line, draw_row_state

EDGE: Final = 14
ICON: Final = 16
NAME_CHARS: Final = 12  # width in average characters that a path keeps; badges that would leave it less are omitted
ICON_GAP: Final = 7
BADGE_GAP: Final = 6
PATH_MARGIN: Final = 4


class FileBadge(NamedTuple):
    """A badge beside the path of a file. `token` names its color in the theme.

    With `comments`, their number is shown beside an icon, and `text` is for screen readers and the tooltip.
    """

    text: str
    token: str
    comments: int = 0


class ChangedFilesModel(ItemListModel[ChangedFile]):
    """The changed files, in the order of their first changes."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_unreviewed: Callable[[str], bool] = lambda _: False
        self._is_kept: Callable[[ChangedFile], bool] = lambda _: False
        self._comment_count: Callable[[str], int] = lambda _: 0

    def key_of(self, item: ChangedFile) -> str:
        return item.path

    def accessible_text(self, item: ChangedFile) -> str:
        counts = "" if item.unchanged else changed_lines_text(item.added, item.removed)
        marks = [badge.text for badge in self.badges(item) if badge.text[0] not in "+−"]
        return ", ".join(filter(None, (visible(item.path), counts, *marks)))

    def text_of(self, item: ChangedFile) -> str:
        return " ".join([visible(item.path), *(badge.text for badge in self.badges(item))])

    def tooltip_of(self, item: ChangedFile) -> str:
        return self.text_of(item)

    def show_unreviewed(self, is_unreviewed: Callable[[str], bool]) -> None:
        """Mark the files that a run wrote after reading untrusted content and that the user has not reviewed yet."""
        self._is_unreviewed = is_unreviewed
        self.refresh_review()

    def show_review(self, is_kept: Callable[[ChangedFile], bool], comment_count: Callable[[str], int]) -> None:
        """Mark the files that the user has chosen to keep, and those with comments that have not been sent."""
        self._is_kept, self._comment_count = is_kept, comment_count
        self.refresh_review()

    def refresh_review(self) -> None:
        """Repaint all files, because their badges may have changed."""
        if self.items:
            self.dataChanged.emit(self.index(0), self.index(len(self.items) - 1))

    def badges(self, file: ChangedFile) -> list[FileBadge]:
        """Return the badges of a file from left to right."""
        if file.unchanged:
            return [FileBadge(self.tr("reverted"), "second")]
        badges = []
        if file.has_contents and file.deleted:
            badges.append(FileBadge(self.tr("deleted"), "failed"))
        elif file.has_contents and file.created and not file.added:
            badges.append(FileBadge(self.tr("new"), "second"))
        if file.added:
            badges.append(FileBadge(f"+{file.added}", "done"))
        if file.removed:
            badges.append(FileBadge(f"−{file.removed}", "failed"))
        if self._is_unreviewed(file.path):
            badges.append(FileBadge(self.tr("not reviewed"), "waiting"))
        if count := self._comment_count(file.path):
            text = self.tr("1 comment") if count == 1 else self.tr("{} comments").format(count)
            badges.append(FileBadge(text, "accent", comments=count))
        if self._is_kept(file):
            badges.append(FileBadge(self.tr("kept"), "done"))
        return badges


class ChangedFileDelegate(ItemDelegate):
    ROW_HEIGHT: ClassVar = 29

    def __init__(self, rows: ChangedFilesModel, look: Look, parent: QWidget) -> None:
        super().__init__(look, parent)
        self._rows = rows

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        file = self._rows.item(index)
        if file is None:
            return
        box = QRect(option.rect)
        draw_row_state(painter, option, self.look.theme)
        self._draw_icon(painter, box, file)
        path_left = box.x() + EDGE + self.look.size(ICON) + ICON_GAP
        path_right, badge_height = box.right() - EDGE + 1, self._badge_height()
        for badge in reversed(self.fitting_badges(file, box.width())):
            width = self._badge_width(badge)
            badge_rect = QRect(path_right - width, box.y() + (box.height() - badge_height) // 2, width, badge_height)
            self._draw_badge(painter, badge_rect, badge)
            path_right -= width + BADGE_GAP
        self._draw_path(painter, QRect(path_left, box.y(), path_right - path_left, box.height()), file.path)

    def _draw_icon(self, painter: QPainter, box: QRect, file: ChangedFile) -> None:
        theme, size = self.look.theme, self.look.size(ICON)
        name, color = "file-pen-line", theme.done
        if file.has_contents and file.deleted:
            name, color = "file-minus", theme.failed
        elif file.has_contents and file.created:
            name = "file-plus"
        picture = pixmap(name, color, size, painter.device().devicePixelRatio())
        painter.drawPixmap(box.x() + EDGE, box.y() + (box.height() - size) // 2, picture)

    def _draw_badge(self, painter: QPainter, rect: QRect, badge: FileBadge) -> None:
        theme, font = self.look.theme, self.look.fonts.caption
        if not badge.comments:
            draw_chip(painter, rect, badge.text, font, theme.color(badge.token), theme.strong_line)
            return
        glyph = pixmap("message-square", theme.accent, rect.height() - 4, painter.device().devicePixelRatio())
        painter.drawPixmap(rect.x() + 4, rect.y() + 2, glyph)
        draw_line(painter, rect.adjusted(rect.height() + 4, 0, 4, 0), str(badge.comments), font, theme.accent)

    def _draw_path(self, painter: QPainter, rect: QRect, path: str) -> None:
        font = self.look.fonts.mono
        width = max(0, rect.width() - PATH_MARGIN)
        elided_path = QFontMetrics(font).elidedText(visible(path), Qt.TextElideMode.ElideLeft, width)
        painter.setFont(font)
        painter.setPen(self.look.theme.text)
        painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, elided_path)

    def fitting_badges(self, file: ChangedFile, width: int) -> list[FileBadge]:
        """Return the badges that fit into a row of this width beside the path.

        Line counts are the first to be left out, and the mark of a file that is not reviewed is the last.
        """
        metrics = QFontMetrics(self.look.fonts.mono)
        path_width = min(metrics.horizontalAdvance(visible(file.path)), NAME_CHARS * metrics.averageCharWidth())
        available = width - 2 * EDGE - self.look.size(ICON) - ICON_GAP - PATH_MARGIN - path_width
        badges = self._rows.badges(file)
        while badges and sum(self._badge_width(badge) + BADGE_GAP for badge in badges) > available:
            line_counts = [badge for badge in badges if badge.text.startswith(("+", "−"))]
            dispensable = [badge for badge in badges if badge.token != "waiting"]
            badges.remove((line_counts or dispensable or badges)[-1])
        return badges

    def _badge_width(self, badge: FileBadge) -> int:
        if badge.comments:
            return chip_width(str(badge.comments), self.look.fonts.caption) + self._badge_height()
        return chip_width(badge.text, self.look.fonts.caption)

    def _badge_height(self) -> int:
        return QFontMetrics(self.look.fonts.caption).height() + 4
