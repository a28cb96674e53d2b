"""The Qt model and the delegate of the list of decisions."""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, QRect
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget

from core.timeline.decision_entry import DecisionEntry
from core.timeline.decision_outcome import DecisionOutcome
from ui.style.icons import pixmap, status_icon
from ui.style.number_formats import amount, duration, money, time_of_day
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.item_list import AnyIndex, ItemDelegate, ItemListModel
from ui.widgets.paint import draw_line, draw_right_aligned, draw_selection

ROW: Final = 50
EDGE: Final = 20
ICON: Final = 16


class DecisionStyle(NamedTuple):
    icon: str
    color: str
    title: str
    group: str


STYLES: Final = {
    "permission": DecisionStyle("shield", "waiting", "Permission request", "consents"),
    "allowed": DecisionStyle("shield-check", "done", "Allowed", "consents"),
    "refused": DecisionStyle("shield", "failed", "Not run", "consents"),
    "question": DecisionStyle("message-circle-question-mark", "waiting", "Question", "answers"),
    "decision": DecisionStyle("split", "thinking", "Decision", "decisions"),
    "tier": DecisionStyle("cpu", "thinking", "Model choice", "decisions"),
    "issue": DecisionStyle("triangle-alert", "failed", "Issue", "problems"),
    "limit": DecisionStyle("timer", "second", "Limit", "notices"),
    "notice": DecisionStyle("info", "second", "Notice", "notices"),
}
RUN_ENDS: Final = {
    "done": "completed",
    "failed": "failed",
    "stopped": "was stopped",
    "limit": "reached a limit",
}
CallText = Callable[[DecisionEntry], str]


def translate(text: str) -> str:
    return QCoreApplication.translate("decisions", text)


def decision_style(kind: str) -> DecisionStyle:
    return STYLES.get(kind, STYLES["notice"])


def outcome_line(choice: DecisionEntry) -> str:
    """Return one line that says what was decided, by whom or by which rule, and why."""
    chosen = "" if choice.kind in {"allowed", "refused"} else choice.chosen
    parts = [chosen, translate("by {}").format(choice.cause) if choice.cause else "", choice.why]
    if choice.status == "waiting":
        parts.insert(0, translate("waiting for you"))
    if choice.count > 1:
        parts.insert(0, translate("{} calls").format(f"{choice.count:,}"))
    return " · ".join(visible(" ".join(text.split())) for text in parts if text)


def outcome_text(outcome: DecisionOutcome) -> str:
    """Return what followed a decision, such as `Then 4 steps, 1 failed · 2 files changed, +10 −3 · 2.0s`."""
    if not outcome.steps:
        return translate("Nothing has followed yet.") if not outcome.run_status else translate("Nothing followed.")
    steps = translate("1 step") if outcome.steps == 1 else translate("{} steps").format(outcome.steps)
    failed = translate(", {} failed").format(outcome.failed) if outcome.failed else ""
    changed = translate("1 file change") if outcome.files == 1 else translate("{} file changes").format(outcome.files)
    status = RUN_ENDS.get(outcome.run_status, outcome.run_status)
    parts = [
        translate("Then {}").format(steps) + failed,
        f"{changed}, +{outcome.added:,} −{outcome.removed:,}" if outcome.files else "",
        duration(outcome.duration),
        translate("{} tok").format(amount(outcome.tokens)) if outcome.tokens else "",
        money(outcome.cost) if outcome.cost else "",
        translate("the run {}").format(translate(status)) if status else "",
    ]
    return " · ".join(part for part in parts if part)


class DecisionRows(ItemListModel[DecisionEntry]):
    """The list model of decisions. `call_text` returns what a decision is about, if its event does not contain that."""

    def __init__(self, call_text: CallText, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._call_text = call_text

    def key_of(self, item: DecisionEntry) -> str:
        return str(item.seq)

    def accessible_text(self, item: DecisionEntry) -> str:
        return f"{translate(decision_style(item.kind).title)}: {self.subject(item)}, {outcome_line(item)}"

    def subject(self, choice: DecisionEntry) -> str:
        return visible(" ".join((choice.what or self._call_text(choice)).split()))


class DecisionDelegate(ItemDelegate):
    ROW_HEIGHT: ClassVar = ROW

    def __init__(self, rows: DecisionRows, look: Look, parent: QWidget) -> None:
        super().__init__(look, parent)
        self._rows = rows

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        choice = self._rows.item(index)
        if choice is None:
            return
        theme, box = self.look.theme, QRect(option.rect)
        if QStyle.StateFlag.State_Selected in option.state:
            draw_selection(painter, box, theme)
        painter.fillRect(box.x() + EDGE, box.bottom(), box.width() - 2 * EDGE, 1, theme.line)
        half = box.height() // 2
        upper_line = QRect(box.x(), box.y() + 5, box.width(), half - 4)
        lower_line = QRect(box.x(), box.y() + half - 1, box.width(), half - 5)
        self._draw_kind(painter, upper_line, choice)
        text_right = self._draw_time_and_status(painter, box, choice) - 20
        self._draw_subject(painter, upper_line, text_right, choice)
        text_left = EDGE + self.look.size(ICON) + 10
        outcome_rect = QRect(text_left, lower_line.y(), max(0, text_right - text_left), lower_line.height())
        draw_line(painter, outcome_rect, outcome_line(choice), self.look.fonts.second, theme.second)

    def _draw_kind(self, painter: QPainter, line: QRect, choice: DecisionEntry) -> None:
        style, size = decision_style(choice.kind), self.look.size(ICON)
        icon = pixmap(style.icon, self.look.theme.color(style.color), size, painter.device().devicePixelRatio())
        painter.drawPixmap(EDGE, line.y() + (line.height() - size) // 2, icon)

    def _draw_time_and_status(self, painter: QPainter, box: QRect, choice: DecisionEntry) -> int:
        """Draw the time and the status at the right; return the x at which the time begins."""
        theme, font, size = self.look.theme, self.look.fonts.second, self.look.size(ICON)
        status_left = box.right() - EDGE - size + 1
        color, ratio = theme.status(choice.status), painter.device().devicePixelRatio()
        icon = pixmap(status_icon(choice.status), color, size, ratio)
        painter.drawPixmap(status_left, box.y() + (box.height() - size) // 2, icon)
        time = time_of_day(choice.at)
        time_left = status_left - 10 - QFontMetrics(font).horizontalAdvance(time)
        time_rect = QRect(time_left - 10, box.y(), status_left - time_left, box.height())
        draw_right_aligned(painter, time_rect, time, font, theme.third)
        return time_left

    def _draw_subject(self, painter: QPainter, line: QRect, right: int, choice: DecisionEntry) -> None:
        """Draw the kind of a decision as a title, and then what it is about."""
        theme, fonts = self.look.theme, self.look.fonts
        text_left = EDGE + self.look.size(ICON) + 10
        title = translate(decision_style(choice.kind).title)
        title_width = draw_line(painter, line.adjusted(text_left, 0, 0, 0), title, fonts.strong, theme.text)
        left = text_left + title_width + 8
        rect = QRect(left, line.y(), max(0, right - left), line.height())
        is_call = choice.kind in {"permission", "allowed", "refused"}
        font, color = (fonts.mono, theme.second) if is_call else (fonts.text, theme.text)
        draw_line(painter, rect, self._rows.subject(choice), font, color)
