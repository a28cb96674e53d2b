"""The page of tool servers, by hand: how each is, what it is given, what changed, and one more by pasting."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.problems import Trouble
from core.engine.servers import Brought, Overview, Row
from core.engine.servers import Look as Looked
from core.servers.health import State, States
from core.settings.schema import TOOLS, Given, ServerTool, Settings, ToolServer
from tests.ui.hands import click, find
from ui.settings.add_tool_server import AddToolServer
from ui.settings.dialog import SettingsDialog, Shown
from ui.settings.log_dialog import LogDialog
from ui.settings.tool_card import look_words
from ui.status_line import StatusLine
from ui.theme import Look

FILES = ToolServer(
    name="files", command="npx", args=("-y", "files"),
    tools=(*(ServerTool(name=f"read{n}", description="Reads <b>a</b> file.") for n in range(8)), ServerTool(name="а")),
)  # fmt: skip
FAR = ToolServer(
    name="far", url="https://a.example/mcp", given=(Given(name="Authorization"), Given(name="X", value="${X}"))
)
OFF = replace(FILES, name="off", on=False, tools=FILES.tools[:1])
GONE = Trouble("The tool server files has ended.", "It printed: <b>no</b>", "Look at its log.")
FOUND = Overview(
    (
        Row(FILES, State("files", "failed", GONE)),
        Row(FAR, State("far", "open"), ("Authorization",)),
        Row(OFF, State("off")),
    ),
    (Brought("/home/me/work", ToolServer(name="box", command="./box"), ("TOKEN",)),),
    (Trouble("This is no JSON.", "/home/me/other/.mcp.json: line 1."),),
)


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> SettingsDialog:
    made = SettingsDialog(look, Shown(Settings(), []))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def text(dialog: SettingsDialog) -> str:
    return "\n".join(label.text() for label in dialog.tools.findChildren(QLabel)).replace("\u200b", "")


def test_they_are_looked_for_when_their_page_is_opened(dialog: SettingsDialog, qtbot: QtBot) -> None:
    with qtbot.waitSignal(dialog.tools_wanted) as wanted:
        dialog.show_page(TOOLS)
    assert wanted.args == ["look", "", ""] and "Looking" in text(dialog)
    dialog.tools.show_servers(Overview())
    assert "No tool servers yet" in text(dialog)


def test_how_each_is_what_it_lacks_and_what_a_folder_brings_is_said(dialog: SettingsDialog) -> None:
    dialog.tools.show_servers(FOUND)
    said = text(dialog)
    for words in (
        "npx -y files", "The tool server files has ended. It printed: <b>no</b>", "Reads <b>a</b> file.",
        "It has no Authorization, so it cannot be used.", "Authorization: not there yet", "X: ${X}",
        "Off: no agent is offered its tools.", "In folders you trust", "/home/me/work · is given TOKEN",
        "This is no JSON. /home/me/other/.mcp.json: line 1.",
    ):  # fmt: skip
        assert words in said, words
    assert not find(dialog, QCheckBox, "settings.tool.off.of.read0").isEnabled()


@pytest.mark.parametrize(
    ("button", "wish"),
    [
        ("settings.tools.add", ["add", "", ""]),
        ("settings.tools.look", ["look", "", ""]),
        ("settings.tool.files.test", ["test", "files", ""]),
        ("settings.tool.files.log", ["log", "files", ""]),
        ("settings.tool.files.remove", ["remove", "files", ""]),
        ("settings.tool.far.key.Authorization", ["give", "far", "Authorization"]),
        ("settings.brought.box.add", ["bring", "box", "/home/me/work"]),
    ],
)
def test_each_button_says_what_it_means(dialog: SettingsDialog, qtbot: QtBot, button: str, wish: list[str]) -> None:
    dialog.show_page(TOOLS)
    dialog.tools.show_servers(FOUND)
    with qtbot.waitSignal(dialog.tools_wanted) as wanted:
        click(find(dialog, QPushButton, button))
    assert wanted.args == wish


def test_servers_and_tools_are_switched_and_a_long_list_is_opened(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page(TOOLS)
    dialog.tools.show_servers(FOUND)
    for box, wish in (("files.on", ["off", "files", ""]), ("files.of.read1", ["off", "files", "read1"]),
                      ("off.on", ["on", "off", ""])):  # fmt: skip
        with qtbot.waitSignal(dialog.tools_wanted) as wanted:
            find(dialog, QCheckBox, f"settings.tool.{box}").click()
        assert wanted.args == wish
    click(find(dialog, QPushButton, "settings.tool.files.whole"))
    odd = find(dialog, QCheckBox, "settings.tool.files.of.а")
    assert not odd.isEnabled() and "is no plain name" in text(dialog)


def test_what_a_test_came_to_is_said_and_a_change_can_be_accepted(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page(TOOLS)
    dialog.tools.show_servers(FOUND)
    same = look_words(Looked("files", "2026-07-28", FILES.tools[:2]))
    assert same == ("It answers: 2 tools, protocol 2026-07-28.", "done")
    assert look_words(Looked("files", trouble=GONE))[1] == "failed"
    dialog.tools.show_said("files", look_words(Looked("files", "2026-07-28", FILES.tools, (("read1", "-a\n+b"),))))
    assert "read1:\n-a\n+b" in text(dialog)
    with qtbot.waitSignal(dialog.tools_wanted) as wanted:
        click(find(dialog, QPushButton, "settings.tool.files.accept"))
    assert wanted.args == ["accept", "files", ""]


@pytest.fixture
def adding(look: Look, qtbot: QtBot) -> AddToolServer:
    made = AddToolServer(look)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_command_is_added_with_what_it_is_given(adding: AddToolServer, qtbot: QtBot) -> None:
    add = find(adding, QPushButton, "add_tool.add")
    assert not add.isEnabled()
    find(adding, QPlainTextEdit, "add_tool.what").setPlainText("npx -y 'my files'")
    find(adding, QLineEdit, "add_tool.name").setText("files")
    find(adding, QPlainTextEdit, "add_tool.keys").setPlainText("TOKEN=moss\nLEVEL=${LEVEL}")
    read = find(adding, QLabel, "add_tool.read").text()
    assert "goes to the keyring: TOKEN" in read and "moss" not in read
    with qtbot.waitSignal(adding.added) as added:
        click(add)
    (one,) = added.args[0]
    given = (Given(name="TOKEN"), Given(name="LEVEL", value="${LEVEL}"))
    assert one.server == ToolServer(name="files", command="npx", args=("-y", "my files"), given=given)
    assert one.keys == {"TOKEN": "moss"}


def test_json_of_another_app_needs_no_name_and_what_is_wrong_with_it_is_said(
    adding: AddToolServer, qtbot: QtBot
) -> None:
    what, add = find(adding, QPlainTextEdit, "add_tool.what"), find(adding, QPushButton, "add_tool.add")
    what.setPlainText('{"mcpServers": {"A": {"command": "a"}, "b": {"url": "https://b.example"}}')
    assert not add.isEnabled() and "This is no JSON." in find(adding, QLabel, "add_tool.why").text()
    what.setPlainText('{"mcpServers": {"A": {"command": "a"}, "b": {"url": "https://b.example"}}}')
    assert find(adding, QLineEdit, "add_tool.name").isHidden()
    with qtbot.waitSignal(adding.added) as added:
        click(add)
    assert [one.server.name for one in added.args[0]] == ["a", "b"]
    adding.wait()
    assert not add.isEnabled()
    adding.tell(Trouble("It did not start.", "No.", "Look."))
    assert add.isEnabled() and "It did not start." in find(adding, QLabel, "add_tool.why").text()


def test_an_address_that_others_can_read_on_the_way_has_to_be_allowed(adding: AddToolServer, qtbot: QtBot) -> None:
    plain = find(adding, QCheckBox, "add_tool.plain")
    find(adding, QLineEdit, "add_tool.name").setText("far")
    what = find(adding, QPlainTextEdit, "add_tool.what")
    what.setPlainText("https://a.example/mcp")
    assert plain.isHidden()
    what.setPlainText("http://a.example/mcp")
    assert not plain.isHidden()
    plain.click()
    with qtbot.waitSignal(adding.added) as added:
        click(find(adding, QPushButton, "add_tool.add"))
    assert added.args[0][0].server == ToolServer(name="far", url="http://a.example/mcp", plain=True)


def test_what_a_server_printed_is_shown_as_it_is(look: Look, qtbot: QtBot) -> None:
    for printed, shown in (("one\n\u202etwo<b>", "⟦U+202E⟧two<b>"), ("", "")):
        made = LogDialog(look, "files", printed)
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(made)
        field = made.findChild(QPlainTextEdit, "log.text")
        assert (field.toPlainText() if field else "").endswith(shown) and (field is None) == (not printed)


def test_the_status_line_tells_how_they_are(look: Look, qtbot: QtBot) -> None:
    status = StatusLine(look, data_folder="/data")
    qtbot.addWidget(status)
    status.show()
    button = find(status, QPushButton, "status.servers")
    assert not button.isVisible()
    for states, words in (
        ((State("a"), State("b", "open")), "2 tool servers"),
        ((State("a"), State("b", "starting")), "A tool server is starting…"),
        ((State("a"), State("b", "failed", GONE)), "Tool server failed: b"),
    ):
        status.show_servers(States(states))
        assert button.isVisible() and button.text() == words
    with qtbot.waitSignal(status.servers_wanted):
        click(button)
    status.show_servers(States())
    assert not button.isVisible()
