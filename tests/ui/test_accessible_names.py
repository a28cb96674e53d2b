"""Accessibility of every screen and dialog: each visible control has a name and a role."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QButtonGroup,
    QDialog,
    QTabBar,
    QWidget,
)

from tests.screens.sample_data_folder import make
from tests.screens.screens import screens
from tests.ui.window_watch import WindowWatch
from ui.widgets.accessible_roles import install_accessible_roles

ROLE = QAccessible.Role
CONTROLS = {
    ROLE.Button, ROLE.ButtonMenu, ROLE.CheckBox, ROLE.RadioButton, ROLE.ComboBox, ROLE.SpinBox, ROLE.Slider,
    ROLE.EditableText, ROLE.PageTabList, ROLE.Table, ROLE.Tree, ROLE.List, ROLE.Dialog,
}  # fmt: skip
DIALOGS = {
    "add_provider", "add_mcp_server", "close", "consent.dialog", "crash", "help", "image", "key", "keys", "link",
    "memory.write", "options", "putback", "question.dialog", "replay", "resend", "rule", "settings", "trust",
    "trust_package",
}  # fmt: skip
OF_QT = {"qt_spinbox_lineedit", "QLineEditIconButton"}  # inner parts of a widget that has the name itself
MOST = 50  # checked rows per list; the others are alike


def lacking(part: QWidget) -> Iterator[str]:
    """Return what a screen reader would be missing."""
    called = f"{part.metaObject().className()} {part.objectName()}"
    told = QAccessible.queryAccessibleInterface(part)
    role, name = told.role(), told.text(QAccessible.Text.Name).strip()
    group: QButtonGroup | None = part.group() if isinstance(part, QAbstractButton) else None
    if group is not None and group.exclusive() and role != ROLE.RadioButton:
        yield f"{called} is one of several choices but presented as {role.name}"
    proxy = part.focusProxy()
    if proxy is not None and not isinstance(proxy, QAbstractSpinBox) and told.state().focused:
        yield f"{called} claims the focus of {proxy.objectName()}"
    if role == ROLE.NoRole:
        yield f"{called} has no role"
    if role == ROLE.Client and not OF_QT & {*called.split()} and (name or part.focusPolicy() != Qt.FocusPolicy.NoFocus):
        yield f"{called} is presented as a layout filler"
    if (
        (role in CONTROLS or part.focusPolicy() != Qt.FocusPolicy.NoFocus)
        and not name
        and not OF_QT & {*called.split()}
    ):
        yield f"{called} has no name"
    if "\u200b" in name + told.text(QAccessible.Text.Description):
        yield f"{called} has a place for a line break in its name"
    if isinstance(part, QTabBar):
        names = [part.accessibleTabName(at) or part.tabText(at) for at in range(part.count())]
        yield from (f"a tab of {called}" for name in names if not name.strip())
    if isinstance(part, QAbstractItemView) and part.model() is not None:
        rows = [part.model().index(row, 0) for row in range(min(MOST, part.model().rowCount()))]
        told_rows = [row.data(Qt.ItemDataRole.AccessibleTextRole) or row.data() for row in rows]
        yield from (f"row {at} of {called}" for at, said in enumerate(told_rows) if not said)


def test_every_control_of_every_screen_has_a_name_and_a_role_and_no_part_is_a_window(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    install_accessible_roles()
    make(home := tmp_path / "sample")
    found: dict[str, set[str]] = {}
    dialogs = set()
    with WindowWatch(qapp) as watch:
        for name, screen in screens(home, "light", (1440, 900)):
            screen.activateWindow()
            qapp.sendPostedEvents()
            parts = [screen, *(part for part in screen.findChildren(QWidget) if part.isVisible())]
            for container in [part for part in parts if (proxy := part.focusProxy()) and proxy.isEnabled()]:
                container.setFocus()  # the widget that it passes the focus on to gets it
                found_focus = {what for what in lacking(container) if "claims" in what}
                found |= {name: found_focus} if found_focus else {}
            wrong = {what for part in parts for what in lacking(part)}
            found |= {name: wrong} if wrong else {}
            dialogs |= {screen.objectName()} if isinstance(screen, QDialog) else set()
    assert watch.found == []
    assert found == {}, "\n".join(f"{screen}: {what}" for screen, what in found.items())
    assert dialogs == DIALOGS
