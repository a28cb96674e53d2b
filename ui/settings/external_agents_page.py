"""The External agents page: agents that the user added, agents found on this computer, and test results."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label, styled_frame

if TYPE_CHECKING:
    from core.agents.known_agents import KnownAgent
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
        self._name = self._text_field("name", _tr("Name"), _tr("Name, for example: opencode"))
        self._name.setToolTip(_tr("Lowercase letters and digits, with hyphens between words"))
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
        row.addWidget(self._name, 2)
        row.addWidget(self._command, 3)
        row.addWidget(self._add)
        column.addLayout(row)
        for field in (self._name, self._command):
            field.textChanged.connect(self._follow)
            field.returnPressed.connect(self._emit_added)
        self._add.clicked.connect(self._emit_added)
        self.show_agents((), (), ())

    def show_agents(
        self,
        agents: Sequence["ExternalAgentSettings"],
        detected: Sequence["KnownAgent"],
        missing: Sequence["KnownAgent"],
    ) -> None:
        """Show the added agents, known ones that were found on this computer, and those that can be installed."""
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
        for known in detected:
            self._list.addWidget(self._row(known.settings, added=False))
        if missing:
            text = _tr("Other agents. Run the command in a terminal to install one, then reopen the settings.")
            self._list.addWidget(label(text, self._look.fonts.second, "second", wrap=True))
        for known in missing:
            self._list.addWidget(self._missing_row(known))

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
        command = shlex.join(agent.argv())
        frame, row, texts = self._frame(agent.name, agent.name, command)
        outcome, tone = self._outcomes.get(agent.name, ("", "second"))
        result = label(outcome, self._look.fonts.second, tone, name=f"settings.agent.{agent.name}.result", wrap=True)
        result.setVisible(bool(outcome))
        self._results[agent.name] = result
        texts.addWidget(result)
        actions = (("test", _tr("Test")), ("remove", _tr("Remove"))) if added else (("add", _tr("Add")),)
        for word, text in actions:
            button = self._button(row, agent.name, word, text)
            button.clicked.connect(lambda _=False, word=word: self.action_requested.emit(word, agent.name, command))
        return frame

    def _missing_row(self, known: "KnownAgent") -> QWidget:
        """Return the row of an agent that is not installed, with a button that copies the command to install it."""
        name = known.settings.name
        frame, row, _ = self._frame(name, known.title, known.install)
        button = self._button(row, name, "copy", _tr("Copy command"))

        def copy() -> None:
            QGuiApplication.clipboard().setText(known.install)
            button.setText(_tr("Copied"))

        button.clicked.connect(copy)
        return frame

    def _frame(self, name: str, title: str, command: str) -> tuple[QWidget, QHBoxLayout, QVBoxLayout]:
        """Return the frame of an agent, its layout, and the layout of its texts."""
        frame = styled_frame("well")
        frame.setObjectName(f"settings.agent.{name}")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(8)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(label(title, self._look.fonts.strong, wrap=True))
        texts.addWidget(label(visible(command), self._look.fonts.mono, "second", wrap=True))
        row.addLayout(texts, 1)
        return frame, row, texts

    def _button(self, row: QHBoxLayout, name: str, word: str, text: str) -> Button:
        button = Button(self._look, text, name=f"settings.agent.{name}.{word}")
        button.setAccessibleName(f"{text} {name}")
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button

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
