"""The model of a session, and the choice of another: its servers' lists, and how long it may think."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.tip import tip

EFFORTS: Final = ("", "none", "minimal", "low", "medium", "high", "xhigh", "max")
MOST: Final = 30  # of one server in the menu; more stand in a menu of their own
LONGEST: Final = 40


class ModelButton(Button):
    """`wanted` asks for the lists; the menu opens at once with what is known, and is filled when they come."""

    wanted = Signal()
    chosen = Signal(str)
    effort_chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, "", name="composer.model", tone="quiet", icon="cpu", opens=True, parent=parent)
        self._model = ""
        self._marked: Collection[str] = ()
        self._menu = QMenu(self)
        self._menu.setObjectName("composer.models")
        self._menu.setAccessibleName(self.tr("Models"))
        self.clicked.connect(self.open_menu)
        self.restyle(look)
        self.show_model("")

    @property
    def menu_of_models(self) -> QMenu:
        return self._menu

    def show_model(self, name: str) -> None:
        """Without a session there is nothing to choose for."""
        self._model = name
        self.setVisible(bool(name))
        short = visible(name)
        self.setText(short if len(short) <= LONGEST else short[: LONGEST - 1] + "…")
        self.updateGeometry()
        self.setAccessibleName(self.tr("Model: {}").format(short))
        said = self.tr("{}: the model of this session. Another works from its next request on.")
        self.setToolTip(tip(said.format(short)))

    def open_menu(self) -> None:
        self.show_models({}, "", looking=True)
        self._pop_up()
        self.wanted.emit()

    def show_models(
        self,
        lists: Mapping[str, Sequence[str]],
        effort: str | None,
        *,
        looking: bool = False,
        marked: Collection[str] = (),
    ) -> None:
        """Models by server, with the one in use marked; of an agent of others its own settings, and no effort."""
        self._menu.clear()
        self._marked = (self._model, *marked)
        if looking:
            self._menu.addAction(self.tr("Looking for models…")).setEnabled(False)
        for server, names in lists.items():
            self._list(server, names)
        if not looking and not any(lists.values()):
            self._menu.addAction(self.tr("No server lists a model. Add one in the settings.")).setEnabled(False)
        if not looking and effort is not None:
            self._menu.addSeparator()
            thinks = self._menu.addMenu(self.tr("Effort"))
            thinks.setObjectName("composer.efforts")
            for word in EFFORTS:
                text = word or self.tr("as the model has it")
                self._add(thinks, f"composer.effort.{word or 'own'}", text, word == effort, self._effort(word))
        if self._menu.isVisible():
            self._pop_up()

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        self._menu.setFont(look.fonts.text)

    def _list(self, server: str, names: Sequence[str]) -> None:
        menu = self._menu
        if len(names) > MOST:
            menu = self._menu.addMenu(server)
        elif names:
            self._menu.addSection(server)
        for name in names:
            self._add(menu, f"composer.model.{name}", visible(name), name in self._marked, self._choice(name))

    def _add(self, menu: QMenu, name: str, text: str, on: bool, act: Callable[[], None]) -> None:
        action = QAction(text.replace("&", "&&"), menu)
        action.setObjectName(name)
        action.setCheckable(True)
        action.setChecked(on)
        action.triggered.connect(lambda _=False: act())
        menu.addAction(action)

    def _choice(self, name: str) -> Callable[[], None]:
        return lambda: self.chosen.emit(name)

    def _effort(self, word: str) -> Callable[[], None]:
        return lambda: self.effort_chosen.emit(word)

    def _pop_up(self) -> None:
        """Above the button: the composer stands at the foot of the window."""
        self._menu.popup(self.mapToGlobal(QPoint(0, -self._menu.sizeHint().height() - 4)))
