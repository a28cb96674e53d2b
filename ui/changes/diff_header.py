"""The header of a diff: the name of the file, which of its changes are shown, and buttons for them."""

from PySide6.QtCore import QEvent, QMargins, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import hairline

# Characters of the file name that must be visible; if not, buttons lose their texts or move below the name.
NAME_CHARACTERS = 24
MARGINS = QMargins(14, 7, 12, 7)
SIDE_MARGINS = MARGINS.left() + MARGINS.right()
SPACING = 6


class DiffHeader(QWidget):
    """The header.

    If its width is too small, the buttons show only their icons; if that is not enough, they move below.
    """

    hunk_requested = Signal(int)
    """Go to the next (1) or previous (-1) hunk."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = ElidedLabel("", look.fonts.mono, name="changes.name")
        self._name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.scope = Button(look, "", name="changes.which", tone="quiet", has_menu=True)
        self.scope.setToolTip(self.tr("Show all changes, or those of one step"))
        self.scope.allow_shrinking()
        self.side_by_side = Button(look, "", name="changes.shape", tone="quiet", icon="rows-2")
        self.keep = Button(look, "", name="changes.keep", tone="quiet", icon="check")
        self.commit = Button(look, self.tr("Commit…"), name="changes.commit", tone="quiet", icon="git-branch")
        self.commit.setToolTip(self.tr("Commit the changes, push them, or open a pull request"))
        self.commit.hide()
        self.open = Button(look, "", name="changes.open", tone="quiet", icon="pencil")
        self.open.setAccessibleName(self.tr("Open in editor"))
        self.open.setToolTip(self.tr("Open the file in your editor at the selected line (O)"))
        self._previous = Button(look, "", name="changes.previous", tone="quiet", icon="chevron-up")
        self._next = Button(look, "", name="changes.next", tone="quiet", icon="chevron-down")
        for button, text, by in (
            (self._previous, self.tr("Previous hunk (P), or the previous file behind the first one"), -1),
            (self._next, self.tr("Next hunk (N), or the next file behind the last one"), 1),
        ):
            button.setToolTip(text)
            button.setAccessibleName(text)
            button.clicked.connect(lambda _=False, by=by: self.hunk_requested.emit(by))
        self._actions = (self.keep, self.side_by_side, self.commit, self.open, self._previous, self._next)
        self._lay_out()

    def _lay_out(self) -> None:
        self._rows = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._rows.setContentsMargins(MARGINS)
        self._rows.setSpacing(SPACING)
        title, actions = QHBoxLayout(), QHBoxLayout()
        for row, widgets in ((title, (self._name, self.scope)), (actions, self._actions)):
            row.setSpacing(SPACING)
            for widget in widgets:
                row.addWidget(widget)
        title.addStretch(1)
        self._rows.addLayout(title, 1)
        self._rows.addLayout(actions)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._rows)
        column.addWidget(hairline())

    def show_file(self, path: str, scope: str, *, side_by_side: bool, has_room: bool = True) -> None:
        """Show the name of a file, and in `scope` which of its changes are shown.

        `side_by_side` says whether the user wants the old and the new text in two columns, `has_room` whether the panel
        is wide enough for that.
        """
        self._name.show_text(visible(path))
        self.scope.setText(scope)
        self.scope.setAccessibleName(scope)
        is_split = side_by_side and has_room
        text = self.tr("Side by side") if is_split else self.tr("Unified")
        accessible_name = text
        tooltip = self.tr("Switch between unified and side-by-side diff (S)")
        if side_by_side and not has_room:
            accessible_name = self.tr("Unified, because there is too little width for side by side")
            tooltip = f"{accessible_name}\n{tooltip}"
        self.side_by_side.setText(text)
        self.side_by_side.setAccessibleName(accessible_name)
        self.side_by_side.setToolTip(tooltip)
        self.side_by_side.set_icon_name("columns-2" if is_split else "rows-2")
        self._fit()

    def show_kept(self, kept: bool) -> None:
        """Change the button that keeps the hunks of the file: if all are `kept`, it shows them again."""
        text = self.tr("Keep all")
        tooltip = self.tr("Keep all hunks of this file, which folds them (Shift+K)")
        if kept:
            text = self.tr("Show kept hunks")
            tooltip = self.tr("Show the hunks of this file again")
        self.keep.setText(text)
        self.keep.setAccessibleName(text)
        self.keep.setToolTip(tooltip)
        self._fit()

    def restyle(self, look: Look) -> None:
        self._name.setFont(look.fonts.mono)
        for button in (self.scope, *self._actions):
            button.restyle(look)
        self._fit()

    def _fit(self) -> None:
        shown = [button for button in self._actions if not button.isHidden()]
        gaps = SIDE_MARGINS + SPACING * (len(shown) + 1)
        available = self.width() - gaps - self._name_width() - self.scope.full_width()
        icon_only = sum(button.full_width() for button in shown) > available
        for button in self._actions:
            button.set_icon_only(icon_only)
        is_stacked = icon_only and sum(button.sizeHint().width() for button in shown) > available
        directions = QBoxLayout.Direction
        self._rows.setDirection(directions.TopToBottom if is_stacked else directions.LeftToRight)
        title_width = SIDE_MARGINS + self._name_width() + SPACING + self.scope.full_width()
        self._show_scope_as_icon(is_stacked and title_width > self.width())

    def _show_scope_as_icon(self, icon_only: bool) -> None:
        self.scope.set_icon_name("history" if icon_only else "")
        self.scope.set_icon_only(icon_only)

    def _name_width(self) -> int:
        characters = NAME_CHARACTERS * self._name.fontMetrics().averageCharWidth()
        return min(self._name.sizeHint().width(), characters)

    # Overridden Qt methods

    def minimumSizeHint(self) -> QSize:
        """Return a small width.

        The buttons adapt to the width, so they must not determine the minimum width of the window.
        """
        shown = [button for button in self._actions if not button.isHidden()]
        icons_width = sum(button.sizeHint().height() for button in shown) + SPACING * len(shown) + SIDE_MARGINS
        return QSize(icons_width, super().minimumSizeHint().height())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a button has been shown or hidden, so the layout has changed
            self._fit()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
