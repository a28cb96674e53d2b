"""The section of the Web search page that sets or removes the API key for the search engine."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.tools.web_search import WEB_SEARCH_ENGINES
from ui.settings.provider_card import ProviderAction
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.labels import label


class SearchKeySection(QWidget):
    """Buttons to set and remove the API key, and a text that says what the chosen search engine needs."""

    action_requested = Signal(str, str)  # SET_KEY or REMOVE_KEY of `ProviderAction`, and the search engine

    def __init__(self, look: Look, engine: str) -> None:
        super().__init__()
        self._engine = engine
        self._text = label("", look.fonts.second, "second", name="settings.web.needs", wrap=True)
        self._set_key = Button(look, self.tr("Set API key…"), name="settings.web.set_key")
        self._remove_key = Button(look, self.tr("Remove API key"), name="settings.web.remove_key")
        self._set_key.setToolTip(self.tr("Saves the API key in the system keyring, or keeps it until you quit"))
        self._remove_key.setToolTip(self.tr("Removes the API key from the system keyring and from memory"))
        self._set_key.clicked.connect(lambda: self.action_requested.emit(ProviderAction.SET_KEY, self._engine))
        self._remove_key.clicked.connect(lambda: self.action_requested.emit(ProviderAction.REMOVE_KEY, self._engine))
        row = QHBoxLayout()
        row.addWidget(self._set_key)
        row.addWidget(self._remove_key)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._text)
        column.addLayout(row)
        self.set_engine(engine)

    def follow_setting(self, name: str, value: object) -> None:
        """Update the section if the search engine has changed; other settings are ignored."""
        if name == "search_engine":
            self.set_engine(str(value))

    def set_engine(self, engine: str) -> None:
        """Show whether this search engine needs an API key."""
        self._engine = engine
        chosen = WEB_SEARCH_ENGINES.get(engine)
        keyed = chosen is not None and bool(chosen.variable)
        for button in (self._set_key, self._remove_key):
            button.setEnabled(keyed)
        if chosen is None:
            text = self.tr(
                "Agents cannot search the web. Choose a search engine to let them; a search needs the same approval as "
                "fetching a page."
            )
        elif keyed:
            text = self.tr("{engine} needs an API key: set it here, or in the environment variable {variable}.").format(
                engine=chosen.title, variable=chosen.variable
            )
        else:
            text = self.tr("{engine} needs no API key. Its settings must allow responses in JSON.").format(
                engine=chosen.title
            )
        self._text.setText(text)
