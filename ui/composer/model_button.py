"""The button that shows the model of the session and opens the menu of models and reasoning effort."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from ui.message.efforts import EFFORTS
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.tooltip import tooltip_text

MAX_INLINE_MODELS: Final = 30  # models of one provider in the menu; a provider with more gets a submenu
MAX_NAME_CHARS: Final = 40


class ModelButton(Button):
    """The model button. The menu opens at once and is filled when the answer to `models_requested` arrives."""

    models_requested = Signal()
    chosen = Signal(str)
    effort_chosen = Signal(str)
    search_requested = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, "", name="composer.model", tone="quiet", icon="cpu", has_menu=True, parent=parent)
        self._model = ""
        self._checked: Collection[str] = ()
        self._menu = QMenu(self)
        self._menu.setObjectName("composer.models")
        self._menu.setAccessibleName(self.tr("Models"))
        self.clicked.connect(self.open_menu)
        self.restyle(look)
        self.show_model("")

    @property
    def model_menu(self) -> QMenu:
        return self._menu

    def show_model(self, name: str) -> None:
        """Show this model; an empty name, as without a session, hides the button."""
        self._model = name
        self.setVisible(bool(name))
        short = visible(name)
        self.setText(short if len(short) <= MAX_NAME_CHARS else short[: MAX_NAME_CHARS - 1] + "…")
        self.updateGeometry()
        self.setAccessibleName(self.tr("Model: {}").format(short))
        text = self.tr("{}: the model of this session. A change takes effect with the next request.")
        self.setToolTip(tooltip_text(text.format(short)))

    def open_menu(self) -> None:
        self.show_models({}, "", loading=True)
        self._open_menu()
        self.models_requested.emit()

    def show_models(
        self,
        lists: Mapping[str, Sequence[str]],
        effort: str | None,
        *,
        loading: bool = False,
        checked: Collection[str] = (),
    ) -> None:
        """Fill the menu with models by provider. The current model and the names in `checked` have a check mark.

        For an external agent, `lists` holds the settings that it offers, and `effort` is None.
        """
        self._menu.clear()
        self._checked = (self._model, *checked)
        if loading:
            self._menu.addAction(self.tr("Looking for models…")).setEnabled(False)
        if any(lists.values()) and effort is not None:
            search = self._menu.addAction(self.tr("Search models…"))
            search.setObjectName("composer.models.search")
            search.triggered.connect(lambda: self.search_requested.emit())
        for provider, names in lists.items():
            self._add_models(provider, names)
        if not loading and not any(lists.values()):
            self._menu.addAction(self.tr("No provider offers a model. Add a provider in Settings.")).setEnabled(False)
        if not loading and effort is not None:
            self._menu.addSeparator()
            efforts = self._menu.addMenu(self.tr("Reasoning effort"))
            efforts.setObjectName("composer.efforts")
            for word in EFFORTS:
                text = word or self.tr("Model default")
                self._add(efforts, f"composer.effort.{word or 'own'}", text, word == effort, self._effort(word))
        if self._menu.isVisible():
            self._open_menu()

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        self._menu.setFont(look.fonts.text)

    def _add_models(self, provider: str, names: Sequence[str]) -> None:
        menu = self._menu
        if len(names) > MAX_INLINE_MODELS:
            menu = self._menu.addMenu(provider)
        elif names:
            self._menu.addSection(provider)
        for name in names:
            self._add(menu, f"composer.model.{name}", visible(name), name in self._checked, self._choose_handler(name))

    def _add(self, menu: QMenu, name: str, text: str, on: bool, on_chosen: Callable[[], None]) -> None:
        action = QAction(text.replace("&", "&&"), menu)
        action.setObjectName(name)
        action.setCheckable(True)
        action.setChecked(on)
        action.triggered.connect(lambda _=False: on_chosen())
        menu.addAction(action)

    def _choose_handler(self, name: str) -> Callable[[], None]:
        return lambda: self.chosen.emit(name)

    def _effort(self, word: str) -> Callable[[], None]:
        return lambda: self.effort_chosen.emit(word)

    def _open_menu(self) -> None:
        """Open the menu above the button, because the composer is at the bottom of the window."""
        self._menu.popup(self.mapToGlobal(QPoint(0, -self._menu.sizeHint().height() - 4)))
