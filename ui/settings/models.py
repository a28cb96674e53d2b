"""The model servers there are, those that could be, and the doors to more: a key, a server of one's own."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.settings.server_card import Said, ServerCard
from ui.theme import Look
from ui.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.renewed import Renewed
from ui.widgets.words import label

if TYPE_CHECKING:
    from core.engine.providers import Overview, ProviderRow


class ModelsPage(QWidget):
    """Says what is wanted of which server or model: look, add, give, forget, remove, use, test, proxy."""

    wanted = Signal(str, str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.found: Overview | None = None
        self._said: dict[str, Said] = {}
        self._whole: set[str] = set()
        self._cards: list[ServerCard] = []
        self.setObjectName("settings.models")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 0)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.addWidget(label(_tr("Servers"), look.fonts.bold), 1)
        for word, text in (("look", _tr("Look again")), ("add", _tr("Add a server…"))):
            button = Button(look, text, name=f"settings.models.{word}")
            button.clicked.connect(lambda _=False, word=word: self.wanted.emit(word, ""))
            head.addWidget(button)
        column.addLayout(head)
        self._shown = Renewed()
        column.addWidget(self._shown)
        self._fill()

    def show_servers(self, found: "Overview") -> None:
        self.found = found
        self._fill()

    def show_trial(self, model: str, said: Said) -> None:
        self._said[model] = said
        for card in self._cards:
            card.show_trial(model, said)
        announce(self, f"{model}: {said[0]}")

    def models(self) -> list[str]:
        """The full names of all that are listed."""
        return [model.name for row in self._rows() for model in row.models]

    def server(self, name: str) -> str:
        """What a person calls this server."""
        return next((row.title or row.name for row in self._rows() if row.name == name), name)

    def _rows(self) -> "tuple[ProviderRow, ...]":
        return self.found.providers if self.found else ()

    def _fill(self) -> None:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self._cards = []
        if self.found is None:
            column.addWidget(self._words(_tr("Looking for servers…"), "looking"))
        else:
            self._fill_servers(column, self.found)
        self._shown.show_instead(made)

    def _fill_servers(self, column: QVBoxLayout, found: "Overview") -> None:
        used = [row for row in found.providers if in_use(row)]
        if not any(row.models for row in used):
            text = _tr(
                "No model is set up yet. Start a server on this computer, such as Ollama, and look again; "
                "or give one of the servers below a key; or add your own."
            )
            column.addWidget(self._words(text, "none"))
        for row in used:
            card = ServerCard(self._look, row, self._wish, self._said, found.model, whole=row.name in self._whole)
            self._cards.append(card)
            column.addWidget(card)
        others = [row for row in found.providers if row not in used]
        lacking = [row for row in others if row.needs_key]
        if lacking:
            column.addWidget(label(_tr("With a key"), self._look.fonts.bold))
        for row in lacking:
            column.addLayout(self._lacking(row))
        if off := ", ".join(f"{row.title} ({row.url})" for row in others if not row.needs_key):
            column.addWidget(self._words(_tr("Not running on this computer: {}").format(off), "off"))
        self._fill_notes(column, found)

    def _lacking(self, row: "ProviderRow") -> QHBoxLayout:
        line = QHBoxLayout()
        title = visible(row.title or row.name)
        by = _tr("{title}: a key given here, or in the variable {variable}").format(title=title, variable=row.variable)
        line.addWidget(label(by if row.variable else title, self._look.fonts.text, wrap=True), 1)
        button = Button(self._look, _tr("Give a key…"), name=f"settings.give.{row.name}")
        button.setAccessibleName(_tr("Give {} a key").format(title))
        button.clicked.connect(lambda: self._wish("give", row.name))
        line.addWidget(button)
        return line

    def _fill_notes(self, column: QVBoxLayout, found: "Overview") -> None:
        trouble = found.keyring_trouble
        if trouble:
            column.addWidget(self._words(str(trouble), "keyring", "waiting"))
        text = _tr("Prices are what a server says, else those of our table of {date} ({source}).")
        column.addWidget(self._words(text.format(date=found.prices_date, source=found.prices_source), "prices"))
        if found.proxy_offered:
            line = QHBoxLayout()
            offered = visible(found.proxy_offered)
            line.addWidget(
                self._words(_tr("The proxy {} stands in the environment and is not used.").format(offered)), 1
            )
            button = Button(self._look, _tr("Use it"), name="settings.models.proxy")
            button.setAccessibleName(_tr("Use the proxy {}").format(offered))
            button.clicked.connect(lambda: self._wish("proxy", found.proxy_offered))
            line.addWidget(button)
            column.addLayout(line)

    def _words(self, text: str, name: str = "", tone: str = "second") -> QWidget:
        return label(text, self._look.fonts.second, tone, name=f"settings.models.{name}" if name else "", wrap=True)

    def _wish(self, word: str, name: str) -> None:
        if word == "whole":
            self._whole.add(name)
            self._fill()
        else:
            self.wanted.emit(word, name)


def in_use(row: "ProviderRow") -> bool:
    """It can be asked, or a person named it."""
    return bool(row.models or row.trouble or row.key_from or row.there or row.by != "Journeyman")


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
