"""The status line: data folder, background work, local models, MCP servers, sandbox, waiting requests and theme."""

from typing import Final

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QWidget

from core.domain.permissions import SandboxLevel
from core.mcp.server_state import McpServerStates
from core.models.local.model_state import LocalModelStates
from ui.style.icons import icon
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.local_model_entry import progress_text
from ui.widgets.tool_button import tool_button

HEIGHT: Final = 26
ICON_SIZE: Final = 16
BUTTON_SIZE: Final = 26  # width and height of a button without text
MIN_TEXT_BUTTON_WIDTH: Final = 56  # pixels to which a button may shrink, so that large text does not widen the window


class StatusLine(QFrame):
    """The status line. A click on one of its buttons emits the signal `…_requested`, which the window connects."""

    inbox_requested = Signal(object)
    """Carries the clicked button, next to which the inbox opens."""
    theme_toggle_requested = Signal()
    commands_requested = Signal()
    help_requested = Signal()
    cancel_requested = Signal()
    """Cancel the import that is shown."""
    servers_requested = Signal()
    """Show the MCP servers in the settings."""
    models_requested = Signal()
    """Show the local models in the settings."""
    sandbox_requested = Signal()
    """Explain how commands are sandboxed."""
    sidebar_requested = Signal()
    back_requested = Signal()
    servers_changed = Signal()
    """The MCP servers that are shown have changed."""

    def __init__(self, look: Look, *, data_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._on_page = False
        self.setObjectName("status")
        self.setProperty("surface", "panel")
        self._data = ElidedLabel(self.tr("Data folder: {}").format(data_folder), look.fonts.second, "second")
        self._traces = ElidedLabel("", look.fonts.second, "second", name="status.traces")
        self._work = ElidedLabel("", look.fonts.second, "second", name="status.work")
        self._waiting = self._button("status.waiting", hint=self.tr("Ctrl+J"))
        self._commands = self._button("status.commands", self.tr("Commands"), hint=self.tr("Ctrl+K"))
        self._sandbox = self._button("status.sandbox")
        self._models = self._button("status.models")
        self._servers = self._button("status.servers")
        sidebar_text = self.tr("Show the sidebar")
        self._sidebar = tool_button("status.sidebar", sidebar_text, f"{sidebar_text} (Ctrl+B)")
        self._back = self._button("status.back", self.tr("Back"), hint=self.tr("Esc"), icon_name="chevron-left")
        self._back.setToolTip(self.tr("Go back to the session (Esc or Alt+Left)"))
        self._help = tool_button("status.help", self.tr("Help"), self.tr("Help (F1)"))
        theme_text = self.tr("Switch between light and dark theme")
        self._theme = tool_button("status.theme", theme_text, f"{theme_text} (Ctrl+Shift+L)")
        cancel_tooltip = self.tr("Cancel the import. What was read is kept, and importing again continues there")
        self._cancel = tool_button("status.cut", self.tr("Cancel the import"), cancel_tooltip)
        self._connect_buttons()
        self._lay_out()
        for part in (self._sandbox, self._traces, self._models, self._servers, self._sidebar, self._back):
            part.hide()
        for button in (self._models, self._servers, self._sandbox, self._back, self._waiting, self._commands):
            button.allow_shrinking(MIN_TEXT_BUTTON_WIDTH)
        self.show_work("")
        self.restyle(look)
        self.show_waiting(0)

    def _connect_buttons(self) -> None:
        self._waiting.clicked.connect(lambda: self.inbox_requested.emit(self._waiting))
        self._commands.clicked.connect(self.commands_requested)
        self._sandbox.clicked.connect(self.sandbox_requested)
        self._models.clicked.connect(self.models_requested)
        self._servers.clicked.connect(self.servers_requested)
        self._help.clicked.connect(self.help_requested)
        self._theme.clicked.connect(self.theme_toggle_requested)
        self._cancel.clicked.connect(self.cancel_requested)
        self._sidebar.clicked.connect(self.sidebar_requested)
        self._back.clicked.connect(self.back_requested)

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 10, 0)
        row.setSpacing(8)
        row.addWidget(self._sidebar)
        row.addWidget(self._back)
        row.addWidget(self._data, 1)
        status = (self._work, self._cancel, self._models, self._servers, self._traces, self._sandbox)
        for part in (*status, self._waiting, self._commands, self._help, self._theme):
            row.addWidget(part)

    def show_sidebar(self, shown: bool) -> None:
        """Show a button for the hidden sidebar and, on a page, a Back button, which the sidebar usually provides."""
        self._sidebar.setVisible(not shown)
        self._back.setVisible(self._on_page and not shown)

    def show_page(self, shown: bool) -> None:
        """Set whether a page is shown instead of a session."""
        self._on_page = shown
        self.show_sidebar(self._sidebar.isHidden())

    def show_waiting(self, count: int) -> None:
        self._waiting.setVisible(count > 0)
        self._waiting.setText(self.tr("{} waiting").format(count))
        self._waiting.setAccessibleName(self.tr("{} waiting for you").format(count))

    def show_traces(self, port: int) -> None:
        """Show the port on which OpenTelemetry traces are received; 0 means that receiving is off."""
        self._traces.setVisible(port > 0)
        self._traces.show_text(self.tr("Receiving traces on port {}").format(port))
        tooltip = self.tr("Programs on this computer can send traces here. Change this in Settings, under Network")
        self._traces.setToolTip(tooltip)

    def show_work(self, text: str, *, cancelable: bool = False) -> None:
        """Show background work, such as an import; an empty text hides it. `cancelable` adds a cancel button."""
        self._work.setVisible(bool(text))
        self._work.show_text(text)
        self._cancel.setVisible(cancelable)

    def show_servers(self, states: McpServerStates) -> None:
        """Show the state of the enabled MCP servers, with one line for each of them in the tooltip."""
        text = self._servers_text(states)
        health_texts = {"open": self.tr("running"), "starting": self.tr("starting"), "ready": self.tr("ready")}
        lines = []
        for server in states.servers:
            health = server.error.message if server.error else health_texts.get(server.health, server.health)
            lines.append(f"{server.name}: {health}")
        self._servers.setText(text)
        self._servers.setAccessibleName(text)
        self._servers.setAccessibleDescription("\n".join(lines))
        self._servers.setToolTip("\n".join(lines))
        self._servers.setVisible(bool(states.servers))
        self.servers_changed.emit()

    def _servers_text(self, states: McpServerStates) -> str:
        """Return which MCP servers have failed, else that one is starting, else how many there are."""
        if failed := [server.name for server in states.servers if server.error]:
            return self.tr("MCP server failed: {}").format(", ".join(failed))
        if any(server.health == "starting" for server in states.servers):
            return self.tr("Starting an MCP server…")
        count = len(states.servers)
        return self.tr("1 MCP server") if count == 1 else self.tr("{} MCP servers").format(count)

    def show_local_models(self, states: LocalModelStates) -> None:
        """Show that a model is being downloaded or loaded; otherwise show nothing."""
        text = self._models_text(states)
        self._models.setText(text)
        self._models.setAccessibleName(text)
        self._models.setToolTip(self.tr("Show the local models in Settings"))
        self._models.setVisible(bool(text))

    def _models_text(self, states: LocalModelStates) -> str:
        """Return which model is being loaded, else which ones are being downloaded, else an empty string."""
        for row in states.rows:
            if row.load_state == "loading":
                return self.tr("Loading {}…").format(visible(row.title))
        download_count = sum(row.download is not None for row in states.rows)
        if download_count > 1:
            return self.tr("Downloading {} models").format(download_count)
        for row in states.rows:
            if row.download:
                return self.tr("Downloading {}: {}").format(visible(row.title), progress_text(row.download))
        return ""

    def show_sandbox(self, level: SandboxLevel, explanation: str) -> None:
        """Show how well commands are sandboxed; `explanation` becomes the tooltip and the accessible description."""
        text = {
            "verified": self.tr("Commands are sandboxed"),
            "reduced": self.tr("Commands are partly sandboxed"),
            "none": self.tr("Commands are not sandboxed: each one needs approval"),
        }[level]
        self._sandbox.setText(text)
        self._sandbox.setAccessibleName(text)
        self._sandbox.setToolTip(explanation)
        self._sandbox.setAccessibleDescription(explanation)
        self._sandbox.show()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._data.setFont(look.fonts.second)
        self._sandbox.restyle(look)
        self._traces.setFont(look.fonts.second)
        self._work.setFont(look.fonts.second)
        self._waiting.restyle(look)
        self._servers.restyle(look)
        self._models.restyle(look)
        self._commands.restyle(look)
        self._back.restyle(look)
        self.setFixedHeight(look.size(HEIGHT) + 6)
        self._set_icon(self._help, "circle-question-mark")
        self._set_icon(self._theme, "sun-moon")
        self._set_icon(self._cancel, "x")
        self._set_icon(self._sidebar, "panel-left")

    def _set_icon(self, button: QToolButton, icon_name: str) -> None:
        button_size = self._look.size(BUTTON_SIZE)
        icon_size = self._look.size(ICON_SIZE)
        button.setFixedSize(button_size, button_size)
        button.setIconSize(QSize(icon_size, icon_size))
        button.setIcon(icon(icon_name, self._look.theme.second, icon_size))

    def _button(self, name: str, text: str = "", *, hint: str = "", icon_name: str = "") -> Button:
        return Button(self._look, text, name=name, tone="quiet", hint=hint, icon=icon_name)
