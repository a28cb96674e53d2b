"""The tab *Used in*: the runs that read this skill, and how they went; Enter opens one."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout, QWidget

from core.domain.skill import SkillUse
from ui.icons import pixmap, status_icon
from ui.theme import Look
from ui.widgets.paint import draw_chosen, draw_frame, draw_line, draw_right
from ui.widgets.times import moment
from ui.widgets.words import ENTER_KEYS, label

ITEM: Final = Qt.ItemDataRole.UserRole
NOWHERE: Final = QModelIndex()
ICON: Final = 16
GOOD: Final = frozenset({"done", "completed"})
AnyIndex = QModelIndex | QPersistentModelIndex


class Uses(QAbstractListModel):
    """A line for each run, the newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[SkillUse] = ()

    def show(self, rows: Sequence[SkillUse]) -> None:
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def use(self, index: AnyIndex) -> SkillUse | None:
        return self._rows[index.row()] if index.isValid() and index.row() < len(self._rows) else None

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        use = self.use(index)
        if use is None:
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            parts = (use.title, self.tr("run {}").format(use.run), use.status, verdict_words(self, use.verdict))
            return ", ".join(part for part in parts if part)
        return use if role == ITEM else None


def verdict_words(source: QObject, verdict: str) -> str:
    """What the person said of the run."""
    return {"good": source.tr("you said: good"), "bad": source.tr("you said: bad")}.get(verdict, verdict)


class UsePainter(QStyledItemDelegate):
    """A glyph for how it went, the session's title, and at the right the version and the day."""

    def __init__(self, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.look = look

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(200, QFontMetrics(self.look.fonts.text).height() + 14)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        use, theme, fonts = index.data(ITEM), self.look.theme, self.look.fonts
        if not isinstance(use, SkillUse):
            return
        box = QRect(option.rect).adjusted(12, 0, -12, 0)
        if option.state & QStyle.StateFlag.State_Selected:
            draw_chosen(painter, box, theme, 6)
        if option.state & QStyle.StateFlag.State_HasFocus:
            draw_frame(painter, box, 6, None, theme.accent)
        size = self.look.size(ICON)
        drawn = pixmap(status_icon(use.status), theme.status(use.status), size, painter.device().devicePixelRatio())
        painter.drawPixmap(box.left() + 8, box.center().y() - size // 2 + 1, drawn)
        line = box.adjusted(16 + size, 0, -8, 0)
        said = (verdict_words(self, use.verdict), self.tr("version {}").format(use.version), f"{moment(use.at):%d %b}")
        right = draw_right(painter, line, "   ".join(part for part in said if part), fonts.second, theme.third)
        draw_line(painter, line.adjusted(0, 0, -right - 12, 0), use.title, fonts.text, theme.text)


class UsedTab(QWidget):
    """`wanted` names the session to open and the run of it."""

    wanted = Signal(str, int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("skill.used")
        self._rows = Uses(self)
        self._painter = UsePainter(look, self)
        self._list = _List(self)
        self._list.setModel(self._rows)
        self._list.setItemDelegate(self._painter)
        self._list.opened.connect(self._open)
        self._said = label("", look.fonts.text, "second", name="skill.used.said", wrap=True)
        self._said.setContentsMargins(20, 14, 20, 8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(0)
        column.addWidget(self._said)
        column.addWidget(self._list, 1)

    def show_uses(self, uses: Sequence[SkillUse]) -> None:
        self._rows.show(uses)
        self._list.setVisible(bool(uses))
        self._said.setText(self._summary(uses))

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self._said.setFont(look.fonts.text)
        self._list.scheduleDelayedItemsLayout()
        self._list.viewport().update()

    def _summary(self, uses: Sequence[SkillUse]) -> str:
        if not uses:
            return self.tr("No run has used it yet. Try it in a run, or wait until an agent finds that it fits.")
        ended = [use for use in uses if use.status not in {"running", "waiting", ""}]
        good = sum(use.status in GOOD for use in ended)
        parts = [self.tr("1 run") if len(uses) == 1 else self.tr("{} runs").format(len(uses))]
        if ended:
            parts.append(self.tr("{} of {} ended well").format(good, len(ended)))
        return " · ".join(parts)

    def _open(self, index: QModelIndex) -> None:
        if use := self._rows.use(index):
            self.wanted.emit(use.session, use.run)


class _List(QListView):
    opened = Signal(QModelIndex)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("skill.used.list")
        self.setAccessibleName(self.tr("Runs that used it"))
        self.setMouseTracking(True)
        self.clicked.connect(self.opened)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS and self.currentIndex().isValid():
            self.opened.emit(self.currentIndex())
            event.accept()
        else:
            super().keyPressEvent(event)
