"""The facts below the title of the run page: folder, branch, model, time, turns and tokens of the session."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.domain.sessions import ACTIVE_STATUSES, SessionRow
from ui.base.step_presentation import translate
from ui.style.icons import pixmap
from ui.style.number_formats import amount, duration, money, short_folder
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.themed_widget import ThemedWidget
from ui.widgets.tooltip import tooltip_text

ICON: Final = 14
GAP: Final = 16
MIN_FOLDER_WIDTH: Final = 110  # pixels; if less would remain for the folder, other facts are left out
FOLDER_ICON: Final = "folder"
BRANCH_ICON: Final = "git-branch"
MODEL_ICON: Final = "cpu"
DURATION_ICON: Final = "timer"
TURNS_ICON: Final = "footprints"
USAGE_ICON: Final = "coins"
DROP_ORDER: Final = (TURNS_ICON, BRANCH_ICON, USAGE_ICON, MODEL_ICON)


class HeaderFact(NamedTuple):
    """A fact as text. Its icon also identifies which fact it is."""

    icon: str
    text: str


class FittedFact(NamedTuple):
    """A fact that is shown, and its width including the icon."""

    fact: HeaderFact
    width: int


def header_facts(row: SessionRow, duration_us: int, branch: str = "") -> list[HeaderFact]:
    """Return the facts shown below the title of a session."""
    turns = f"{row.turns} {translate('turn' if row.turns == 1 else 'turns')}" if row.turns else ""
    if row.status in ACTIVE_STATUSES and row.max_turns:
        turns = f"{translate('turn')} {row.turns} {translate('of')} {row.max_turns}"
    usage = f"{amount(row.tokens)} {translate('tok')}" if row.tokens else ""
    if usage and row.cost:
        usage += f" · {money(row.cost)}"
    facts = [
        HeaderFact(FOLDER_ICON, visible(short_folder(row.folder, str(Path.home())))),
        HeaderFact(BRANCH_ICON, visible(branch)),
        HeaderFact(MODEL_ICON, visible(row.model)),
        HeaderFact(DURATION_ICON, duration(duration_us)),
        HeaderFact(TURNS_ICON, turns),
        HeaderFact(USAGE_ICON, usage),
    ]
    return [fact for fact in facts if fact.text]


class FactLine(ThemedWidget):
    """A line of facts, each with an icon. The tooltip lists all facts, even those for which there is no room."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._facts: list[HeaderFact] = []
        self.setObjectName("run.facts")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_facts(self, facts: list[HeaderFact]) -> None:
        if facts != self._facts:
            self._facts = facts
            self.setAccessibleName(", ".join(fact.text for fact in facts))
            self.setToolTip(tooltip_text(" · ".join(fact.text for fact in facts)))
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(self._look.fonts.second).height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        with QPainter(self) as painter:
            metrics, icon_size = QFontMetrics(look.fonts.second), look.size(ICON)
            painter.setFont(look.fonts.second)
            fitting = self.fit_facts(lambda fact: metrics.horizontalAdvance(fact.text) + icon_size + 6)
            x = 0
            for fact, fact_width in fitting:
                picture = pixmap(fact.icon, look.theme.third, icon_size, self.devicePixelRatioF())
                painter.drawPixmap(x, (self.height() - icon_size) // 2, picture)
                text = metrics.elidedText(fact.text, Qt.TextElideMode.ElideMiddle, fact_width - icon_size - 5)
                painter.setPen(look.theme.second)
                painter.drawText(x + icon_size + 6, (self.height() + metrics.ascent() - metrics.descent()) // 2, text)
                x += fact_width + GAP

    def fit_facts(self, width_of: Callable[[HeaderFact], int]) -> list[FittedFact]:
        """Return the facts that fit into the line.

        If space is short, the provider is removed from the model name, then facts are left out in the order of
        `DROP_ORDER`, and finally the folder is elided.
        """
        facts, available_width = list(self._facts), self.width()
        min_width = self._look.size(MIN_FOLDER_WIDTH)

        def overflow() -> int:
            widths = [width_of(fact) for fact in facts]
            return sum(widths) + GAP * (len(widths) - 1) - available_width

        if overflow() > 0:
            facts = [_without_provider(fact) if fact.icon == MODEL_ICON else fact for fact in facts]
        for icon in DROP_ORDER:
            folder_width = width_of(facts[0]) if facts else 0
            if overflow() - max(0, folder_width - min_width) > 0:
                facts = [fact for fact in facts if fact.icon != icon]
        fitted = [FittedFact(fact, width_of(fact)) for fact in facts]
        if fitted:
            fitted[0] = fitted[0]._replace(width=fitted[0].width - max(0, overflow()))
        return fitted


def _without_provider(model: HeaderFact) -> HeaderFact:
    return model._replace(text=model.text.rpartition("/")[2])
