"""The frame of a question or permission request above the composer: a card, or a single bar if space is short."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from core.domain.clock import now as wall_clock
from ui.ask.age_label import AgeLabel
from ui.ask.permission_form import PermissionForm
from ui.ask.question_form import QuestionForm
from ui.ask.request_summary import RequestSummary
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label

MAX_HEIGHT_SHARE: Final = 0.4
MAX_MINIMUM_SHARE: Final = 0.5
MIN_CARD_HEIGHT: Final = 136  # pixels; with less space than this no option would be visible
ICON: Final = 16
HIGHLIGHT_MS: Final = 1_200


class AskCard(QFrame):
    """A card that takes at most two fifths of the height of its column.

    If space is short, `fit` collapses the form; it scrolls only if that is not enough.
    """

    postponed = Signal(str)
    dialog_requested = Signal(str)

    form: "QuestionForm | PermissionForm"

    def __init__(
        self,
        look: Look,
        summary: RequestSummary,
        *,
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._summary = summary
        self._clock = clock
        self._available_height = self._room = 0
        self._bar_only = False
        self._announced = False
        self._highlight_timer = QTimer(self, singleShot=True, interval=HIGHLIGHT_MS)
        self._highlight_timer.timeout.connect(self._reset_frame)
        self.setObjectName(f"{summary.kind}.card")
        self.setAccessibleName(summary.accessible_text)
        self.setAccessibleDescription(summary.reason)
        self.setProperty("surface", "background")
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._head = label(summary.title, look.fonts.bold, name=summary.title_object_name, wrap=True)
        self._reason_label = label(summary.reason, look.fonts.text, "second", name=f"{summary.kind}.why", wrap=True)
        self._reason_label.setVisible(bool(summary.reason))
        self.age = AgeLabel(
            self.tr("asked {}"),
            summary.asked_at,
            show_waiting=True,
            expires_at=summary.expires_at,
            on_expiry=summary.on_expiry,
            font=look.fonts.second,
            clock=clock,
        )
        self._badge_label = label(summary.badge, look.fonts.caption, "badge", name=f"{summary.kind}.place")
        self._badge_label.setVisible(bool(summary.badge))
        self.form = self._make_form(self._build_header())
        self._build()
        self.form.postponed.connect(self.postponed)
        self.form.layout_changed.connect(self._refit)
        self._open.clicked.connect(lambda: self.dialog_requested.emit(summary.id))
        self.restyle(look)

    def fit(self, column_height: int, room: int = 0) -> None:
        """Choose the most detailed layout that fits the card's share of a column `column_height` pixels high.

        The other parts of the column leave `room` pixels, if it is given. A card that cannot be smaller, such as one
        with a field for the reason, may have a little more than its share.
        """
        self._available_height, self._room = column_height, room
        limit = room or column_height
        max_height = min(int(column_height * MAX_HEIGHT_SHARE), limit)
        usual = self._look.size(MIN_CARD_HEIGHT)
        min_height = max(usual, self._card.minimumSizeHint().height() + self._margins())
        if usual <= max_height and min_height <= min(int(column_height * MAX_MINIMUM_SHARE), limit):
            max_height = max(max_height, min_height)
        use_bar = max_height < min_height or self._bar_only
        self._bar.setVisible(use_bar)
        self._card.setVisible(not use_bar)
        if use_bar:
            self.setMaximumHeight(self._bar.sizeHint().height() + self._margins())
            return
        needed = self._height_when_collapsed(False)
        if needed > max_height:
            needed = self._height_when_collapsed(True)
        self.setMaximumHeight(min(needed, max_height))
        self.updateGeometry()

    def set_bar_only(self, on: bool) -> None:
        """Show only the bar, for example while a tab other than the steps is open."""
        if on != self._bar_only:
            self._bar_only = on
            self._refit()

    def focus_form(self) -> None:
        (self._open if self._card.isHidden() else self.form).setFocus(Qt.FocusReason.OtherFocusReason)

    def highlight(self) -> None:
        """Briefly draw the whole frame in the color of the waiting status."""
        theme = self._look.theme
        for frame in (self._card, self._bar):
            frame.set_colors(fill=theme.panel, line=theme.waiting, edge=theme.waiting)
        self._highlight_timer.start()

    def _reset_frame(self) -> None:
        theme = self._look.theme
        for frame in (self._card, self._bar):
            frame.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)

    def request_id(self) -> str:
        return self._summary.id

    def restyle(self, look: Look) -> None:
        self._look = look
        fonts = look.fonts
        self._reset_frame()
        self._head.setFont(fonts.bold)
        self._reason_label.setFont(fonts.text)
        self.age.setFont(fonts.second)
        self._badge_label.setFont(fonts.caption)
        self._bar_text.setFont(fonts.strong)
        self._open.restyle(look)
        self.form.restyle(look)
        self._update_icon()

    def _make_form(self, head: QWidget) -> "QuestionForm | PermissionForm":
        raise NotImplementedError

    def _refit(self) -> None:
        if self._available_height:
            self.fit(self._available_height, self._room)

    def _build(self) -> None:
        theme, kind = self._look.theme, self._summary.kind
        self._card = AccentFrame(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._card.setObjectName(f"{kind}.frame")
        card_layout = QVBoxLayout(self._card)
        card_layout.setContentsMargins(16, 12, 12, 12)
        card_layout.addWidget(self.form)
        self._bar = AccentFrame(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._bar.setObjectName(f"{kind}.bar")
        self._build_bar()
        self._bar.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 8, 20, 0)
        layout.setSpacing(0)
        layout.addWidget(self._card)
        layout.addWidget(self._bar)

    def _build_header(self) -> QWidget:
        header = QWidget()
        column = QVBoxLayout(header)
        column.setContentsMargins(0, 0, 0, 2)
        column.setSpacing(2)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self._head, 1)
        row.addWidget(self._badge_label, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.age, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(row)
        column.addWidget(self._reason_label)
        return header

    def _build_bar(self) -> None:
        look = self._look
        row = QHBoxLayout(self._bar)
        row.setContentsMargins(14, 5, 6, 5)
        row.setSpacing(10)
        self._bar_icon = QLabel()
        self._bar_text = ElidedLabel(self._summary.bar_text, look.fonts.strong)
        self._open = Button(look, self.tr("Answer…"), name=f"{self._summary.kind}.open")
        row.addWidget(self._bar_icon)
        row.addWidget(self._bar_text, 1)
        row.addWidget(self._open)

    def _update_icon(self) -> None:
        self._bar_icon.setPixmap(
            pixmap(self._summary.icon, self._look.theme.waiting, self._look.size(ICON), self.devicePixelRatioF())
        )

    def _margins(self) -> int:
        return self.contentsMargins().top() + self.contentsMargins().bottom() + 8

    def _height_when_collapsed(self, collapsed: bool) -> int:
        """Collapse or expand the form; return the height that the card needs then."""
        self.form.set_collapsed(collapsed)
        for part in reversed(self.findChildren(QWidget)):
            part.updateGeometry()  # by themselves, the outer layouts learn of the change only when Qt handles events
        return self._needed_height()

    def _needed_height(self) -> int:
        layout = self.layout()
        return layout.totalHeightForWidth(self.width()) if layout else 0

    # Qt overrides

    def sizeHint(self) -> QSize:
        return QSize(480, min(self._needed_height() or 200, self.maximumHeight()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._announced:
            self._announced = True
            announce(self, self.accessibleName())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._available_height and event.size().width() != event.oldSize().width():
            self.fit(self._available_height, self._room)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._update_icon()
