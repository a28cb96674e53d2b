"""The button that shows the permission mode of the session and opens the menu of modes."""

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QPoint, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.modes import MODES, Mode
from ui.style.theme import Look
from ui.widgets.button import Button


class ModeButton(Button):
    chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None, *, name: str = "composer.mode") -> None:
        super().__init__(look, "", name=name, tone="quiet", icon="shield", has_menu=True, parent=parent)
        self._menu = QMenu(self)
        self._menu.setObjectName(f"{name}s")
        self._menu.setAccessibleName(self.tr("Permission modes"))
        self._menu.setToolTipsVisible(True)
        group = QActionGroup(self)
        for mode in MODES:
            text = mode_text(mode)
            action = self._menu.addAction(f"{text.name}\t{text.description}")
            action.setObjectName(f"{name}.{mode}")
            action.setCheckable(True)
            action.setData(mode)
            action.triggered.connect(self._choose_handler(mode))
            group.addAction(action)
        self.clicked.connect(self.open_menu)
        self.restyle(look)
        self.show_mode("")

    @property
    def mode_menu(self) -> QMenu:
        return self._menu

    def show_mode(self, mode: str) -> None:
        """Show the name of a mode. An unknown or empty mode hides the button."""
        is_known = mode in MODES
        self.setVisible(is_known)
        if not is_known:
            return
        text = mode_text(mode)  # type: ignore[arg-type]  # one of MODES
        self.setText(text.name)
        self.updateGeometry()
        self.setAccessibleName(self.tr("Permission mode: {}").format(text.name))
        self.setToolTip(text.description)
        for action in self._menu.actions():
            action.setChecked(action.data() == mode)

    def open_menu(self) -> None:
        """Open the menu above the button, because the composer is at the bottom of the window."""
        menu_height = self._menu.sizeHint().height()
        self._menu.popup(self.mapToGlobal(QPoint(0, -menu_height - 4)))

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        self._menu.setFont(look.fonts.text)

    def _choose_handler(self, mode: Mode) -> Callable[[], None]:
        return lambda: self.chosen.emit(mode)


class ModeText(NamedTuple):
    """The name of a mode, and a description in one line."""

    name: str
    description: str


def mode_text(mode: Mode) -> ModeText:
    return {
        "ask-all": ModeText(_tr("Ask for everything"), _tr("asks before every action, including reading")),
        "ask": ModeText(_tr("Ask before edits and commands"), _tr("reads files without asking, also by commands")),
        "accept-edits": ModeText(_tr("Accept edits"), _tr("changes files without asking; asks before other commands")),
        "plan": ModeText(_tr("Plan only"), _tr("only reads; changes no files and runs no commands")),
        "auto": ModeText(_tr("Auto-approve, sandboxed"), _tr("edits and sandboxed commands run without asking")),
    }[mode]


def _tr(text: str) -> str:
    return QCoreApplication.translate("modes", text)
