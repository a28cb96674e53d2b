"""The frame of a question or permission request above the composer: a card or, if space is short, a single bar."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QMargins, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLayout, QSizePolicy, QVBoxLayout, QWidget

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
from ui.widgets.labels import hide_unless, label
from ui.widgets.stacking_row import StackingRow, plain_row

MAX_HEIGHT_SHARE: Final = 0.4  # part of the column's height that a card normally takes at most
MAX_MINIMUM_SHARE: Final = 0.5  # part of the column's height that a card may take if its form cannot be lower
MIN_CARD_HEIGHT: Final = 136  # pixels; a lower card would not even show one option
ICON: Final = 16
TITLE_WIDTH: Final = 150  # pixels; if less is left for the title beside the age, the age moves below the title
HIGHLIGHT_MS: Final = 1_200


class AskCard(QFrame):
    """A card that takes at most `height_share` of the height of its column.

    If space is short, `fit` first collapses the form, then makes it scroll, and finally shows a bar instead. When the
    card appears, it is announced, unless it gets the focus at once: a screen reader then reads it anyway.
    """

    postponed = Signal(str)
    dialog_requested = Signal(str)

    form: QuestionForm | PermissionForm

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
        self.height_share = MAX_HEIGHT_SHARE
        self._column_height = 0
        self._height_limit = 0
        self._bar_only = False
        self.announces_itself = True
        self._resize_timer = QTimer(self, singleShot=True, interval=0)
        self._resize_timer.timeout.connect(self._refit_after_resize)
        self._announcement_timer = QTimer(self, singleShot=True, interval=0)
        self._announcement_timer.timeout.connect(self._announce)
        self._highlight_timer = QTimer(self, singleShot=True, interval=HIGHLIGHT_MS)
        self._highlight_timer.timeout.connect(self._reset_frame)
        self.setObjectName(f"{summary.kind}.card")
        self.setAccessibleName(summary.accessible_text)
        self.setAccessibleDescription(summary.reason)
        self.setProperty("surface", "background")
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._title_label = label(summary.title, look.fonts.bold, name=summary.title_object_name, wrap=True)
        self._reason_label = label(summary.reason, look.fonts.text, "second", name=f"{summary.kind}.why", wrap=True)
        hide_unless(self._reason_label, bool(summary.reason))
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
        hide_unless(self._badge_label, bool(summary.badge))
        self.form = self._make_form(self._build_header())
        self._build()
        self.form.postponed.connect(self.postponed)
        self.form.layout_changed.connect(self._refit)
        self._open_button.clicked.connect(lambda: self.dialog_requested.emit(summary.id))
        self.restyle(look)

    def fit(self, column_height: int, max_height: int = 0) -> None:
        """Choose the most detailed layout that fits into a column `column_height` pixels high.

        The layouts are the expanded form, the collapsed form, which scrolls if necessary, and the bar. A form may take
        `height_share` of the column. If it cannot be that low, for example because it has a field for the reason, it
        may take up to `MAX_MINIMUM_SHARE`, or the whole column if the bar would hide a choice that the user has made.
        `max_height` is the height that the other widgets of the column leave (0 if unknown); no form is higher.
        """
        self._column_height = column_height
        self._height_limit = max_height or column_height
        min_card_height = self._look.size(MIN_CARD_HEIGHT)
        allowed = self._allowed_height(self.height_share)
        self._set_collapsed(False)
        needed = self._needed_height()
        minimum = self._minimum_height()
        if needed > allowed:
            self._set_collapsed(True)
            needed = self._needed_height()
            if self._has_chosen():  # the collapsed form may be lower: it hides the scope while a reason is typed
                minimum = self._minimum_height()
            minimum = max(minimum, min(needed, self._height_while_scrolling()))
        share_of_minimum = 1.0 if self._has_chosen() else max(MAX_MINIMUM_SHARE, self.height_share)
        if allowed >= min_card_height and minimum <= self._allowed_height(share_of_minimum):
            allowed = max(allowed, minimum)
        if self._bar_only or allowed < minimum:
            self._show_bar()
        else:
            self._show_card(min(needed, allowed))
        self.updateGeometry()

    def _show_bar(self) -> None:
        self._bar.show()
        self._card.hide()
        self.setMaximumHeight(self._bar.sizeHint().height() + self._margins().height())

    def _show_card(self, max_height: int) -> None:
        self._bar.hide()
        self._card.show()
        self.setMaximumHeight(max_height)

    def _allowed_height(self, share: float) -> int:
        """Return a share of the column's height in pixels, limited to the height that the other widgets leave."""
        return min(int(self._column_height * share), self._height_limit)

    def set_bar_only(self, bar_only: bool) -> None:
        """Set whether only the bar is shown, for example because a tab other than the steps is open."""
        if bar_only != self._bar_only:
            self._bar_only = bar_only
            self._refit()

    def focus_form(self) -> None:
        """Focus the form or, while only the bar is shown, its button."""
        target = self._open_button if self._card.isHidden() else self.form
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def highlight(self) -> None:
        """Draw the frame briefly in the color of the waiting status."""
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
        self._title_label.setFont(fonts.bold)
        self._title_label.setMinimumWidth(look.size(TITLE_WIDTH))
        self._reason_label.setFont(fonts.text)
        self.age.setFont(fonts.second)
        self._badge_label.setFont(fonts.caption)
        self._bar_text.setFont(fonts.strong)
        self._open_button.restyle(look)
        self.form.restyle(look)
        self._update_icon()

    def _make_form(self, header: QWidget) -> QuestionForm | PermissionForm:
        raise NotImplementedError

    def _has_chosen(self) -> bool:
        """Return whether the user has made a choice or opened a field that the bar would hide."""
        return False

    def _refit(self) -> None:
        if self._column_height:
            self.fit(self._column_height, self._height_limit)

    def _refit_after_resize(self) -> None:
        """Choose the layout again, and let all outer layouts measure again.

        While a resize is under way, inner layouts may measure with their old widths, and outer ones miss the change.
        """
        self._refit()
        ancestor = self.parentWidget()
        while ancestor is not None and not ancestor.isWindow():
            if layout := ancestor.layout():
                layout.invalidate()
            ancestor = ancestor.parentWidget()

    def _build(self) -> None:
        theme = self._look.theme
        kind = self._summary.kind
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
        top_left = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft
        badge_and_age = plain_row(self._badge_label, self.age, spacing=12)
        column.addWidget(StackingRow(self._title_label, badge_and_age, spacing=12, alignment=top_left))
        column.addWidget(self._reason_label)
        return header

    def _build_bar(self) -> None:
        look = self._look
        row = QHBoxLayout(self._bar)
        row.setContentsMargins(14, 5, 6, 5)
        row.setSpacing(10)
        self._bar_icon = QLabel()
        self._bar_text = ElidedLabel(self._summary.bar_text, look.fonts.strong)
        self._open_button = Button(look, self.tr("Answer…"), name=f"{self._summary.kind}.open")
        row.addWidget(self._bar_icon)
        row.addWidget(self._bar_text, 1)
        row.addWidget(self._open_button)

    def _update_icon(self) -> None:
        self._bar_icon.setPixmap(
            pixmap(self._summary.icon, self._look.theme.waiting, self._look.size(ICON), self.devicePixelRatioF())
        )

    def _margins(self) -> QSize:
        """Return the margins around the card: their total width and their total height."""
        return _sum_of_margins(self.layout())

    def _set_collapsed(self, collapsed: bool) -> None:
        """Collapse or expand the form at once, so that size hints asked for afterwards are those of the new layout."""
        self.form.set_collapsed(collapsed)
        # Qt would invalidate the outer layouts only later, when it processes events.
        for layout in self.findChildren(QLayout):
            layout.invalidate()
        for widget in reversed(self.findChildren(QWidget)):
            widget.updateGeometry()

    def _announce(self) -> None:
        focused: QWidget | None = self.window().focusWidget()
        if focused is None or not self.isAncestorOf(focused):
            announce(self, self.accessibleName())

    def _needed_height(self) -> int:
        margins = self._margins()
        return self._card.heightForWidth(self.width() - margins.width()) + margins.height()

    def _minimum_height(self) -> int:
        """Return the minimum height of the card as it is now, collapsed or not."""
        height = self._card.minimumSizeHint().height() + self._margins().height()
        return max(self._look.size(MIN_CARD_HEIGHT), height)

    def _height_while_scrolling(self) -> int:
        """Return the minimum height of the card if the content of its form scrolls."""
        margins = self._margins() + _sum_of_margins(self._card.layout())
        return self.form.height_while_scrolling(self.width() - margins.width()) + margins.height()

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave the request open on Esc if only the bar is shown; otherwise, the form handles the key."""
        if event.key() == Qt.Key.Key_Escape and self._bar.isVisible():
            self.postponed.emit(self._summary.id)
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(480, min(self._needed_height() or 200, self.maximumHeight()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.announces_itself:
            self.announces_itself = False
            self._announcement_timer.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._refit()
            self._resize_timer.start()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._update_icon()


def _sum_of_margins(layout: QLayout | None) -> QSize:
    margins = layout.contentsMargins() if layout else QMargins()
    return QSize(margins.left() + margins.right(), margins.top() + margins.bottom())
