"""Packages in the settings of the real window: added, read, trusted, stopped by a change, and removed."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit, QPushButton

from core.packages.package_index import PACKAGES_FOLDER
from tests.core.packages.made import make_package
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.settings.packages_page import PackageAction, PackagesPage
from ui.settings.settings_dialog import PACKAGES, SettingsDialog
from ui.settings.trust_package_dialog import TrustPackageDialog
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog


def said(dialog: SettingsDialog) -> str:
    return "\n".join(one.text() for one in dialog.packages.findChildren(QLabel)).replace("\u200b", "")


def test_a_package_is_added_read_trusted_and_removed(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    source = make_package(tmp_path / "review")

    async def act(person: Person) -> None:
        person.window.settings_requested.emit()
        dialog = await until(lambda: person.window.findChild(SettingsDialog), "the settings")
        dialog.show_page(PACKAGES)
        await until(lambda: "No packages yet" in said(dialog), "the page")
        field, add = (
            find(dialog, QLineEdit, "settings.packages.source"),
            find(dialog, QPushButton, "settings.packages.add"),
        )
        assert not add.isEnabled()
        field.setText(str(tmp_path / "none"))
        click(add)
        await until(lambda: "cannot be read" in said(dialog), "the error")
        field.setText(str(source))
        press(field, Qt.Key.Key_Return)
        await until(lambda: dialog.findChild(QPushButton, "settings.package.review.trust"), "the package")
        assert field.text() == "" and 'Hook at before_call (write): "$PACKAGE_ROOT"/guard.sh' in said(dialog)
        assert "Skill careful-review: Reviews a change." in said(dialog) and "Not used: agents" in said(dialog)
        click(find(dialog, QPushButton, "settings.package.review.trust"))
        asking = await until(lambda: dialog.findChild(TrustPackageDialog), "the question")
        asked = find(asking, QPlainTextEdit, "trust_package.runs").toPlainText()
        assert "guard.sh" in asked and "serve.py" in asked
        click(find(asking, QPushButton, "trust_package.yes"))
        await until(lambda: find(dialog, QLabel, "settings.package.review.state").text() == "Used", "trusted")
        guard = home / PACKAGES_FOLDER / "review" / "guard.sh"
        guard.chmod(0o755)
        guard.write_text("exit 0\n", "utf-8")
        dialog.package_action_requested.emit(PackageAction.RELOAD, "", "")
        await until(lambda: dialog.findChild(QPushButton, "settings.package.review.trust"), "the change is seen")
        assert "changed guard.sh" in said(dialog) and "have changed since you trusted it" in said(dialog)
        click(find(dialog, QPushButton, "settings.package.review.update"))
        await until(lambda: find(dialog, QLabel, "settings.package.review.state").text() == "Used", "the update")
        click(find(dialog, QPushButton, "settings.package.review.remove"))
        removing = await until(lambda: dialog.findChild(ConfirmDialog), "the confirmation")
        click(find(removing, QPushButton, "confirm.yes"))
        await until(lambda: "No packages yet" in said(dialog), "removed")
        assert not guard.parent.exists()
        dialog.close()

    live(qapp, home, act)


def test_typing_does_not_enable_the_button_while_a_package_is_fetched(qapp: QApplication, look: Look) -> None:
    page = PackagesPage(look)
    requested: list[str] = []
    page.add_requested.connect(lambda source, *_: requested.append(source))
    source, add = find(page, QLineEdit, "settings.packages.source"), find(page, QPushButton, "settings.packages.add")
    source.setText("/srv/one")
    page.set_busy(True)
    source.setText("/srv/two")
    press(source, Qt.Key.Key_Return)
    assert not add.isEnabled() and requested == []
    page.set_busy(False)
    press(source, Qt.Key.Key_Return)
    assert add.isEnabled() and requested == ["/srv/two"]
