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

if TYPE_CHECKING:
    from core.engine.services.mcp_servers import McpServerRow, McpTestResult
    from core.settings.schema import McpServerSettings, McpToolSettings

MAX_COLLAPSED_TOOLS: Final = 6  # tools shown until the user expands the list
OutcomeText = tuple[str, str]  # text and tone


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
        outcome: OutcomeText | None,
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
        column.addLayout(self._head())
        column.addWidget(label(server_location(row.server), look.fonts.mono, "second", wrap=True))
        if row.server.package:
            origin = _tr("From the package {}").format(row.server.package)
            column.addWidget(label(visible(origin), look.fonts.second, "second", wrap=True))
        state, tone = state_text(row)
        column.addWidget(label(state, look.fonts.second, tone, name=f"settings.tool.{self._name}.state", wrap=True))
        for variable in row.server.variables:
            column.addLayout(self._value(variable.name, variable.value))
        if outcome and outcome[0]:
            column.addWidget(
                label(
                    visible(outcome[0]),
                    look.fonts.second,
                    outcome[1],
                    name=f"settings.tool.{self._name}.said",
                    wrap=True,
                )
            )
        # The tools of the server have changed, and the user may accept the new ones.
        if outcome and outcome[1] == "waiting":
            button = self._button(
                _tr("Accept changed tools"), McpServerAction.ACCEPT_TOOLS, _tr("Accept the changed tools of {}")
            )
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        visible_tools = row.server.tools if expanded else row.server.tools[:MAX_COLLAPSED_TOOLS]
        for tool in visible_tools:
            column.addWidget(self._tool(tool))
        if len(visible_tools) < len(row.server.tools):
            text = _tr("Show all {} tools").format(len(row.server.tools))
            more = Button(look, text, name=f"settings.tool.{self._name}.show_all")
            more.setAccessibleName(_tr("Show all tools of {}").format(self._name))
            more.clicked.connect(lambda: self.show_all_requested.emit())
            column.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def _head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setSpacing(6)
        on = CheckBox(self._look, self._name, name=f"settings.tool.{self._name}.on")
        on.setFont(self._look.fonts.strong)
        on.setAccessibleName(_tr("Offer the tools of {} to agents").format(self._name))
        on.setChecked(self._row.server.enabled)
        on.toggled.connect(lambda now: self._on_action(_switch(now), self._name, ""))
        head.addWidget(on, 1)
        if self._row.server.url:
            head.addWidget(self._button(_tr("Sign in…"), McpServerAction.SIGN_IN, _tr("Sign in to {} in the browser")))
        if self._row.server.oauth:
            head.addWidget(self._button(_tr("Sign out"), McpServerAction.SIGN_OUT, _tr("Sign out of {}")))
        for text, action, accessible_name in (
            (_tr("Test"), McpServerAction.TEST, _tr("Test {}")),
            (_tr("Show log"), McpServerAction.SHOW_LOG, _tr("Show the log of {}")),
            (_tr("Remove"), McpServerAction.REMOVE, _tr("Remove {}")),
        ):
            if action != McpServerAction.SHOW_LOG or not self._row.server.url:
                head.addWidget(self._button(text, action, accessible_name))
        return head

    def _value(self, name: str, value: str) -> QHBoxLayout:
        row = QHBoxLayout()
        is_missing = name in self._row.missing_secrets
        source = value or (_tr("not set") if is_missing else _tr("in the keyring"))
        row.addWidget(
            label(
                f"{visible(name)}: {visible(source)}", self._look.fonts.second, "waiting" if is_missing else "second"
            ),
            1,
        )
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
        box.toggled.connect(lambda now: self._on_action(_switch(now), self._name, tool.name))
        row.addWidget(box)
        description = " ".join(visible(tool.description).split())
        about = (
            _tr("Not offered: {}").format(reason)
            if reason
            else description
            if len(description) <= 200
            else f"{description[:199]}…"
        )
        if about:
            note = label(about, self._look.fonts.second, "failed" if reason else "second", wrap=True)
            note.setContentsMargins(self._look.size(24), 0, 0, 0)
            row.addWidget(note)
        return container

    def _button(self, text: str, action: McpServerAction, accessible_name: str) -> Button:
        button = Button(self._look, text, name=f"settings.tool.{self._name}.{action}")
        button.setAccessibleName(accessible_name.format(self._name))
        button.clicked.connect(lambda: self._on_action(action, self._name, ""))
        return button


def _switch(on: bool) -> McpServerAction:
    return McpServerAction.ENABLE if on else McpServerAction.DISABLE


def server_location(server: "McpServerSettings") -> str:
    """Return the URL of a server or the command that starts it. Invisible characters are replaced by visible ones."""
    return visible(plain_location(server))


def environment_text(variables: Collection[str]) -> str:
    """Return a sentence with the names of the user's environment variables that a server receives; "" for none."""
    return _tr("Receives your environment variables: {}").format(", ".join(variables)) if variables else ""


def state_text(row: "McpServerRow") -> OutcomeText:
    """Return a text about the state of a server, and its tone (color)."""
    state = row.state
    if not row.server.enabled:
        return _tr("Off: its tools are not offered to agents."), "second"
    if row.missing_secrets:
        return _tr("It cannot be used until you set {}.").format(", ".join(row.missing_secrets)), "waiting"
    if state.error:
        return visible(str(state.error)), "failed"
    texts = {
        "open": _tr("Running"),
        "starting": _tr("Starting…"),
        "ready": _tr("Ready: starts when an agent calls one of its tools."),
        "failed": _tr("Failed"),
    }
    return texts[state.health], "done" if state.health == "open" else "second"


def outcome_text(result: "McpTestResult") -> OutcomeText:
    """Return a text about the result of testing a server, and its tone (color)."""
    if result.error:
        return visible(str(result.error)), "failed"
    if result.changed:
        changes = "\n".join(f"{name}:\n{difference}" for name, difference in result.changed)
        head = _tr("It works, but its tool descriptions have changed since you accepted them. Runs will ask you first.")
        return f"{head}\n{changes}", "waiting"
    count = len(result.tools)
    many = _tr("1 tool") if count == 1 else _tr("{} tools").format(count)
    return _tr("It works: {tools}, protocol {version}.").format(tools=many, version=result.protocol_version), "done"


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
