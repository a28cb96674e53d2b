"""The tool servers there are: how each is, its tools to switch, what changed in it, and the doors to more."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.settings.tool_card import Said, ToolCard, line
from ui.theme import Look
from ui.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.renewed import Renewed
from ui.widgets.words import label, surface

if TYPE_CHECKING:
    from core.engine.servers import Brought, Overview


class ToolServersPage(QWidget):
    """Says what is wanted, of which server, and of which of its tools or folders."""

    wanted = Signal(str, str, str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.found: Overview | None = None
        self._said: dict[str, Said] = {}
        self._whole: set[str] = set()
        self.setObjectName("settings.tools")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        text = _tr(
            "Programs and addresses that bring agents tools of their own (Model Context Protocol). A program runs as "
            "you do, without walls: add only what you trust. Each call asks you, unless a rule of yours allows it."
        )
        column.addWidget(label(text, look.fonts.second, "second", wrap=True))
        head = QHBoxLayout()
        head.addStretch(1)
        for word, words in (("look", _tr("Look again")), ("add", _tr("Add a server…"))):
            button = Button(look, words, name=f"settings.tools.{word}")
            button.clicked.connect(lambda _=False, word=word: self.wanted.emit(word, "", ""))
            head.addWidget(button)
        column.addLayout(head)
        self._shown = Renewed()
        column.addWidget(self._shown)
        self._fill()

    def show_servers(self, found: "Overview") -> None:
        self.found = found
        self._fill()

    def show_said(self, server: str, said: Said) -> None:
        """What came of a wish."""
        self._said[server] = said
        self._fill()
        announce(self, f"{server}: {said[0]}")

    def said(self) -> Mapping[str, Said]:
        """What came of the last wish for each server."""
        return self._said

    def _fill(self) -> None:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        if self.found is None:
            column.addWidget(self._words(_tr("Looking…"), "looking"))
        else:
            self._fill_servers(column, self.found)
        self._shown.show_instead(made)

    def _fill_servers(self, column: QVBoxLayout, found: "Overview") -> None:
        if not found.rows:
            text = _tr("No tool servers yet. Add one: its command, its address, or the JSON of another app.")
            column.addWidget(self._words(text, "none"))
        for row in found.rows:
            name = row.server.name
            card = ToolCard(self._look, row, self._wish, self._said.get(name), whole=name in self._whole)
            column.addWidget(card)
        if found.brought:
            column.addWidget(label(_tr("In folders you trust"), self._look.fonts.bold))
        for one in found.brought:
            column.addWidget(self._brought(one))
        for trouble in found.troubles:
            column.addWidget(self._words(f"{trouble.what} {trouble.why}", tone="failed"))

    def _brought(self, one: "Brought") -> QWidget:
        look, made, name = self._look, surface("well"), one.server.name
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 8, 8, 8)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(label(visible(name), look.fonts.strong, wrap=True))
        words.addWidget(label(line(one.server), look.fonts.mono, "second", wrap=True))
        keys = _tr(" · is given {}").format(", ".join(one.keys)) if one.keys else ""
        said, tone = self._said.get(name, ("", "second"))
        words.addWidget(label(f"{visible(one.folder)}{visible(keys)}", look.fonts.second, "second", wrap=True))
        if said:
            words.addWidget(label(said, look.fonts.second, tone, name=f"settings.brought.{name}.said", wrap=True))
        row.addLayout(words, 1)
        button = Button(look, _tr("Add"), name=f"settings.brought.{name}.add")
        button.setAccessibleName(_tr("Add {name} of {folder}").format(name=name, folder=one.folder))
        button.clicked.connect(lambda: self.wanted.emit("bring", name, one.folder))
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return made

    def _words(self, text: str, name: str = "", tone: str = "second") -> QWidget:
        return label(text, self._look.fonts.second, tone, name=f"settings.tools.{name}" if name else "", wrap=True)

    def _wish(self, word: str, server: str, of: str) -> None:
        if word == "whole":
            self._whole.add(server)
            self._fill()
        else:
            self.wanted.emit(word, server, of)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
