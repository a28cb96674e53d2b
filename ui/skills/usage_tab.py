"""The Used in tab: the runs in which a skill was used, with their results and ratings."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QModelIndex, QObject, QRect, QSize, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyleOptionViewItem, QVBoxLayout, QWidget

from core.domain.skill import SkillUse
from ui.style.icons import pixmap, status_icon
from ui.style.theme import Look
from ui.widgets.item_list import ITEM_ROLE, AnyIndex, ItemDelegate, ItemListModel
from ui.widgets.labels import ENTER_KEYS, label
from ui.widgets.paint import draw_frame, draw_line, draw_right_aligned, draw_selection
from ui.widgets.time_formats import to_local_time

ICON: Final = 16
UNSUCCESSFUL: Final = frozenset({"failed", "limit"})


class SkillUsesModel(ItemListModel[SkillUse]):
    """The model of the runs, newest first."""

    def accessible_text(self, item: SkillUse) -> str:
        parts = (item.title, self.tr("run {}").format(item.run), item.status, rating_text(self, item.rating))
        return ", ".join(part for part in parts if part)


def rating_text(source: QObject, rating: str) -> str:
    """Return the user's rating of a run as text; "" for a run without a rating."""
    return {"up": source.tr("rated good"), "down": source.tr("rated bad")}.get(rating, "")


class SkillUseDelegate(ItemDelegate):
    """Paints the status icon and title of the session on the left, and rating, version and day on the right."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(200, QFontMetrics(self.look.fonts.text).height() + 14)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        use, theme, fonts = index.data(ITEM_ROLE), self.look.theme, self.look.fonts
        if not isinstance(use, SkillUse):
            return
        box = QRect(option.rect).adjusted(12, 0, -12, 0)
        if option.state & QStyle.StateFlag.State_Selected:
            draw_selection(painter, box, theme, 6)
        if option.state & QStyle.StateFlag.State_HasFocus:
            draw_frame(painter, box, 6, None, theme.accent)
        size = self.look.size(ICON)
        drawn = pixmap(status_icon(use.status), theme.status(use.status), size, painter.device().devicePixelRatio())
        painter.drawPixmap(box.left() + 8, box.center().y() - size // 2 + 1, drawn)
        line = box.adjusted(16 + size, 0, -8, 0)
        details = (
            rating_text(self, use.rating),
            self.tr("version {}").format(use.version),
            f"{to_local_time(use.at):%d %b}",
        )
        right = draw_right_aligned(
            painter, line, "   ".join(part for part in details if part), fonts.second, theme.third
        )
        draw_line(painter, line.adjusted(0, 0, -right - 12, 0), use.title, fonts.text, theme.text)


class UsageTab(QWidget):
    """The list of runs. A click or Enter emits `session_requested` with the session and the run number."""

    session_requested = Signal(str, int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("skill.used")
        self._rows = SkillUsesModel(self)
        self._painter = SkillUseDelegate(look, self)
        self._list = _RunList(self)
        self._list.setModel(self._rows)
        self._list.setItemDelegate(self._painter)
        self._list.opened.connect(self._open)
        self._summary_label = label("", look.fonts.text, "second", name="skill.used.said", wrap=True)
        self._summary_label.setContentsMargins(20, 14, 20, 8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(0)
        column.addWidget(self._summary_label)
        column.addWidget(self._list, 1)

    def show_uses(self, uses: Sequence[SkillUse]) -> None:
        self._rows.show(uses)
        self._list.setVisible(bool(uses))
        self._summary_label.setText(self._summary(uses))

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self._summary_label.setFont(look.fonts.text)
        self._list.scheduleDelayedItemsLayout()
        self._list.viewport().update()

    def _summary(self, uses: Sequence[SkillUse]) -> str:
        if not uses:
            return self.tr(
                "No run has used this skill yet. Try it in a new session, or wait until an agent selects it for a task."
            )
        rated = [use for use in uses if use.rating]
        good = sum(use.rating == "up" for use in rated)
        ratings = self.tr("{} of {} rated good").format(good, len(rated)) if rated else self.tr("none rated")
        failed = sum(use.status in UNSUCCESSFUL for use in uses)
        parts = [
            self.tr("1 run") if len(uses) == 1 else self.tr("{} runs").format(len(uses)),
            self.tr("not rated") if len(uses) == 1 and not rated else ratings,
            self.tr("{} failed").format(failed) if failed else "",
        ]
        return " · ".join(part for part in parts if part)

    def _open(self, index: QModelIndex) -> None:
        if use := self._rows.item(index):
            self.session_requested.emit(use.session, use.run)


class _RunList(QListView):
    opened = Signal(QModelIndex)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("skill.used.list")
        self.setAccessibleName(self.tr("Runs that used the skill"))
        self.setMouseTracking(True)
        self.clicked.connect(self.opened)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS and self.currentIndex().isValid():
            self.opened.emit(self.currentIndex())
            event.accept()
        else:
            super().keyPressEvent(event)
