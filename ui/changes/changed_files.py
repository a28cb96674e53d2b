"""The list of changed files, with the number of added and removed lines, and marks for new and deleted files."""

from collections.abc import Callable
from typing import ClassVar, Final

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
# Color of the badge with the number of comments; it is also how the delegate recognizes this badge, which has an icon.
COMMENTS: Final = "accent"


class ChangedFilesModel(ItemListModel[ChangedFile]):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_unreviewed: Callable[[str], bool] = lambda _: False
        self._is_kept: Callable[[ChangedFile], bool] = lambda _: False
        self._comment_count: Callable[[str], int] = lambda _: 0

    def key_of(self, item: ChangedFile) -> str:
        return item.path

    def accessible_text(self, item: ChangedFile) -> str:
        counts = "" if item.unchanged else changed_lines_text(item.added, item.removed)
        marks = [text for text, _ in self.badges(item) if text[0] not in "+−"]
        return ", ".join(filter(None, (visible(item.path), counts, *marks)))

    def text_of(self, item: ChangedFile) -> str:
        return " ".join([visible(item.path), *(text for text, _ in self.badges(item))])

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
        if self.items:
            self.dataChanged.emit(self.index(0), self.index(len(self.items) - 1))

    def badges(self, story: ChangedFile) -> list[tuple[str, str]]:
        """Return the badges of a file as pairs of text and the name of a theme color."""
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


class ChangedFileDelegate(ItemDelegate):
    ROW_HEIGHT: ClassVar = 29

    def __init__(self, rows: ChangedFilesModel, look: Look, parent: QWidget) -> None:
        super().__init__(look, parent)
        self._rows = rows

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        story = self._rows.item(index)
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
        path_right, badge_height = box.right() - EDGE + 1, self._badge_height()
        for text, token in reversed(self.fitting_badges(story, box.width())):
            width = self._badge_width(text, token)
            if token == COMMENTS:
                text = text.split()[0]
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

    def fitting_badges(self, story: ChangedFile, width: int) -> list[tuple[str, str]]:
        """Return the badges that fit into a row of this width beside the path.

        Line counts are the first to be left out.
        """
        metrics = QFontMetrics(self.look.fonts.mono)
        path_width = min(metrics.horizontalAdvance(visible(story.path)), NAME_CHARS * metrics.averageCharWidth())
        room = width - 2 * EDGE - self.look.size(ICON) - 7 - 4 - path_width
        badges = self._rows.badges(story)
        while badges and sum(self._badge_width(*badge) + 6 for badge in badges) > room:
            counts = [badge for badge in badges if badge[0][0] in "+−"]
            others = [badge for badge in badges if badge[1] != "waiting"]
            badges.remove((counts or others or badges)[-1])
        return badges

    def _badge_width(self, text: str, token: str) -> int:
        if token == COMMENTS:
            return chip_width(text.split()[0], self.look.fonts.caption) + self._badge_height()
        return chip_width(text, self.look.fonts.caption)

    def _badge_height(self) -> int:
        return QFontMetrics(self.look.fonts.caption).height() + 4
