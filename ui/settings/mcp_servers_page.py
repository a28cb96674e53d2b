"""The MCP servers page: the state, tools and test results of each server, and buttons to add servers."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.settings.mcp_server_card import McpServerAction, McpServerCard, environment_text, server_location
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import label, styled_frame
from ui.widgets.replaceable_content import ReplaceableContent
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.services.mcp_servers import McpOverview, ProjectMcpServer


class McpServersPage(QWidget):
    """The MCP servers, and those found in the configuration files of trusted folders."""

    action_requested = Signal(str, str, str)  # an `McpServerAction`, the server, and the argument of the action

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.overview: McpOverview | None = None
        self._outcomes: dict[str, TonedText] = {}
        self._expanded: set[str] = set()
        self.setObjectName("settings.tools")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        text = _tr(
            "MCP servers (Model Context Protocol) are programs or URLs that give agents more tools. A program runs "
            "with all your permissions, outside the sandbox: add only servers you trust. Each tool call asks for your "
            "approval, unless one of your rules allows it."
        )
        column.addWidget(label(text, look.fonts.second, "second", wrap=True))
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self._button(McpServerAction.RELOAD, _tr("Refresh")))
        buttons.addWidget(self._button(McpServerAction.ADD, _tr("Add MCP server…")))
        column.addLayout(buttons)
        self._shown = ReplaceableContent()
        column.addWidget(self._shown)
        self._fill()

    def show_servers(self, overview: "McpOverview") -> None:
        self.overview = overview
        self._fill()

    def show_outcome(self, server: str, outcome: TonedText) -> None:
        """Show the result of an action on a server."""
        self._outcomes[server] = outcome
        self._fill()
        announce(self, f"{server}: {outcome.text}")

    def forget_outcome(self, server: str) -> None:
        """Remove the result of testing a server, because the server has changed since."""
        self._outcomes.pop(server, None)

    def outcomes(self) -> Mapping[str, TonedText]:
        """Return the result of the last action for each server."""
        return self._outcomes

    def _fill(self) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        if self.overview is None:
            column.addWidget(self._note(_tr("Looking for MCP servers…"), "looking"))
        else:
            self._fill_servers(column, self.overview)
        self._shown.replace_content(content)

    def _fill_servers(self, column: QVBoxLayout, overview: "McpOverview") -> None:
        if not overview.rows:
            text = _tr("No MCP servers yet. Add one by its command, its URL, or the JSON configuration of another app.")
            column.addWidget(self._note(text, "none"))
        for row in overview.rows:
            name = row.server.name
            card = McpServerCard(
                self._look, row, self.action_requested.emit, self._outcomes.get(name), expanded=name in self._expanded
            )
            card.show_all_requested.connect(partial(self._expand, name))
            column.addWidget(card)
        if overview.project:
            column.addWidget(label(_tr("Found in trusted folders"), self._look.fonts.bold))
        for project_server in overview.project:
            column.addWidget(self._found_server(project_server))
        for error in overview.errors:
            column.addWidget(self._note(f"{error.message} {error.cause}", tone="failed"))

    def _found_server(self, project_server: "ProjectMcpServer") -> QWidget:
        look = self._look
        name = project_server.server.name
        frame = styled_frame("well")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        texts = QVBoxLayout()
        texts.setSpacing(1)
        texts.addWidget(label(visible(name), look.fonts.strong, wrap=True))
        texts.addWidget(label(server_location(project_server.server), look.fonts.mono, "second", wrap=True))
        keys = _tr(" · receives {}").format(", ".join(project_server.secrets)) if project_server.secrets else ""
        variables = visible(environment_text(project_server.variables))
        texts.addWidget(
            label(f"{visible(project_server.folder)}{visible(keys)}", look.fonts.second, "second", wrap=True)
        )
        if variables:
            note = label(variables, look.fonts.second, "waiting", name=f"settings.brought.{name}.variables", wrap=True)
            texts.addWidget(note)
        if (outcome := self._outcomes.get(name)) and outcome.text:
            object_name = f"settings.brought.{name}.said"
            texts.addWidget(label(outcome.text, look.fonts.second, outcome.tone, name=object_name, wrap=True))
        row.addLayout(texts, 1)
        button = Button(look, _tr("Add server"), name=f"settings.brought.{name}.add")
        button.setAccessibleName(_tr("Add {name} from {folder}").format(name=name, folder=project_server.folder))
        action = McpServerAction.ADD_FROM_PROJECT
        button.clicked.connect(lambda: self.action_requested.emit(action, name, project_server.folder))
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return frame

    def _button(self, action: McpServerAction, text: str) -> Button:
        """Return a button for an action that does not concern a single server."""
        button = Button(self._look, text, name=f"settings.tools.{action}")
        button.clicked.connect(lambda: self.action_requested.emit(action, "", ""))
        return button

    def _note(self, text: str, name: str = "", tone: str = "second") -> QWidget:
        return label(text, self._look.fonts.second, tone, name=f"settings.tools.{name}" if name else "", wrap=True)

    def _expand(self, server: str) -> None:
        """Show all tools of a server."""
        self._expanded.add(server)
        self._fill()


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
