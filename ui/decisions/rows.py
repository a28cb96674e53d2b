"""The choices of a session as a Qt model, and how a line of the list is painted."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.timeline.past import Choice
from ui.figures import time_of_day
from ui.icons import pixmap, status_icon
from ui.theme import Look
from ui.visible import visible
from ui.widgets.paint import draw_chosen, draw_line, draw_right

ROW: Final = 50
EDGE: Final = 20
ICON: Final = 16

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class ChoiceLook(NamedTuple):
    icon: str
    token: str
    title: str
    group: str


LOOKS: Final = {
    "consent": ChoiceLook("shield", "waiting", "Consent", "consents"),
    "allowed": ChoiceLook("shield-check", "done", "Allowed", "consents"),
    "refused": ChoiceLook("shield", "failed", "Not run", "consents"),
    "question": ChoiceLook("message-circle-question-mark", "waiting", "Question", "answers"),
    "decision": ChoiceLook("split", "thinking", "Decision", "decisions"),
    "problem": ChoiceLook("triangle-alert", "failed", "Problem", "problems"),
    "limit": ChoiceLook("timer", "second", "Limit", "notices"),
    "notice": ChoiceLook("info", "second", "Notice", "notices"),
}
Say = Callable[[Choice], str]


def words(text: str) -> str:
    return QCoreApplication.translate("decisions", text)


def choice_look(kind: str) -> ChoiceLook:
    return LOOKS.get(kind, LOOKS["notice"])


def verdict_line(choice: Choice) -> str:
    """What was chosen, by what, and why, on one line."""
    chosen = "" if choice.kind in {"allowed", "refused"} else choice.chosen
    parts = [chosen, words("by {}").format(choice.cause) if choice.cause else "", choice.why]
    if choice.status == "waiting":
        parts.insert(0, words("waits for you"))
    if choice.count > 1:
        parts.insert(0, words("{} calls").format(f"{choice.count:,}"))
    return " · ".join(visible(" ".join(part.split())) for part in parts if part)


class ChoiceRows(QAbstractListModel):
    """`say` names what a choice was about where its line does not."""

    def __init__(self, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._say = say
        self._choices: list[Choice] = []

    def show(self, choices: list[Choice]) -> None:
        """The same list with more at its end grows; anything else is laid out anew."""
        before = len(self._choices)
        if choices[:before] == self._choices:
            if len(choices) > before:
                self.beginInsertRows(QModelIndex(), before, len(choices) - 1)
                self._choices = choices
                self.endInsertRows()
            return
        if len(choices) == before:
            self._choices = choices
            self.dataChanged.emit(self.index(0), self.index(before - 1))
            return
        self.beginResetModel()
        self._choices = choices
        self.endResetModel()

    def choice(self, place: int) -> Choice | None:
        return self._choices[place] if 0 <= place < len(self._choices) else None

    def what(self, choice: Choice) -> str:
        return visible(" ".join((choice.what or self._say(choice)).split()))

    # Qt

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._choices)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        choice = self.choice(index.row()) if index.isValid() else None
        if choice is None or role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return None
        return f"{words(choice_look(choice.kind).title)}: {self.what(choice)}, {verdict_line(choice)}"


class ChoicePainter(QStyledItemDelegate):
    def __init__(self, rows: ChoiceRows, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.look = look

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        choice = self._rows.choice(index.row())
        if choice is None:
            return
        theme, fonts, box = self.look.theme, self.look.fonts, QRect(option.rect)
        if QStyle.StateFlag.State_Selected in option.state:
            draw_chosen(painter, box, theme)
        painter.fillRect(box.x() + EDGE, box.bottom(), box.width() - 2 * EDGE, 1, theme.line)
        look, size, ratio = choice_look(choice.kind), self.look.size(ICON), painter.device().devicePixelRatio()
        half = box.height() // 2
        upper = QRect(box.x(), box.y() + 5, box.width(), half - 4)
        lower = QRect(box.x(), box.y() + half - 1, box.width(), half - 5)
        painter.drawPixmap(
            EDGE, upper.y() + (upper.height() - size) // 2, pixmap(look.icon, theme.colour(look.token), size, ratio)
        )
        glyph = box.right() - EDGE - size + 1
        painter.drawPixmap(glyph, box.y() + (box.height() - size) // 2,
                           pixmap(status_icon(choice.status), theme.status(choice.status), size, ratio))  # fmt: skip
        time = time_of_day(choice.at)
        right = glyph - 10 - QFontMetrics(fonts.second).horizontalAdvance(time)
        draw_right(painter, QRect(right - 10, box.y(), glyph - right, box.height()), time, fonts.second, theme.third)
        left = EDGE + size + 10
        took = draw_line(painter, upper.adjusted(left, 0, 0, 0), words(look.title), fonts.strong, theme.text)
        x = left + took + 8
        mono = choice.kind in {"consent", "allowed", "refused"}
        place = QRect(x, upper.y(), max(0, right - x - 20), upper.height())
        draw_line(
            painter,
            place,
            self._rows.what(choice),
            fonts.mono if mono else fonts.text,
            theme.second if mono else theme.text,
        )
        place = QRect(left, lower.y(), max(0, right - left - 20), lower.height())
        draw_line(painter, place, verdict_line(choice), fonts.second, theme.second)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW))
