"""The External agents page: agents that the user added, agents found on this computer, and test results."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label, styled_frame

if TYPE_CHECKING:
    from core.settings.schema import ExternalAgentSettings


class ExternalAgentsPage(QWidget):
    """The external agents with their commands and buttons, and a row to add another."""

    action_requested = Signal(str, str, str)  # action (add, test or remove), name, command

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._outcomes: dict[str, tuple[str, str]] = {}
        self._results: dict[str, QLabel] = {}
        about = _tr(
            "External agents are other programs that work in a folder on their own, connected by the Agent Client "
            "Protocol (ACP). Journeyman shows what they do and passes on their questions, but does not sandbox them: "
            "add only agents you trust."
        )
        self._name = self._text_field("name", _tr("Name"), _tr("Name (lowercase letters, digits)"))
        self._command = self._text_field("command", _tr("Command"), _tr("Command, for example: opencode acp"))
        self._add = Button(look, _tr("Add agent"), name="settings.agents.add", tone="primary")
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
            field.returnPressed.connect(self._emit_added)
        self._add.clicked.connect(self._emit_added)
        self.show_agents((), ())

    def show_agents(
        self, agents: Sequence["ExternalAgentSettings"], detected: Sequence["ExternalAgentSettings"]
    ) -> None:
        """Show the added agents, and others that were found on this computer."""
        self._results.clear()
        while (item := self._list.takeAt(0)) is not None:
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        if not agents and not detected:
            empty_text = _tr("No external agents added, and no known agent was found on this computer.")
            self._list.addWidget(
                label(empty_text, self._look.fonts.text, "second", name="settings.agents.none", wrap=True)
            )
        for agent in agents:
            self._list.addWidget(self._row(agent, added=True))
        for agent in detected:
            self._list.addWidget(self._row(agent, added=False))

    def show_result(self, name: str, text: str, tone: str) -> None:
        """Show the progress or result of a test."""
        self._outcomes[name] = text, tone
        if result := self._results.get(name):
            result.setText(allow_breaks(text))
            set_style_properties(result, tone=tone)
            result.setVisible(bool(text))

    def clear(self) -> None:
        """Clear the fields after the agent was added."""
        self._name.clear()
        self._command.clear()

    def _row(self, agent: "ExternalAgentSettings", *, added: bool) -> QWidget:
        look, frame = self._look, styled_frame("well")
        frame.setObjectName(f"settings.agent.{agent.name}")
        command = shlex.join(agent.argv())
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(8)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(label(agent.name, look.fonts.strong, wrap=True))
        texts.addWidget(label(visible(command), look.fonts.mono, "second", wrap=True))
        outcome, tone = self._outcomes.get(agent.name, ("", "second"))
        result = label(outcome, look.fonts.second, tone, name=f"settings.agent.{agent.name}.result", wrap=True)
        result.setVisible(bool(outcome))
        self._results[agent.name] = result
        texts.addWidget(result)
        row.addLayout(texts, 1)
        actions = (("test", _tr("Test")), ("remove", _tr("Remove"))) if added else (("add", _tr("Add")),)
        for word, text in actions:
            button = Button(look, text, name=f"settings.agent.{agent.name}.{word}")
            button.setAccessibleName(f"{text} {agent.name}")
            button.clicked.connect(lambda _=False, word=word: self.action_requested.emit(word, agent.name, command))
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return frame

    def _text_field(self, name: str, accessible_name: str, hint: str) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(f"settings.agents.{name}")
        field.setAccessibleName(accessible_name)
        field.setPlaceholderText(hint)
        field.setFont(self._look.fonts.text)
        return field

    def _follow(self) -> None:
        self._add.setEnabled(bool(self._name.text().strip() and self._command.text().strip()))

    def _emit_added(self) -> None:
        if self._add.isEnabled():
            self.action_requested.emit("add", self._name.text().strip(), self._command.text().strip())


def _tr(text: str) -> str:
    return QCoreApplication.translate("agents", text)
