"""What stands above the composer and waits for a person: a card, or a single bar where there is no room for one."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from core.domain.clock import now as wall_clock
from ui.ask.age import AgeLabel
from ui.ask.consent_form import ConsentForm
from ui.ask.form import QuestionForm
from ui.ask.said import Said
from ui.icons import pixmap
from ui.theme import Look
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.edge import EdgeFrame
from ui.widgets.elided import ElidedLabel
from ui.widgets.words import label

SHARE: Final = 0.4
BAR_BELOW: Final = 136  # less room than this shows nothing of the options
ICON: Final = 16
LIT_MS: Final = 1_200


class AskCard(QFrame):
    """Tell it with `fit` how high the column is: it takes at most two fifths, folding its form before scrolling."""

    later = Signal(str)
    dialog_wanted = Signal(str)

    form: "QuestionForm | ConsentForm"

    def __init__(
        self, look: Look, said: Said, *, clock: Callable[[], int] = wall_clock, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._look, self._said, self._clock = look, said, clock
        self._room = 0
        self._barred = False
        self._announced = False
        self._lit = QTimer(self, singleShot=True, interval=LIT_MS)
        self._lit.timeout.connect(self._dim)
        self.setObjectName(f"{said.kind}.card")
        self.setAccessibleName(said.spoken)
        self.setAccessibleDescription(said.why)
        self.setProperty("surface", "background")
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._head = label(said.title, look.fonts.bold, name=said.head, wrap=True)
        self._why = label(said.why, look.fonts.text, "second", name=f"{said.kind}.why", wrap=True)
        self._why.setVisible(bool(said.why))
        self.age = AgeLabel(
            self.tr("asked {}"), said.asked, says_waiting=True, until=said.until, then=said.then,
            font=look.fonts.second, clock=clock,
        )  # fmt: skip
        self._place = label(said.place, look.fonts.caption, "badge", name=f"{said.kind}.place")
        self._place.setVisible(bool(said.place))
        self.form = self._make_form(self._head_part())
        self._build()
        self.form.later.connect(self.later)
        self.form.chosen.connect(self._refit)
        self._open.clicked.connect(lambda: self.dialog_wanted.emit(said.id))
        self.restyle(look)

    def fit(self, room: int) -> None:
        """Find the fullest form that stays within its share of a column of this height."""
        self._room = room
        most = int(room * SHARE)
        least = max(self._look.size(BAR_BELOW), self._card.minimumSizeHint().height() + self._margins())
        bar = most < least or self._barred
        self._bar.setVisible(bar)
        self._card.setVisible(not bar)
        if bar:
            self.setMaximumHeight(self._bar.sizeHint().height() + self._margins())
            return
        self.form.fold(False)
        needed = self._needed()
        if needed > most:
            self.form.fold(True)
            needed = self._needed()
        self.setMaximumHeight(min(needed, most))
        self.updateGeometry()

    def bar(self, on: bool) -> None:
        """Only the bar, where something else is looked at."""
        if on != self._barred:
            self._barred = on
            self._refit()

    def take_keyboard(self) -> None:
        (self._open if self._card.isHidden() else self.form).setFocus(Qt.FocusReason.OtherFocusReason)

    def highlight(self) -> None:
        """For a moment its whole frame has the colour of waiting."""
        theme = self._look.theme
        for frame in (self._card, self._bar):
            frame.recolour(fill=theme.panel, line=theme.waiting, edge=theme.waiting)
        self._lit.start()

    def _dim(self) -> None:
        theme = self._look.theme
        for frame in (self._card, self._bar):
            frame.recolour(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)

    def name(self) -> str:
        """The id of what is asked."""
        return self._said.id

    def restyle(self, look: Look) -> None:
        self._look = look
        fonts = look.fonts
        self._dim()
        self._head.setFont(fonts.bold)
        self._why.setFont(fonts.text)
        self.age.setFont(fonts.second)
        self._place.setFont(fonts.caption)
        self._bar_text.setFont(fonts.strong)
        self._open.restyle(look)
        self.form.restyle(look)
        self._tint()

    def _make_form(self, head: QWidget) -> "QuestionForm | ConsentForm":
        raise NotImplementedError

    def _refit(self) -> None:
        if self._room:
            self.fit(self._room)

    def _build(self) -> None:
        theme, kind = self._look.theme, self._said.kind
        self._card = EdgeFrame(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._card.setObjectName(f"{kind}.frame")
        inside = QVBoxLayout(self._card)
        inside.setContentsMargins(16, 12, 12, 12)
        inside.addWidget(self.form)
        self._bar = EdgeFrame(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._bar.setObjectName(f"{kind}.bar")
        self._build_bar()
        self._bar.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 8, 20, 0)
        column.setSpacing(0)
        column.addWidget(self._card)
        column.addWidget(self._bar)

    def _head_part(self) -> QWidget:
        part = QWidget()
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 0, 0, 2)
        column.setSpacing(2)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self._head, 1)
        row.addWidget(self._place, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.age, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(row)
        column.addWidget(self._why)
        return part

    def _build_bar(self) -> None:
        look = self._look
        row = QHBoxLayout(self._bar)
        row.setContentsMargins(14, 5, 6, 5)
        row.setSpacing(10)
        self._bar_icon = QLabel()
        self._bar_text = ElidedLabel(self._said.bar, look.fonts.strong)
        self._open = Button(look, self.tr("Answer…"), name=f"{self._said.kind}.open")
        row.addWidget(self._bar_icon)
        row.addWidget(self._bar_text, 1)
        row.addWidget(self._open)

    def _tint(self) -> None:
        self._bar_icon.setPixmap(
            pixmap(self._said.icon, self._look.theme.waiting, self._look.size(ICON), self.devicePixelRatioF())
        )

    def _margins(self) -> int:
        return self.contentsMargins().top() + self.contentsMargins().bottom() + 8

    def _needed(self) -> int:
        layout = self.layout()
        return layout.totalHeightForWidth(self.width()) if layout else 0

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(480, min(self._needed() or 200, self.maximumHeight()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._announced:
            self._announced = True
            announce(self, self.accessibleName())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._room and event.size().width() != event.oldSize().width():
            self.fit(self._room)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._tint()
