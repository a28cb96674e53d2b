"""The MCP servers page and the Add MCP server dialog, by mouse and keyboard."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.problems import ErrorDetails
from core.engine.services.mcp_servers import ChangedMcpTool, McpOverview, McpServerRow, ProjectMcpServer
from core.engine.services.mcp_servers import McpTestResult as Looked
from core.mcp.server_state import McpServerState, McpServerStates
from core.settings.schema import MCP_SERVERS, McpServerSettings, McpToolSettings, McpVariable, Settings
from tests.ui.hands import click, find, write
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.log_dialog import LogDialog
from ui.settings.mcp_server_card import McpServerAction, outcome_text
from ui.settings.settings_dialog import SettingsDialog, SettingsSnapshot
from ui.shell.status_line import StatusLine
from ui.style.theme import Look
from ui.widgets import dialog_parts

FILES = McpServerSettings(
    name="files",
    command="npx",
    args=("-y", "files"),
    tools=(
        *(McpToolSettings(name=f"read{n}", description="Reads <b>a</b> file.") for n in range(8)),
        McpToolSettings(name="а"),
    ),
)
FAR = McpServerSettings(
    name="far",
    url="https://a.example/mcp",
    variables=(McpVariable(name="Authorization"), McpVariable(name="X", value="${X}")),
)
OFF = replace(FILES, name="off", enabled=False, tools=FILES.tools[:1])
GONE = ErrorDetails("The MCP server files has ended.", "It printed: <b>no</b>", "Look at its log.")
FOUND = McpOverview(
    (
        McpServerRow(FILES, McpServerState("files", "failed", GONE)),
        McpServerRow(FAR, McpServerState("far", "open"), ("Authorization",)),
        McpServerRow(replace(OFF, package="letters"), McpServerState("off")),
        McpServerRow(replace(FAR, name="near", variables=(), oauth=True), McpServerState("near")),
    ),
    (ProjectMcpServer("/home/me/work", McpServerSettings(name="box", command="./box"), ("TOKEN",), ("PGHOST", "X")),),
    (ErrorDetails("This is no JSON.", "/home/me/other/.mcp.json: line 1."),),
)


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> SettingsDialog:
    made = SettingsDialog(look, SettingsSnapshot(Settings(), []))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def text(dialog: SettingsDialog) -> str:
    return "\n".join(label.text() for label in dialog.mcp_servers.findChildren(QLabel)).replace("\u200b", "")


def test_servers_are_loaded_when_their_page_is_opened(dialog: SettingsDialog, qtbot: QtBot) -> None:
    with qtbot.waitSignal(dialog.mcp_action_requested) as wanted:
        dialog.show_page(MCP_SERVERS)
    assert wanted.args == [McpServerAction.RELOAD, "", ""] and "Looking" in text(dialog)
    dialog.mcp_servers.show_servers(McpOverview())
    assert "No MCP servers yet" in text(dialog)


def test_status_missing_settings_and_project_servers_are_shown(dialog: SettingsDialog) -> None:
    dialog.mcp_servers.show_servers(FOUND)
    said = text(dialog)
    for words in (
        "npx -y files", "The MCP server files has ended. It printed: <b>no</b>", "Reads <b>a</b> file.",
        "It cannot be used until you set Authorization.", "Authorization: not set", "X: ${X}",
        "Off: its tools are not offered to agents.", "Found in trusted folders", "/home/me/work · receives TOKEN",
        "Receives your environment variables: PGHOST, X", "This is no JSON. /home/me/other/.mcp.json: line 1.",
        "From the package letters",
    ):  # fmt: skip
        assert words in said, words
    assert not find(dialog, QCheckBox, "settings.tool.off.of.read0").isEnabled()


@pytest.mark.parametrize(
    ("button", "wish"),
    [
        ("settings.tools.add", [McpServerAction.ADD, "", ""]),
        ("settings.tools.reload", [McpServerAction.RELOAD, "", ""]),
        ("settings.tool.files.test", [McpServerAction.TEST, "files", ""]),
        ("settings.tool.files.show_log", [McpServerAction.SHOW_LOG, "files", ""]),
        ("settings.tool.files.remove", [McpServerAction.REMOVE, "files", ""]),
        ("settings.tool.far.sign_in", [McpServerAction.SIGN_IN, "far", ""]),
        ("settings.tool.near.sign_out", [McpServerAction.SIGN_OUT, "near", ""]),
        ("settings.tool.far.key.Authorization", [McpServerAction.SET_SECRET, "far", "Authorization"]),
        ("settings.brought.box.add", [McpServerAction.ADD_FROM_PROJECT, "box", "/home/me/work"]),
    ],
)
def test_each_button_emits_its_action(dialog: SettingsDialog, qtbot: QtBot, button: str, wish: list[str]) -> None:
    dialog.show_page(MCP_SERVERS)
    dialog.mcp_servers.show_servers(FOUND)
    with qtbot.waitSignal(dialog.mcp_action_requested) as wanted:
        click(find(dialog, QPushButton, button))
    assert wanted.args == wish


def test_servers_and_tools_are_switched_and_a_long_list_is_expanded(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page(MCP_SERVERS)
    dialog.mcp_servers.show_servers(FOUND)
    for box, wish in (
        ("files.on", [McpServerAction.DISABLE, "files", ""]),
        ("files.of.read1", [McpServerAction.DISABLE, "files", "read1"]),
        ("off.on", [McpServerAction.ENABLE, "off", ""]),
    ):
        with qtbot.waitSignal(dialog.mcp_action_requested) as wanted:
            find(dialog, QCheckBox, f"settings.tool.{box}").click()
        assert wanted.args == wish
    click(find(dialog, QPushButton, "settings.tool.files.show_all"))
    odd = find(dialog, QCheckBox, "settings.tool.files.of.а")
    assert not odd.isEnabled() and "is not a valid name" in text(dialog)


def test_a_test_result_is_shown_and_a_change_can_be_accepted(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page(MCP_SERVERS)
    dialog.mcp_servers.show_servers(FOUND)
    same = outcome_text(Looked("files", "2026-07-28", FILES.tools[:2]))
    assert same == ("It works: 2 tools, protocol 2026-07-28.", "done")
    assert outcome_text(Looked("files", error=GONE))[1] == "failed"
    dialog.mcp_servers.show_outcome(
        "files", outcome_text(Looked("files", "2026-07-28", FILES.tools, (ChangedMcpTool("read1", "-a\n+b"),)))
    )
    assert "read1:\n-a\n+b" in text(dialog)
    with qtbot.waitSignal(dialog.mcp_action_requested) as wanted:
        click(find(dialog, QPushButton, "settings.tool.files.accept_tools"))
    assert wanted.args == [McpServerAction.ACCEPT_TOOLS, "files", ""]


@pytest.fixture
def adding(look: Look, qtbot: QtBot) -> AddMcpServerDialog:
    made = AddMcpServerDialog(look)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_command_is_added_with_its_environment(adding: AddMcpServerDialog, qtbot: QtBot) -> None:
    add = find(adding, QPushButton, "add_mcp_server.add")
    assert not add.isEnabled()
    find(adding, QPlainTextEdit, "add_mcp_server.source").setPlainText("npx -y 'my files'")
    find(adding, QLineEdit, "add_mcp_server.name").setText("files")
    find(adding, QPlainTextEdit, "add_mcp_server.values").setPlainText("TOKEN=moss\nLEVEL=${LEVEL}")
    read = find(adding, QLabel, "add_mcp_server.status").text()
    assert "secret values: TOKEN" in read and "moss" not in read
    assert "Receives your environment variables: LEVEL" in read
    with qtbot.waitSignal(adding.added) as added:
        click(add)
    (one,) = added.args[0]
    given = (McpVariable(name="TOKEN"), McpVariable(name="LEVEL", value="${LEVEL}"))
    assert one.server == McpServerSettings(name="files", command="npx", args=("-y", "my files"), variables=given)
    assert one.secrets == {"TOKEN": "moss"}


def test_json_of_another_app_needs_no_name_and_errors_in_it_are_shown(adding: AddMcpServerDialog, qtbot: QtBot) -> None:
    what, add = find(adding, QPlainTextEdit, "add_mcp_server.source"), find(adding, QPushButton, "add_mcp_server.add")
    what.setPlainText('{"mcpServers": {"A": {"command": "a"}, "b": {"url": "https://b.example"}}')
    assert not add.isEnabled() and "This is not valid JSON." in find(adding, QLabel, "add_mcp_server.error").text()
    what.setPlainText('{"mcpServers": {"A": {"command": "a"}, "b": {"url": "https://b.example"}}}')
    assert not find(adding, QLineEdit, "add_mcp_server.name").isVisibleTo(adding)
    with qtbot.waitSignal(adding.added) as added:
        click(add)
    assert [one.server.name for one in added.args[0]] == ["a", "b"]
    adding.show_starting()
    assert not add.isEnabled()
    adding.show_error(ErrorDetails("It did not start.", "No.", "Look."))
    assert add.isEnabled() and "It did not start." in find(adding, QLabel, "add_mcp_server.error").text()
    assert find(adding, QLabel, "add_mcp_server.status").text().startswith("a: a\n"), "it is no longer starting"


def test_an_error_in_the_input_is_announced_once_and_not_for_each_letter(
    adding: AddMcpServerDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = list[str]()
    monkeypatch.setattr(dialog_parts, "announce", lambda _, text: heard.append(text))
    write(find(adding, QPlainTextEdit, "add_mcp_server.source"), '{"mcpServers": ')
    assert len(heard) == 1 and find(adding, QLabel, "add_mcp_server.error").isVisible()


def test_an_unencrypted_address_has_to_be_allowed(adding: AddMcpServerDialog, qtbot: QtBot) -> None:
    plain = find(adding, QCheckBox, "add_mcp_server.allow_http")
    find(adding, QLineEdit, "add_mcp_server.name").setText("far")
    what = find(adding, QPlainTextEdit, "add_mcp_server.source")
    what.setPlainText("https://a.example/mcp")
    assert plain.isHidden()
    what.setPlainText("http://a.example/mcp")
    assert not plain.isHidden()
    plain.click()
    with qtbot.waitSignal(adding.added) as added:
        click(find(adding, QPushButton, "add_mcp_server.add"))
    assert added.args[0][0].server == McpServerSettings(name="far", url="http://a.example/mcp", allow_http=True)


def test_a_sign_in_is_offered_for_a_url(adding: AddMcpServerDialog) -> None:
    box, source = find(adding, QCheckBox, "add_mcp_server.oauth"), find(adding, QPlainTextEdit, "add_mcp_server.source")
    source.setPlainText("npx files")
    assert box.isHidden() and not adding.signs_in
    source.setPlainText("https://a.example/mcp")
    assert not box.isHidden() and not box.isChecked()
    box.click()
    signs_in = [adding.signs_in]
    source.setPlainText("npx files")
    assert [*signs_in, adding.signs_in] == [True, False]


def test_output_of_a_server_is_shown_verbatim(look: Look, qtbot: QtBot) -> None:
    for printed, shown in (("one\n\u202etwo<b>", "⟦U+202E⟧two<b>"), ("", "")):
        made = LogDialog(look, "files", printed)
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(made)
        field = made.findChild(QPlainTextEdit, "log.text")
        assert (field.toPlainText() if field else "").endswith(shown) and (field is None) == (not printed)


def test_the_status_line_shows_their_status(look: Look, qtbot: QtBot) -> None:
    status = StatusLine(look, data_folder="/data")
    qtbot.addWidget(status)
    status.show()
    button = find(status, QPushButton, "status.servers")
    assert not button.isVisible()
    for states, words in (
        ((McpServerState("a"), McpServerState("b", "open")), "2 MCP servers"),
        ((McpServerState("a"), McpServerState("b", "starting")), "Starting an MCP server…"),
        ((McpServerState("a"), McpServerState("b", "failed", GONE)), "MCP server failed: b"),
    ):
        status.show_servers(McpServerStates(states))
        assert button.isVisible() and button.text() == words
    with qtbot.waitSignal(status.servers_requested):
        click(button)
    status.show_servers(McpServerStates())
    assert not button.isVisible()
