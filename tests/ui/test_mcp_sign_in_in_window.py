"""Sign-in to an MCP server in the real window: the page opens in the browser, and the server is added."""

import urllib.request
from pathlib import Path
from threading import Thread

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton

from core.settings.schema import MCP_SERVERS
from tests.servers.oauth_server import oauth_server
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.settings_dialog import SettingsDialog
from ui.widgets.confirm_dialog import ConfirmDialog


class Browser(QObject):
    """Takes the place of the system's browser, and follows redirects in another thread."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[Thread] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.threads.append(Thread(target=lambda: urllib.request.urlopen(url.toString(), timeout=30).close()))
        self.threads[-1].start()


def test_a_server_is_added_by_signing_in_and_signed_out_of(qapp: QApplication, home: Path) -> None:
    with oauth_server() as server:
        browser = Browser()
        QDesktopServices.setUrlHandler("http", browser, "open")  # type: ignore[arg-type]  # it takes only str

        async def act(person: Person) -> None:
            person.window.settings_requested.emit()
            dialog = await until(lambda: person.window.findChild(SettingsDialog), "the settings")
            dialog.show_page(MCP_SERVERS)
            click(find(dialog, QPushButton, "settings.tools.add"))
            adding = await until(lambda: dialog.findChild(AddMcpServerDialog), "the dialog")
            find(adding, QPlainTextEdit, "add_mcp_server.source").setPlainText(server.mcp)
            find(adding, QLineEdit, "add_mcp_server.name").setText("greeter")
            find(adding, QCheckBox, "add_mcp_server.oauth").click()
            click(find(adding, QPushButton, "add_mcp_server.add"))
            await until(lambda: dialog.findChild(QCheckBox, "settings.tool.greeter.of.greet"), "the server was added")
            assert len(browser.threads) == 1
            warning = "There is no keyring, so the sign-in to greeter lasts only until you quit Journeyman."
            await until(lambda: warning in footer(dialog), "the warning")
            click(find(dialog, QPushButton, "settings.tool.greeter.sign_in"))
            await until(lambda: "It works" in outcome(dialog), "the second sign-in")
            assert len(browser.threads) == 2
            click(find(dialog, QPushButton, "settings.tool.greeter.sign_out"))
            await until(lambda: not dialog.findChild(QPushButton, "settings.tool.greeter.sign_out"), "signed out")
            click(find(dialog, QPushButton, "settings.tool.greeter.test"))
            await until(lambda: "requires a sign-in" in outcome(dialog), "the error")
            click(find(dialog, QPushButton, "settings.tool.greeter.remove"))
            confirm = await until(lambda: dialog.findChild(ConfirmDialog), "the question whether to remove it")
            confirm.reject()
            await until(lambda: not dialog.findChild(ConfirmDialog), "the question is closed")
            click(find(dialog, QPushButton, "settings.tool.greeter.remove"))
            confirm = await until(lambda: dialog.findChild(ConfirmDialog), "the question whether to remove it")
            click(find(confirm, QPushButton, "confirm.yes"))
            await until(lambda: "Removed greeter" in footer(dialog), "the server was removed")
            await until(lambda: not dialog.findChild(QPushButton, "settings.tool.greeter.remove"), "its card is gone")
            dialog.close()

        try:
            live(qapp, home, act)
        finally:
            QDesktopServices.unsetUrlHandler("http")
            for thread in browser.threads:
                thread.join()


def footer(dialog: SettingsDialog) -> str:
    return find(dialog, QLabel, "settings.said").text().replace("\u200b", "")


def outcome(dialog: SettingsDialog) -> str:
    said = dialog.findChild(QLabel, "settings.tool.greeter.said")
    return said.text().replace("\u200b", "") if said else ""
