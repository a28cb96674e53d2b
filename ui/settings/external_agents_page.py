"""The External agents page: agents that the user added, agents found on this computer, and results of testing them."""

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.agents.known_agents import KnownAgent
    from core.settings.schema import ExternalAgentSettings


class ExternalAgentAction(StrEnum):
    """Actions on external agents. A signal carries an action as text, and the name and command of the agent."""

    RELOAD = "reload"  # look for agents on this computer again
    ADD = "add"
    TEST = "test"
    REMOVE = "remove"


class AgentRow(QFrame):
    """The row of an agent: its command, its buttons, and the result of the last test."""

    def __init__(self, look: Look, name: str, title: str, command: str) -> None:
        super().__init__()
        self._look = look
        self._name = name
        self.setObjectName(f"settings.agent.{name}")
        self.setProperty("surface", "well")
        self._result = label("", look.fonts.second, "second", name=f"settings.agent.{name}.result", wrap=True)
        self._result.hide()
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(label(title, look.fonts.strong, wrap=True))
        texts.addWidget(label(visible(command), look.fonts.mono, "second", wrap=True))
        texts.addWidget(self._result)
        self._columns = QHBoxLayout(self)
        self._columns.setContentsMargins(12, 8, 8, 8)
        self._columns.setSpacing(8)
        self._columns.addLayout(texts, 1)

    def add_button(self, action: str, text: str) -> Button:
        button = Button(self._look, text, name=f"settings.agent.{self._name}.{action}")
        button.setAccessibleName(f"{text} {self._name}")
        self._columns.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button

    def show_result(self, result: TonedText) -> None:
        self._result.setText(allow_breaks(result.text))
        set_style_properties(self._result, tone=result.tone)
        self._result.setVisible(bool(result.text))


class ExternalAgentsPage(QWidget):
    """The external agents with their commands and buttons, and a row in which another one can be added."""

    action_requested = Signal(str, str, str)  # an `ExternalAgentAction`, name, command

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._results: dict[str, TonedText] = {}
        self._rows: dict[str, AgentRow] = {}  # the rows by agent name, without those of agents that are not installed
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
            field.textChanged.connect(self._update_state)
            field.returnPressed.connect(self._emit_added)
        self._add.clicked.connect(self._emit_added)
        self.show_agents((), (), ())

    def show_agents(
        self,
        agents: Sequence["ExternalAgentSettings"],
        detected: Sequence["KnownAgent"],
        missing: Sequence["KnownAgent"],
        not_found: Sequence["ExternalAgentSettings"] = (),
    ) -> None:
        """Show the agents that the user added, known agents found on this computer, and agents that can be installed.

        `not_found` are those added agents whose program is not on this computer.
        """
        self._rows.clear()
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
            missing_text = _missing_program(agent) if agent in not_found else ""
            actions = {ExternalAgentAction.TEST: _tr("Test"), ExternalAgentAction.REMOVE: _tr("Remove")}
            self._add_row(agent, actions, TonedText(missing_text, "failed"))
        for known in detected:
            self._add_row(known.settings, {ExternalAgentAction.ADD: _tr("Add")}, TonedText("", "second"))
        if missing:
            text = _tr("Other agents. Run the command in a terminal to install one, then reopen the settings.")
            self._list.addWidget(label(text, self._look.fonts.second, "second", wrap=True))
        for known in missing:
            self._add_missing_row(known)

    def show_result(self, name: str, result: TonedText) -> None:
        """Show the progress or result of testing an agent."""
        self._results[name] = result
        if row := self._rows.get(name):
            row.show_result(result)

    def clear(self) -> None:
        """Clear the input fields. Called when the agent was added."""
        self._name.clear()
        self._command.clear()

    def _add_row(
        self, agent: "ExternalAgentSettings", actions: Mapping[ExternalAgentAction, str], untested: TonedText
    ) -> None:
        """Add the row of an agent with a button for each action. `actions` maps an action to the text of its button.

        `untested` is shown until the agent has been tested.
        """
        command = shlex.join(agent.argv())
        row = AgentRow(self._look, agent.name, agent.name, command)
        row.show_result(self._results.get(agent.name, untested))
        for action, text in actions.items():
            emit = partial(self.action_requested.emit, action, agent.name, command)
            row.add_button(action, text).clicked.connect(lambda _=False, emit=emit: emit())
        self._rows[agent.name] = row
        self._list.addWidget(row)

    def _add_missing_row(self, known: "KnownAgent") -> None:
        """Add the row of an agent that is not installed, with a button that copies its installation command."""
        row = AgentRow(self._look, known.settings.name, known.title, known.install)
        button = row.add_button("copy", _tr("Copy command"))

        def copy() -> None:
            QGuiApplication.clipboard().setText(known.install)
            button.setText(_tr("Copied"))

        button.clicked.connect(copy)
        self._list.addWidget(row)

    def _text_field(self, name: str, accessible_name: str, hint: str) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(f"settings.agents.{name}")
        field.setAccessibleName(accessible_name)
        field.setPlaceholderText(hint)
        field.setFont(self._look.fonts.text)
        return field

    def _update_state(self) -> None:
        self._add.setEnabled(bool(self._name.text().strip() and self._command.text().strip()))

    def _emit_added(self) -> None:
        if self._add.isEnabled():
            name = self._name.text().strip()
            command = self._command.text().strip()
            self.action_requested.emit(ExternalAgentAction.ADD, name, command)


def _missing_program(agent: "ExternalAgentSettings") -> str:
    """Return a text that says that the agent's program was not found, and how to install it, if that is known."""
    from core.agents.known_agents import install_command  # imported late, because it is not needed to open the window

    text = _tr("The program {} was not found on this computer.").format(visible(agent.command))
    install = install_command(agent.command)
    return f"{text} {_tr('Install it: {}').format(install)}" if install else text


def _tr(text: str) -> str:
    return QCoreApplication.translate("agents", text)
