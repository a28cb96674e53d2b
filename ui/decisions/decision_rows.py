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
        theme, fonts, box = self.look.theme, self.look.fonts, QRect(option.rect)
        if QStyle.StateFlag.State_Selected in option.state:
            draw_selection(painter, box, theme)
        painter.fillRect(box.x() + EDGE, box.bottom(), box.width() - 2 * EDGE, 1, theme.line)
        look, size, ratio = decision_style(choice.kind), self.look.size(ICON), painter.device().devicePixelRatio()
        half = box.height() // 2
        upper_line = QRect(box.x(), box.y() + 5, box.width(), half - 4)
        lower_line = QRect(box.x(), box.y() + half - 1, box.width(), half - 5)
        kind_icon = pixmap(look.icon, theme.color(look.color), size, ratio)
        painter.drawPixmap(EDGE, upper_line.y() + (upper_line.height() - size) // 2, kind_icon)
        status_left = box.right() - EDGE - size + 1
        painter.drawPixmap(status_left, box.y() + (box.height() - size) // 2,
                           pixmap(status_icon(choice.status), theme.status(choice.status), size, ratio))  # fmt: skip
        time = time_of_day(choice.at)
        time_left = status_left - 10 - QFontMetrics(fonts.second).horizontalAdvance(time)
        time_rect = QRect(time_left - 10, box.y(), status_left - time_left, box.height())
        draw_right_aligned(painter, time_rect, time, fonts.second, theme.third)
        text_left = EDGE + size + 10
        title_rect = upper_line.adjusted(text_left, 0, 0, 0)
        title_width = draw_line(painter, title_rect, translate(look.title), fonts.strong, theme.text)
        x = text_left + title_width + 8
        mono = choice.kind in {"permission", "allowed", "refused"}
        text_rect = QRect(x, upper_line.y(), max(0, time_left - x - 20), upper_line.height())
        draw_line(
            painter,
            text_rect,
            self._rows.subject(choice),
            fonts.mono if mono else fonts.text,
            theme.second if mono else theme.text,
        )
        text_rect = QRect(text_left, lower_line.y(), max(0, time_left - text_left - 20), lower_line.height())
        draw_line(painter, text_rect, outcome_line(choice), fonts.second, theme.second)
