"""How much a session asks: the mode it is in, and the choice of another, each with one plain line."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QPoint, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.modes import MODES, Mode
from ui.theme import Look
from ui.widgets.button import Button


class ModeButton(Button):
    chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, "", name="composer.mode", tone="quiet", icon="shield", opens=True, parent=parent)
        self._menu = QMenu(self)
        self._menu.setObjectName("composer.modes")
        self._menu.setAccessibleName(self.tr("Modes"))
        self._menu.setToolTipsVisible(True)
        group = QActionGroup(self)
        for mode in MODES:
            name, line = mode_words(mode)
            action = self._menu.addAction(f"{name}\t{line}")
            action.setObjectName(f"composer.mode.{mode}")
            action.setCheckable(True)
            action.setData(mode)
            action.triggered.connect(self._chooser(mode))
            group.addAction(action)
        self.clicked.connect(self.open_menu)
        self.restyle(look)
        self.show_mode("")

    @property
    def menu_of_modes(self) -> QMenu:
        return self._menu

    def show_mode(self, mode: str) -> None:
        known = mode in MODES
        self.setVisible(known)
        if not known:
            return
        name, line = mode_words(mode)  # type: ignore[arg-type]  # one of MODES
        self.setText(name)
        self.updateGeometry()
        self.setAccessibleName(self.tr("Mode: {}").format(name))
        self.setToolTip(line)
        for action in self._menu.actions():
            action.setChecked(action.data() == mode)

    def open_menu(self) -> None:
        """Above the button: the composer stands at the foot of the window."""
        high = self._menu.sizeHint().height()
        self._menu.popup(self.mapToGlobal(QPoint(0, -high - 4)))

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        self._menu.setFont(look.fonts.text)

    def _chooser(self, mode: Mode) -> Callable[[], None]:
        return lambda: self.chosen.emit(mode)


def mode_words(mode: Mode) -> tuple[str, str]:
    """Its name, and what it means in one line."""
    return {
        "ask": (_tr("Ask everything"), _tr("also before it reads")),
        "edits": (_tr("Ask before edits"), _tr("and before commands; it may read")),
        "accept": (_tr("Accept edits"), _tr("changes files; asks before commands")),
        "plan": (_tr("Plan only"), _tr("reads, changes nothing, runs nothing")),
        "trust": (_tr("Trust this folder"), _tr("edits and confined commands go ahead")),
    }[mode]


def _tr(text: str) -> str:
    return QCoreApplication.translate("modes", text)
