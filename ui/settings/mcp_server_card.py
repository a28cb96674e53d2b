"""The card of an MCP server: its command or URL, state, environment or headers, and a check box for each tool."""

from collections.abc import Callable, Collection
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from core.settings.schema import server_location as plain_location
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.labels import label
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.services.mcp_servers import McpServerRow, McpTestResult
    from core.settings.schema import McpServerSettings, McpToolSettings

MAX_COLLAPSED_TOOLS: Final = 6  # tools shown until the user expands the list
MAX_DESCRIPTION_CHARS: Final = 200


class McpServerAction(StrEnum):
    """Actions on MCP servers. A signal carries an action as text, the name of a server, and an argument."""

    RELOAD = "reload"
    ADD = "add"
    ADD_FROM_PROJECT = "add_from_project"  # the argument is the folder whose configuration has the server
    SET_SECRET = "set_secret"  # the argument is the environment variable or header
    SIGN_IN = "sign_in"
    SIGN_OUT = "sign_out"
    TEST = "test"
    ACCEPT_TOOLS = "accept_tools"
    SHOW_LOG = "show_log"
    ENABLE = "enable"  # the argument is a tool; "" for the whole server
    DISABLE = "disable"  # the same
    REMOVE = "remove"


OnAction = Callable[[McpServerAction, str, str], None]


class McpServerCard(QFrame):
    """The card of an MCP server.

    `on_action` is called with an action, the name of the server, and the argument of the action. `outcome` is the
    result of the last action.
    """

    show_all_requested = Signal()  # show all tools

    def __init__(
        self,
        look: Look,
        row: "McpServerRow",
        on_action: OnAction,
        outcome: TonedText | None,
        *,
        expanded: bool = False,
    ) -> None:
        super().__init__()
        self._look = look
        self._row = row
        self._on_action = on_action
        self._name = row.server.name
        self.setObjectName(f"settings.tool.{self._name}")
        self.setProperty("surface", "well")
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 10)
        column.setSpacing(4)
        column.addLayout(self._build_header())
        column.addWidget(label(server_location(row.server), look.fonts.mono, "second", wrap=True))
        if row.server.package:
            origin = _tr("From the package {}").format(row.server.package)
            column.addWidget(label(visible(origin), look.fonts.second, "second", wrap=True))
        state = state_text(row)
        name = f"settings.tool.{self._name}"
        column.addWidget(label(state.text, look.fonts.second, state.tone, name=f"{name}.state", wrap=True))
        for variable in row.server.variables:
            column.addLayout(self._value(variable.name, variable.value))
        if outcome:
            self._add_outcome(column, outcome)
        self._add_tools(column, expanded=expanded)

    def _add_outcome(self, column: QVBoxLayout, outcome: TonedText) -> None:
        if outcome.text:
            name = f"settings.tool.{self._name}.said"
            column.addWidget(label(visible(outcome.text), self._look.fonts.second, outcome.tone, name=name, wrap=True))
        # The tools of the server have changed, and the user may accept the new ones.
        if outcome.tone == "waiting":
            button = self._button(
                _tr("Accept changed tools"), McpServerAction.ACCEPT_TOOLS, _tr("Accept the changed tools of {}")
            )
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)

    def _add_tools(self, column: QVBoxLayout, *, expanded: bool) -> None:
        tools = self._row.server.tools
        shown_tools = tools if expanded else tools[:MAX_COLLAPSED_TOOLS]
        for tool in shown_tools:
            column.addWidget(self._tool(tool))
        if len(shown_tools) < len(tools):
            text = _tr("Show all {} tools").format(len(tools))
            more = Button(self._look, text, name=f"settings.tool.{self._name}.show_all")
            more.setAccessibleName(_tr("Show all tools of {}").format(self._name))
            more.clicked.connect(lambda: self.show_all_requested.emit())
            column.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def _build_header(self) -> QHBoxLayout:
        header = QHBoxLayout()
        header.setSpacing(6)
        switch = CheckBox(self._look, self._name, name=f"settings.tool.{self._name}.on")
        switch.setFont(self._look.fonts.strong)
        switch.setAccessibleName(_tr("Offer the tools of {} to agents").format(self._name))
        switch.setChecked(self._row.server.enabled)
        switch.toggled.connect(lambda checked: self._on_action(_switch_action(checked), self._name, ""))
        header.addWidget(switch, 1)
        if self._row.server.url:
            header.addWidget(
                self._button(_tr("Sign in…"), McpServerAction.SIGN_IN, _tr("Sign in to {} in the browser"))
            )
        if self._row.server.oauth:
            header.addWidget(self._button(_tr("Sign out"), McpServerAction.SIGN_OUT, _tr("Sign out of {}")))
        header.addWidget(self._button(_tr("Test"), McpServerAction.TEST, _tr("Test {}")))
        if not self._row.server.url:
            header.addWidget(self._button(_tr("Show log"), McpServerAction.SHOW_LOG, _tr("Show the log of {}")))
        header.addWidget(self._button(_tr("Remove"), McpServerAction.REMOVE, _tr("Remove {}")))
        return header

    def _value(self, name: str, value: str) -> QHBoxLayout:
        row = QHBoxLayout()
        is_missing = name in self._row.missing_secrets
        source = value or (_tr("not set") if is_missing else _tr("in the keyring"))
        tone = "waiting" if is_missing else "second"
        row.addWidget(label(f"{visible(name)}: {visible(source)}", self._look.fonts.second, tone), 1)
        if not value:
            text = _tr("Set…") if is_missing else _tr("Change…")
            button = Button(self._look, text, name=f"settings.tool.{self._name}.key.{name}", tone="quiet")
            button.setAccessibleName(_tr("Set {key} for {server}").format(server=self._name, key=name))
            button.clicked.connect(lambda: self._on_action(McpServerAction.SET_SECRET, self._name, name))
            row.addWidget(button)
        return row

    def _tool(self, tool: "McpToolSettings") -> QWidget:
        from core.mcp.tool_definition import tool_rejection

        container = QWidget()
        row = QVBoxLayout(container)
        row.setContentsMargins(0, 2, 0, 0)
        row.setSpacing(0)
        box = CheckBox(self._look, visible(tool.name), name=f"settings.tool.{self._name}.of.{tool.name}")
        box.setFont(self._look.fonts.mono)
        reason = tool_rejection(tool)
        box.setChecked(tool.enabled and not reason)
        box.setEnabled(self._row.server.enabled and not reason)
        box.toggled.connect(lambda checked: self._on_action(_switch_action(checked), self._name, tool.name))
        row.addWidget(box)
        text = _tr("Not offered: {}").format(reason) if reason else _short_description(tool)
        if text:
            note = label(text, self._look.fonts.second, "failed" if reason else "second", wrap=True)
            note.setContentsMargins(self._look.size(24), 0, 0, 0)
            row.addWidget(note)
        return container

    def _button(self, text: str, action: McpServerAction, accessible_name: str) -> Button:
        button = Button(self._look, text, name=f"settings.tool.{self._name}.{action}")
        button.setAccessibleName(accessible_name.format(self._name))
        button.clicked.connect(lambda: self._on_action(action, self._name, ""))
        return button


def _short_description(tool: "McpToolSettings") -> str:
    text = " ".join(visible(tool.description).split())
    return text if len(text) <= MAX_DESCRIPTION_CHARS else f"{text[: MAX_DESCRIPTION_CHARS - 1]}…"


def _switch_action(enabled: bool) -> McpServerAction:
    return McpServerAction.ENABLE if enabled else McpServerAction.DISABLE


def server_location(server: "McpServerSettings") -> str:
    """Return the URL of a server or the command that starts it. Invisible characters are replaced by visible ones."""
    return visible(plain_location(server))


def environment_text(variables: Collection[str]) -> str:
    """Return a sentence with the names of the user's environment variables that a server receives; "" for none."""
    return _tr("Receives your environment variables: {}").format(", ".join(variables)) if variables else ""


def state_text(row: "McpServerRow") -> TonedText:
    """Return a text about the state of a server."""
    state = row.state
    if not row.server.enabled:
        return TonedText(_tr("Off: its tools are not offered to agents."), "second")
    if row.missing_secrets:
        missing = ", ".join(row.missing_secrets)
        return TonedText(_tr("It cannot be used until you set {}.").format(missing), "waiting")
    if state.error:
        return TonedText(visible(str(state.error)), "failed")
    texts = {
        "open": _tr("Running"),
        "starting": _tr("Starting…"),
        "ready": _tr("Ready: starts when an agent calls one of its tools."),
        "failed": _tr("Failed"),
    }
    return TonedText(texts[state.health], "done" if state.health == "open" else "second")


def outcome_text(result: "McpTestResult") -> TonedText:
    """Return a text about the result of testing a server."""
    if result.error:
        return TonedText(visible(str(result.error)), "failed")
    if result.changed:
        changes = "\n".join(f"{name}:\n{difference}" for name, difference in result.changed)
        note = _tr("It works, but its tool descriptions have changed since you accepted them. Runs will ask you first.")
        return TonedText(f"{note}\n{changes}", "waiting")
    count = len(result.tools)
    tools = _tr("1 tool") if count == 1 else _tr("{} tools").format(count)
    text = _tr("It works: {tools}, protocol {version}.").format(tools=tools, version=result.protocol_version)
    return TonedText(text, "done")


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
