"""A push button with an icon, and its keyboard shortcut painted beside the label."""

from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QSizePolicy, QStyle, QStyleOptionButton, QWidget

from ui.style.icons import pixmap
from ui.style.theme import Look, blend, set_style_properties
from ui.widgets.labels import ENTER_KEYS
from ui.widgets.paint import draw_frame

ICON: Final = 16
ARROW: Final = 14
GAP: Final = 8
PADDING: Final = 11
CHIP_PADDING: Final = 5
SHRUNK_WIDTH: Final = 90  # pixels; minimum width of a button that may elide its text


class Button(QPushButton):
    """A push button.

    `tone` is primary, quiet, stop, learnt, waiting or "" for a normal button; `hint` is the shortcut to show.
    """

    def __init__(
        self,
        look: Look,
        text: str,
        *,
        name: str,
        tone: str = "",
        icon: str = "",
        hint: str = "",
        has_menu: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._look = look
        self._tone = tone
        self._icon = icon
        self._hint = ""
        self._has_menu = has_menu
        self._icon_only = False
        self._shrunk_width = 0  # pixels at the usual text size; 0 if the button may not shrink
        self._elide_mode = Qt.TextElideMode.ElideRight
        self.setObjectName(name)
        self.setAccessibleName(text)
        self.setAutoDefault(False)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        if tone:
            self.setProperty("tone", tone)
        self.set_shortcut_hint(hint)
        self._fit_height()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._fit_height()
        self.updateGeometry()
        self.update()

    def _fit_height(self) -> None:
        """Set the minimum height from the font, because a layout without enough space would squeeze the button."""
        self.setFont(self._look.fonts.strong)
        self.setMinimumHeight(self.sizeHint().height())

    def set_tone(self, tone: str) -> None:
        if tone != self._tone:
            self._tone = tone
            set_style_properties(self, tone=tone)
            self.update()

    def set_icon_name(self, name: str) -> None:
        self._icon = name
        self.updateGeometry()
        self.update()

    def set_elide_mode(self, mode: Qt.TextElideMode) -> None:
        """Set which part of a text is elided if it is too long."""
        self._elide_mode = mode

    def set_shortcut_hint(self, hint: str) -> None:
        if hint != self._hint:
            self._hint = hint
            self.setAccessibleDescription(self.tr("Shortcut: {}").format(hint) if hint else "")
            self.updateGeometry()
            self.update()

    def allow_shrinking(self, min_width: int = SHRUNK_WIDTH) -> None:
        """Let the button elide its text if there is not enough room, instead of requiring the full width.

        `min_width` is in pixels at the usual text size.
        """
        self._shrunk_width = min_width
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def has_icon(self) -> bool:
        return bool(self._icon)

    def full_width(self) -> int:
        """Return the width that the button needs to show its whole text."""
        was_icon_only, self._icon_only = self._icon_only, False
        width = self.sizeHint().width()
        self._icon_only = was_icon_only
        return width

    def set_icon_only(self, icon_only: bool) -> None:
        """Set whether only the icon is shown. The label then becomes the tooltip, unless there is one already."""
        if icon_only != self._icon_only:
            self._icon_only = icon_only
            if self.toolTip() in ("", self.accessibleName()):
                self.setToolTip(self.accessibleName() if icon_only else "")
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        height = max(28, QFontMetrics(self._look.fonts.strong).height() + 12)
        return QSize(round(self._content_width()) + 2 * PADDING, height)

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        min_width = self._look.size(self._shrunk_width) if self._shrunk_width else hint.width()
        return QSize(min(hint.width(), min_width), hint.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Click the button on Enter, even in a dialog with another default button.

        Leave Ctrl+Enter to the form around it.
        """
        if event.key() not in ENTER_KEYS:
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
        elif not event.isAutoRepeat():
            self.click()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            option = QStyleOptionButton()
            self.initStyleOption(option)
            option.text = ""
            if not option.state & QStyle.StateFlag.State_KeyboardFocusChange:
                # The focus ring is shown only for keyboard focus, because it is distracting after a click.
                option.state &= ~QStyle.StateFlag.State_HasFocus
            self.style().drawControl(QStyle.ControlElement.CE_PushButton, option, painter, self)
            if self._tone == "primary" and option.state & QStyle.StateFlag.State_HasFocus:
                draw_frame(painter, self.rect().adjusted(2, 2, -2, -2), 4, None, self._text_color())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint_content(painter)

    def _paint_content(self, painter: QPainter) -> None:
        look, color = self._look, self._text_color()
        content_width = self._content_width(hint=self._shows_hint())
        left: float = PADDING
        missing_width = 0.0
        if content_width <= self.width():
            left = (self.width() - content_width) / 2
        else:
            missing_width = content_width + 2 * PADDING - self.width()
        middle = self.height() / 2
        if self._icon:
            size = look.size(ICON)
            drawn = pixmap(self._icon, color, size, self.devicePixelRatioF())
            painter.drawPixmap(QPointF(round(left), round(middle - size / 2)), drawn)
            left += size + (GAP if self.text() and not self._icon_only else 0)
        if self.text() and not self._icon_only:
            metrics = QFontMetrics(look.fonts.strong)
            width = metrics.horizontalAdvance(self.text()) - missing_width
            text = metrics.elidedText(self.text(), self._elide_mode, int(width) + 1)
            painter.setFont(look.fonts.strong)
            painter.setPen(color)
            rect = QRectF(left, 0, width + 1, self.height())
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
            left += width + GAP
        if self._shows_hint():
            self._paint_hint(painter, left, middle, color)
        if self._has_menu:
            size = look.size(ARROW)
            drawn = pixmap("chevron-down", color, size, self.devicePixelRatioF())
            painter.drawPixmap(QPointF(round(left), round(middle - size / 2)), drawn)

    def _paint_hint(self, painter: QPainter, left: float, middle: float, color: QColor) -> None:
        font = self._look.fonts.caption
        metrics = QFontMetrics(font)
        height = metrics.height() + 3
        chip = QRectF(
            round(left) + 0.5, round(middle - height / 2) + 0.5, metrics.horizontalAdvance(self._hint) + 10, height
        )
        painter.setPen(QPen(blend(color, self._fill(), 0.35), 1))
        painter.drawRoundedRect(chip, 4, 4)
        painter.setFont(font)
        painter.setPen(color)
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, self._hint)

    def _shows_hint(self) -> bool:
        """Return whether there is room for the shortcut, which is the first part that is left out."""
        return bool(self._hint) and not self._icon_only and self._content_width() <= self.width()

    def _content_width(self, *, hint: bool = True) -> float:
        fonts = self._look.fonts
        parts = []
        if self._icon:
            parts.append(self._look.size(ICON))
        if self.text() and not self._icon_only:
            parts.append(QFontMetrics(fonts.strong).horizontalAdvance(self.text()))
        if self._hint and hint and not self._icon_only:
            parts.append(QFontMetrics(fonts.caption).horizontalAdvance(self._hint) + 2 * CHIP_PADDING)
        if self._has_menu:
            parts.append(self._look.size(ARROW))
        return sum(parts) + GAP * (len(parts) - 1)

    def _text_color(self) -> QColor:
        theme = self._look.theme
        if not self.isEnabled():
            return theme.third
        colors = {
            "primary": theme.on_accent,
            "quiet": theme.second,
            "stop": theme.failed,
            "learnt": theme.learned,
            "waiting": theme.waiting,
        }
        return colors.get(self._tone, theme.text)

    def _fill(self) -> QColor:
        theme = self._look.theme
        if not self.isEnabled():
            return theme.panel
        fills = {"primary": theme.accent, "quiet": theme.panel}
        return fills.get(self._tone, theme.raised)
