"""Agents of others: those a person added, those found on this computer, and what a test of each came to."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from ui.theme import Look, wear
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.words import breakable, label, surface

if TYPE_CHECKING:
    from core.settings.schema import OutsideAgent


class AgentsPage(QWidget):
    """Each with its command and its buttons; a line to add another."""

    wanted = Signal(str, str, str)  # add, test or remove; the name; the command

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._said: dict[str, tuple[str, str]] = {}
        self._results: dict[str, QLabel] = {}
        about = _tr(
            "Programs of others that work in a folder by themselves, over the Agent Client Protocol. Here you see what "
            "they do and answer what they ask. What they do themselves is not confined: add only what you trust."
        )
        self._name = self._line("name", _tr("Name"), _tr("Name: small letters, digits"))
        self._command = self._line("command", _tr("Command"), _tr("Command, such as: opencode acp"))
        self._add = Button(look, _tr("Add"), name="settings.agents.add", tone="primary")
        self._add.setEnabled(False)
        self._list = QVBoxLayout()
        self._list.setSpacing(8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(label(about, look.fonts.second, "second", wrap=True))
        column.addLayout(self._list)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._name, 1)
        row.addWidget(self._command, 2)
        row.addWidget(self._add)
        column.addLayout(row)
        for field in (self._name, self._command):
            field.textChanged.connect(self._follow)
            field.returnPressed.connect(self._tell_added)
        self._add.clicked.connect(self._tell_added)
        self.show_agents((), ())

    def show_agents(self, agents: Sequence["OutsideAgent"], found: Sequence["OutsideAgent"]) -> None:
        """Those that were added, and others that are on this computer."""
        self._results.clear()
        while (item := self._list.takeAt(0)) is not None:
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        if not agents and not found:
            none = _tr("None was added yet, and none of those that are known was found on this computer.")
            self._list.addWidget(label(none, self._look.fonts.text, "second", name="settings.agents.none", wrap=True))
        for agent in agents:
            self._list.addWidget(self._row(agent, added=True))
        for agent in found:
            self._list.addWidget(self._row(agent, added=False))

    def show_result(self, name: str, words: str, tone: str) -> None:
        """What is known of a test by now."""
        self._said[name] = words, tone
        if result := self._results.get(name):
            result.setText(breakable(words))
            wear(result, tone=tone)
            result.setVisible(bool(words))

    def clear(self) -> None:
        """What was typed was added."""
        self._name.clear()
        self._command.clear()

    def _row(self, agent: "OutsideAgent", *, added: bool) -> QWidget:
        look, made = self._look, surface("well")
        made.setObjectName(f"settings.agent.{agent.name}")
        command = shlex.join(agent.words())
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(8)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label(agent.name, look.fonts.strong, wrap=True))
        words.addWidget(label(visible(command), look.fonts.mono, "second", wrap=True))
        said, tone = self._said.get(agent.name, ("", "second"))
        result = label(said, look.fonts.second, tone, name=f"settings.agent.{agent.name}.result", wrap=True)
        result.setVisible(bool(said))
        self._results[agent.name] = result
        words.addWidget(result)
        row.addLayout(words, 1)
        deeds = (("test", _tr("Test")), ("remove", _tr("Remove"))) if added else (("add", _tr("Add")),)
        for word, text in deeds:
            button = Button(look, text, name=f"settings.agent.{agent.name}.{word}")
            button.setAccessibleName(f"{text} {agent.name}")
            button.clicked.connect(lambda _=False, word=word: self.wanted.emit(word, agent.name, command))
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return made

    def _line(self, name: str, spoken: str, hint: str) -> QLineEdit:
        made = QLineEdit()
        made.setObjectName(f"settings.agents.{name}")
        made.setAccessibleName(spoken)
        made.setPlaceholderText(hint)
        made.setFont(self._look.fonts.text)
        return made

    def _follow(self) -> None:
        self._add.setEnabled(bool(self._name.text().strip() and self._command.text().strip()))

    def _tell_added(self) -> None:
        if self._add.isEnabled():
            self.wanted.emit("add", self._name.text().strip(), self._command.text().strip())


def _tr(text: str) -> str:
    return QCoreApplication.translate("agents", text)
