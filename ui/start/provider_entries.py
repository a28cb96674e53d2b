"""Entries of the start screen that lead to a model: a provider on this computer, or an API key."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Signal

from ui.start.new_session import ProviderOffer
from ui.start.start_entry import StartEntry
from ui.style.theme import Look
from ui.widgets.api_key_dialog import ApiKeyDialog
from ui.widgets.labels import allow_breaks

MAX_NAMED: Final = 3
MAX_BUTTON_NAME: Final = 28  # characters of a model name that are shown on a button
EMBEDDED: Final = "local"  # the provider of the models that Journeyman runs itself, which have a separate entry


class LocalProviderEntry(StartEntry):
    """Offers a model of a provider that runs on this computer, or explains how to install one and searches again."""

    model_chosen = Signal(str)
    search_requested = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__(look, "start.local", "cpu", "", "", self.tr("Use"))
        self._model = ""
        self.button.clicked.connect(self._act)

    def show_offers(self, offers: Sequence[ProviderOffer], *, has_model: bool) -> None:
        """Show the first local provider that has models.

        Without one, explain how to get a provider, or hide the entry if another model is available.
        """
        usable = (offer for offer in offers if offer.is_local and offer.models and offer.name != EMBEDDED)
        offer = next(usable, None)
        self._model = offer.models[0] if offer else ""
        self.setVisible(offer is not None or not has_model)
        if offer:
            self._show_provider(offer)
        else:
            self._show_how_to_get_one(offers)

    def _show_provider(self, offer: ProviderOffer) -> None:
        models = [name.split("/", 1)[-1] for name in offer.models]
        text = ", ".join(models[:MAX_NAMED])
        if len(models) > MAX_NAMED:
            text += self.tr(" and {} more").format(len(models) - MAX_NAMED)
        self.set_texts(
            self.tr("{} is running on this computer").format(offer.label),
            allow_breaks(self.tr("{} · nothing leaves this computer").format(text)),
            self.tr("Use {}").format(models[0][:MAX_BUTTON_NAME]),
            icon="circle-check",
            token="done",
        )

    def _show_how_to_get_one(self, offers: Sequence[ProviderOffer]) -> None:
        without_models = next((offer for offer in offers if offer.is_local), None)
        if without_models:
            title = self.tr("{} is running on this computer but has no models").format(without_models.label)
            text = self.tr("Download a model there, then search again.")
        elif not offers:
            title = self.tr("A provider on this computer")
            text = self.tr("Ollama, LM Studio, llama.cpp, vLLM and Jan are detected automatically.")
        else:
            title = self.tr("No local model provider is running")
            text = self.tr("Start Ollama, LM Studio, llama.cpp, vLLM or Jan, then search again.")
        self.set_texts(title, text, self.tr("Search again"), icon="cpu")

    def _act(self) -> None:
        if self._model:
            self.model_chosen.emit(self._model)
        else:
            self.search_requested.emit()


class ApiKeyEntry(StartEntry):
    """Asks for the API key of a provider that needs one."""

    api_key_entered = Signal(str, str)  # the provider and the API key

    def __init__(self, look: Look) -> None:
        super().__init__(look, "start.key", "key", "", "", "")
        self._without_key: list[ProviderOffer] = []
        self.button.clicked.connect(self._ask)

    def show_offers(self, offers: Sequence[ProviderOffer], *, has_model: bool) -> None:
        """List the providers that lack an API key. If there are none and a model is available, hide the entry."""
        self._without_key = [offer for offer in offers if offer.needs_key]
        self.setVisible(bool(self._without_key) or not has_model)
        self.button.setEnabled(bool(self._without_key))
        self.set_texts(self.tr("Add an API key"), self._providers_text(), self.tr("Add key…"))

    def _providers_text(self) -> str:
        if not self._without_key:
            return self.tr("For a model provider")
        names = ", ".join(offer.label for offer in self._without_key[:MAX_NAMED])
        unnamed = len(self._without_key) - MAX_NAMED
        if unnamed <= 0:
            return names
        return self.tr("{names} and {more} more; add other providers in Settings").format(names=names, more=unnamed)

    def _ask(self) -> None:
        providers = {offer.name: offer.title for offer in self._without_key}
        dialog = ApiKeyDialog(self._look, providers, self)
        dialog.submitted.connect(self.api_key_entered)
        dialog.open()
