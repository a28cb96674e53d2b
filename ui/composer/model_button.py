"""The button that shows the model of the session and opens the menu of models and reasoning effort."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.external_agents import ExternalAgentSetting
from ui.message.efforts import EFFORTS
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.tooltip import tooltip_text

# Models of a provider that the menu lists directly; a provider with more models gets a submenu.
MAX_INLINE_MODELS: Final = 30
MAX_NAME_CHARS: Final = 40


class ModelButton(Button):
    """The model button.

    Its menu opens at once, and is filled when the models arrive that `models_requested` asked for.
    """

    models_requested = Signal()
    chosen = Signal(str)
    """The name of a model."""
    setting_chosen = Signal(str, str)
    """The id of a setting of an external agent, and its new value."""
    effort_chosen = Signal(str)
    search_requested = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, "", name="composer.model", tone="quiet", icon="cpu", has_menu=True, parent=parent)
        self._model = ""
        self._menu = QMenu(self)
        self._menu.setObjectName("composer.models")
        self._menu.setAccessibleName(self.tr("Models"))
        self.clicked.connect(self.open_menu)
        self.restyle(look)
        self.show_model("")

    def show_model(self, name: str) -> None:
        """Show the name of a model. An empty name, as without a session, hides the button."""
        self._model = name
        self.setVisible(bool(name))
        short = visible(name)
        self.setText(short if len(short) <= MAX_NAME_CHARS else short[: MAX_NAME_CHARS - 1] + "…")
        self.updateGeometry()
        self.setAccessibleName(self.tr("Model: {}").format(short))
        text = self.tr("{}: the model of this session. A change takes effect with the next request.")
        self.setToolTip(tooltip_text(text.format(short)))

    def open_menu(self) -> None:
        self._menu.clear()
        self._menu.addAction(self.tr("Looking for models…")).setEnabled(False)
        self._popup()
        self.models_requested.emit()

    def show_models(self, models: Mapping[str, Sequence[str]], effort: str) -> None:
        """Fill the menu with the models of each provider and the reasoning efforts. The current ones are checked."""
        self._menu.clear()
        if any(models.values()):
            search = self._menu.addAction(self.tr("Search models…"))
            search.setObjectName("composer.models.search")
            search.triggered.connect(lambda: self.search_requested.emit())
        else:
            self._menu.addAction(self.tr("No provider offers a model. Add a provider in Settings.")).setEnabled(False)
        for provider, names in models.items():
            if names:
                self._add_models(provider, names)
        self._menu.addSeparator()
        efforts = self._menu.addMenu(self.tr("Reasoning effort"))
        efforts.setObjectName("composer.efforts")
        for name in EFFORTS:
            action = self._add(efforts, f"composer.effort.{name or 'own'}", name or self.tr("Model default"))
            action.setChecked(name == effort)
            action.triggered.connect(partial(self._emit_effort, name))
        self._fit_menu()

    def show_agent_settings(self, agent: str, settings: Sequence[ExternalAgentSetting]) -> None:
        """Fill the menu with the settings that an external agent offers, such as its models and modes."""
        self._menu.clear()
        if not settings:
            self._menu.addSection(agent)
            self._add(self._menu, f"composer.model.{agent}", visible(agent)).setChecked(True)
        for setting in settings:
            menu = self._section(setting.name, len(setting.options)) if setting.options else self._menu
            for option in setting.options:
                text = f"{setting.name}: {option.name}"
                action = self._add(menu, f"composer.model.{text}", visible(text))
                action.setChecked(option.value == setting.value)
                action.triggered.connect(partial(self._emit_setting, setting.id, option.value))
        self._fit_menu()

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        self._menu.setFont(look.fonts.text)

    def _add_models(self, provider: str, names: Sequence[str]) -> None:
        menu = self._section(provider, len(names))
        for name in names:
            action = self._add(menu, f"composer.model.{name}", visible(name))
            action.setChecked(name == self._model)
            action.triggered.connect(partial(self._emit_model, name))

    def _section(self, title: str, count: int) -> QMenu:
        """Return the menu to which `count` entries with a common title are added; if they are many, a submenu."""
        if count > MAX_INLINE_MODELS:
            return self._menu.addMenu(title)
        self._menu.addSection(title)
        return self._menu

    @staticmethod
    def _add(menu: QMenu, name: str, text: str) -> QAction:
        action = QAction(text.replace("&", "&&"), menu)
        action.setObjectName(name)
        action.setCheckable(True)
        menu.addAction(action)
        return action

    def _emit_model(self, name: str, _checked: bool = False) -> None:
        self.chosen.emit(name)

    def _emit_setting(self, setting: str, value: str, _checked: bool = False) -> None:
        self.setting_chosen.emit(setting, value)

    def _emit_effort(self, effort: str, _checked: bool = False) -> None:
        self.effort_chosen.emit(effort)

    def _fit_menu(self) -> None:
        """Position the open menu again, because its contents have changed."""
        if self._menu.isVisible():
            self._popup()

    def _popup(self) -> None:
        """Open the menu above the button, because the composer is at the bottom of the window."""
        self._menu.popup(self.mapToGlobal(QPoint(0, -self._menu.sizeHint().height() - 4)))
