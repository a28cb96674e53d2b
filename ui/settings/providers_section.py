"""The list of providers on the models page: those in use, those that need an API key, and those not running."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui.settings.provider_card import TEXT_WIDTH, ProviderAction, ProviderCard, button_row, provider_state
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import label
from ui.widgets.replaceable_content import ReplaceableContent
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.services.providers import ProviderRow, ProvidersOverview


class ProvidersSection(QWidget):
    """The providers with their models."""

    action_requested = Signal(str, str)  # a `ProviderAction`, and the provider, model or proxy that it concerns

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.overview: ProvidersOverview | None = None
        self._outcomes: dict[str, TonedText] = {}
        self._expanded: set[str] = set()
        self._cards: list[ProviderCard] = []
        self.setObjectName("settings.models")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 0)
        column.setSpacing(8)
        choose_default = self._button(ProviderAction.CHOOSE_DEFAULT, _tr("Choose default model…"))
        refresh = self._button(ProviderAction.RELOAD, _tr("Refresh"))
        refresh.setToolTip(_tr("Look for running providers and their models again"))
        add = self._button(ProviderAction.ADD, _tr("Add provider…"))
        title = label(_tr("Providers"), look.fonts.bold)
        column.addWidget(button_row(title, WrappingRow(choose_default, refresh, add)))
        self._shown = ReplaceableContent()
        column.addWidget(self._shown)
        self._fill()

    def show_providers(self, overview: "ProvidersOverview") -> None:
        self.overview = overview
        self._fill()

    def show_test(self, model: str, outcome: TonedText) -> None:
        self._outcomes[model] = outcome
        for card in self._cards:
            card.show_test(model, outcome)
        announce(self, f"{model}: {outcome.text}")

    def forget_tests(self) -> None:
        """Remove the test results, because a provider or its API key has changed since."""
        self._outcomes.clear()

    def model_names(self) -> list[str]:
        """Return the full names of all listed models."""
        return [model.name for row in self._rows() for model in row.models]

    def display_name(self, name: str) -> str:
        """Return the display name of a provider."""
        return next((row.title or row.name for row in self._rows() if row.name == name), name)

    def state_of(self, name: str) -> str:
        """Return a text with the number of a provider's models, or why they cannot be listed."""
        return next((provider_state(row) for row in self._rows() if row.name == name), "")

    def _rows(self) -> "tuple[ProviderRow, ...]":
        return self.overview.providers if self.overview else ()

    def _fill(self) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self._cards = []
        if self.overview is None:
            column.addWidget(self._note(_tr("Looking for providers…"), "looking"))
        else:
            self._fill_servers(column, self.overview)
        self._shown.replace_content(content)

    def _fill_servers(self, column: QVBoxLayout, overview: "ProvidersOverview") -> None:
        in_use = [row for row in overview.providers if is_in_use(row)]
        if not any(row.models for row in in_use):
            text = _tr(
                "No model is set up yet. Start a local server such as Ollama and select Refresh, set the API key of a "
                "provider below, or add a provider."
            )
            column.addWidget(self._note(text, "none"))
        for row in in_use:
            is_expanded = row.name in self._expanded
            card = ProviderCard(
                self._look, row, self.action_requested.emit, self._outcomes, overview.model, expanded=is_expanded
            )
            card.show_all_requested.connect(partial(self._expand, row.name))
            self._cards.append(card)
            column.addWidget(card)
        unused = [row for row in overview.providers if row not in in_use]
        without_key = [row for row in unused if row.needs_key]
        if without_key:
            column.addWidget(label(_tr("Available with an API key"), self._look.fonts.bold))
        for row in without_key:
            column.addWidget(self._row_without_key(row))
        if not_running := ", ".join(f"{row.title} ({row.url})" for row in unused if not row.needs_key):
            column.addWidget(self._note(_tr("Not running on this computer: {}").format(not_running), "off"))
        self._fill_notes(column, overview)

    def _row_without_key(self, row: "ProviderRow") -> QWidget:
        title = visible(row.title or row.name)
        how_to_set = _tr("{title}: set its API key here, or in the environment variable {variable}").format(
            title=title, variable=row.key_variable
        )
        text = label(how_to_set if row.key_variable else title, self._look.fonts.text, wrap=True)
        text.setMinimumWidth(self._look.size(TEXT_WIDTH))
        button = Button(self._look, _tr("Set API key…"), name=f"settings.set_key.{row.name}")
        button.setAccessibleName(_tr("Set the API key of {}").format(title))
        button.clicked.connect(lambda: self.action_requested.emit(ProviderAction.SET_KEY, row.name))
        return button_row(text, WrappingRow(button))

    def _fill_notes(self, column: QVBoxLayout, overview: "ProvidersOverview") -> None:
        error = overview.keyring_error
        if error:
            column.addWidget(self._note(str(error), "keyring", "waiting"))
        text = _tr("Prices are those the provider reports, or else from the price table of {date} ({source}).")
        column.addWidget(self._note(text.format(date=overview.prices_date, source=overview.prices_source), "prices"))
        if overview.unused_proxy:
            offered = visible(overview.unused_proxy)
            note = self._note(_tr("The proxy {} is set in the environment but not used.").format(offered))
            note.setMinimumWidth(self._look.size(TEXT_WIDTH))
            button = Button(self._look, _tr("Use this proxy"), name="settings.models.use_proxy")
            button.setAccessibleName(_tr("Use the proxy {}").format(offered))
            button.clicked.connect(lambda: self.action_requested.emit(ProviderAction.USE_PROXY, overview.unused_proxy))
            column.addWidget(button_row(note, WrappingRow(button)))

    def _button(self, action: ProviderAction, text: str) -> Button:
        """Return a button for an action that does not concern a single provider."""
        button = Button(self._look, text, name=f"settings.models.{action}")
        button.clicked.connect(lambda: self.action_requested.emit(action, ""))
        return button

    def _note(self, text: str, name: str = "", tone: str = "second") -> QWidget:
        return label(text, self._look.fonts.second, tone, name=f"settings.models.{name}" if name else "", wrap=True)

    def _expand(self, provider: str) -> None:
        """Show all models of a provider."""
        self._expanded.add(provider)
        self._fill()


def is_in_use(row: "ProviderRow") -> bool:
    """Return whether a provider is reachable or configured by the user."""
    return bool(row.models or row.error or row.key_from or row.reachable or row.added_by != "Journeyman")


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
