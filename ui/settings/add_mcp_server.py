"""The Add MCP server dialog: a command, a URL, or the JSON configuration of another app."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails, Problem
from core.mcp.config_import import ImportedMcpServer, parse_servers, server_from_input
from core.mcp.server_config import environment_variables
from ui.settings.add_provider import is_unencrypted
from ui.settings.mcp_server_card import environment_text, server_location
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.column import column_in
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, grow_to_fit, show_form_error, show_input_error
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.input_dialog import InputDialog
from ui.widgets.labels import TextField, allow_breaks, error_text, label, show_focus_on, styled_frame

JSON_STARTS: Final = ("{", "[")
SOURCE_ROW, NAME_ROW, VALUES_ROW = range(3)  # of the form
ROWS_HIDDEN_FOR_JSON: Final = (NAME_ROW, VALUES_ROW)  # JSON contains its own names and values


class AddMcpServerDialog(InputDialog):
    """Asks for a new MCP server.

    When `added` is emitted, the receiver adds the servers and closes the dialog, or calls `show_error` if that fails.
    """

    added = Signal(object)  # the servers to add, a tuple of ImportedMcpServer

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self.setObjectName("add_mcp_server")
        self.setWindowTitle(self.tr("Add MCP server"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._source = TextField(look.fonts.mono, max_lines=10, min_lines=3, enter_breaks_line=True)
        self._source.setObjectName("add_mcp_server.source")
        self._source.setAccessibleName(self.tr("Command, URL or JSON"))
        sources = ("npx -y @example/files ~/notes", "https://tools.example.org/mcp", '{"mcpServers": {…}}')
        self._source.setPlaceholderText(self.tr("\nor ").join(sources))
        self._values = TextField(look.fonts.mono, max_lines=4, min_lines=2, enter_breaks_line=True)
        self._values.setObjectName("add_mcp_server.values")
        self._values.setAccessibleName(self.tr("Environment variables or headers"))
        values = ("API_KEY=…", "Authorization=Bearer ${TOKEN}")
        self._values.setPlaceholderText(self.tr("\nor ").join(values))
        self._name = QLineEdit()
        self._name.setObjectName("add_mcp_server.name")
        self._name.setAccessibleName(self.tr("Name"))
        self._name.setPlaceholderText(self.tr("For example: files"))
        self._name.setFont(look.fonts.text)
        self._allow_http = CheckBox(
            look,
            self.tr("Allow unencrypted HTTP: others can read requests and the API key"),
            name="add_mcp_server.allow_http",
        )
        self._oauth = CheckBox(look, self.tr("Sign in to the URL in the browser (OAuth)"), name="add_mcp_server.oauth")
        self._status = label("", look.fonts.second, "second", name="add_mcp_server.status", wrap=True)
        self._error = label("", look.fonts.text, "failed", name="add_mcp_server.error", wrap=True)
        self._add = Button(look, self.tr("Add server"), name="add_mcp_server.add", tone="primary")
        self._add.setDefault(True)
        self._add.setToolTip(self.tr("Start the server, list its tools, and save it"))
        self._form = self._new_form()
        self._lay_out()
        for changed in (self._source.textChanged, self._name.textChanged, self._values.textChanged):
            changed.connect(self._update_state)
        self._allow_http.toggled.connect(self._update_state)
        self._add.clicked.connect(self._emit_added)
        click_on_ctrl_enter(self, self._add)
        self._update_state()
        self._source.setFocus()

    def show_error(self, error: ErrorDetails) -> None:
        """Show why the server was not added. What the user has entered is kept."""
        self._update_state()
        show_form_error(self, self._error, str(error))

    @property
    def signs_in(self) -> bool:
        """Whether the user wants to sign in to the server before its tools are listed."""
        return self._oauth.isVisibleTo(self) and self._oauth.isChecked()

    def show_starting(self) -> None:
        """Show that the server is being started, which can take a moment."""
        self._add.setEnabled(False)
        signing_in = self.tr("Sign in on the page that opens in your browser…")
        self._status.setText(signing_in if self.signs_in else self.tr("Starting the server to list its tools…"))
        self._status.show()

    def _parse(self) -> tuple[ImportedMcpServer, ...]:
        source = self._source.stripped_text()
        if source.startswith(JSON_STARTS):
            return parse_servers(source, self._name.text().strip())
        name = self._name.text().strip()
        return (server_from_input(name, source, self._values.stripped_text(), self._allow_http.isChecked()),)

    def _update_state(self) -> None:
        """Parse what the user has entered, and show which servers it would add, or why it is invalid."""
        source = self._source.stripped_text()
        is_json = source.startswith(JSON_STARTS)
        for row in ROWS_HIDDEN_FOR_JSON:
            self._form.setRowVisible(row, not is_json)
        self._allow_http.setVisible(not is_json and is_unencrypted(source))
        self._oauth.setVisible(not is_json and source.startswith(("http://", "https://")))
        error = ""
        servers: tuple[ImportedMcpServer, ...] = ()
        if source and (is_json or self._name.text().strip()):
            try:
                servers = self._parse()
            except Problem as problem:
                error = f"{problem.details.message} {problem.details.cause}"
        show_input_error(self._error, error_text(visible(error)))
        self._status.setText(allow_breaks("\n".join(map(self._summary, servers))))
        self._status.setVisible(bool(servers))
        self._add.setEnabled(bool(servers))
        grow_to_fit(self)

    def _summary(self, imported: ImportedMcpServer) -> str:
        keys = ", ".join((*imported.secrets, *imported.missing_secrets))
        secrets = self.tr(" · secret values: {}").format(visible(keys)) if keys else ""
        variables = environment_text(environment_variables(imported.server))
        variables_line = f"\n{visible(variables)}" if variables else ""
        return f"{imported.server.name}: {server_location(imported.server)}{secrets}{variables_line}"

    def _emit_added(self) -> None:
        try:
            self.added.emit(self._parse())
        except Problem as problem:
            self.show_error(problem.details)

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        about = self.tr(
            "An MCP server gives agents more tools. When you add it, Journeyman starts or connects to it and lists its "
            "tools. Agents can use them in every folder; each call needs your approval, unless a saved rule allows it."
        )
        warning = self.tr(
            "A server started by a command runs outside the sandbox, with your permissions. Add only servers you trust."
        )
        cancel = Button(self._look, self.tr("Cancel"), name="add_mcp_server.cancel")
        cancel.clicked.connect(self.reject)
        content = QWidget()
        inner = column_in(content, spacing=10)
        inner.addWidget(label(about, fonts.text, "second", wrap=True))
        inner.addWidget(label(warning, fonts.text, "waiting", name="add_mcp_server.warning", wrap=True))
        inner.addLayout(self._form)
        for part in (self._allow_http, self._oauth, self._status):
            inner.addWidget(part)
        inner.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Add MCP server"), fonts.title))
        area = FittingScrollArea(content)
        area.setObjectName("add_mcp_server.form")
        column.addWidget(area, 1)
        column.addWidget(self._error)
        column.addLayout(button_row(cancel, self._add))
        self.setMinimumWidth(self._look.size(520))
        self.resize(self._look.size(600), 0)

    def _new_form(self) -> QFormLayout:
        """Return the form with the text fields."""
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        form.setVerticalSpacing(12)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        name_hint = self.tr("Lowercase letters, digits and hyphens.")
        values_hint = self.tr(
            "Optional: environment variables of a command, or HTTP headers of a URL, one NAME=VALUE per line. "
            "Values are saved in the system keyring, or without one kept until you quit. ${TOKEN} stands for your "
            "environment variable TOKEN."
        )
        font, look = self._look.fonts.text, self._look
        form.insertRow(SOURCE_ROW, label(self.tr("Command, URL\nor JSON"), font), _well(self._source))
        form.insertRow(NAME_ROW, label(self.tr("Name"), font), _with_hint(look, self._name, name_hint))
        values = _with_hint(look, _well(self._values), values_hint)
        form.insertRow(VALUES_ROW, label(self.tr("Environment\nor headers"), font), values)
        return form


def _with_hint(look: Look, field: QWidget, hint: str) -> QWidget:
    """Return a column with a field and a hint below it."""
    container = QWidget()
    column = column_in(container, spacing=3)
    column.addWidget(field)
    column.addWidget(label(hint, look.fonts.second, "second", wrap=True))
    return container


def _well(field: TextField) -> QWidget:
    frame = styled_frame("field")
    show_focus_on(frame, field)
    column = QVBoxLayout(frame)
    column.setContentsMargins(8, 6, 8, 6)
    column.addWidget(field)
    return frame
