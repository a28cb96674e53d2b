"""Every screen as a screen reader has it: each control that is shown has a name and a role, in all dialogs too."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QApplication, QDialog

from app.pictures import screens
from app.sample_home import make

ROLE = QAccessible.Role
CONTROLS = {
    ROLE.Button, ROLE.ButtonMenu, ROLE.CheckBox, ROLE.RadioButton, ROLE.ComboBox, ROLE.SpinBox, ROLE.Slider,
    ROLE.EditableText, ROLE.PageTab, ROLE.PageTabList, ROLE.Table, ROLE.Tree, ROLE.TreeItem, ROLE.List, ROLE.ListItem,
    ROLE.Cell, ROLE.Link, ROLE.Dialog, ROLE.MenuItem, ROLE.Notification, ROLE.AlertMessage,
}  # fmt: skip
DIALOGS = {
    "add_server", "add_tool", "consent.dialog", "crash", "help", "key", "keys", "link", "memory.write", "putback",
    "question.dialog", "settings", "trust",
}  # fmt: skip
OF_QT = {"qt_spinbox_lineedit", "QLineEditIconButton"}  # of a field that has the name itself
MOST = 400  # rows of a list, which are all made alike


def shown(part: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    if not part.state().invisible:
        yield part
        for place in range(min(part.childCount(), MOST)):
            child: QAccessibleInterface | None = part.child(place)
            if child is not None and child.isValid():
                yield from shown(child)


def nameless(part: QAccessibleInterface) -> bool:
    is_control = part.role() in CONTROLS or bool(part.state().focusable)
    return is_control and not OF_QT & set(owner(part)) and not part.text(QAccessible.Text.Name).strip()


def owner(part: QAccessibleInterface) -> tuple[str, ...]:
    """Its object name and class; a line of a list is no object."""
    found: QObject | None = part.object()
    return () if found is None else (found.objectName(), found.metaObject().className())


def test_every_control_of_every_screen_has_a_name_and_a_role(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    make(home := tmp_path / "sample")
    found: dict[str, set[str]] = {}
    dialogs = set()
    for name, screen in screens(home, "light", (1440, 900)):
        qapp.processEvents()
        parts = list(shown(QAccessible.queryAccessibleInterface(screen)))
        lacking = [part for part in parts if nameless(part) or part.role() == ROLE.NoRole]
        wrong = {" ".join((part.role().name, *owner(part))) for part in lacking}
        found |= {name: wrong} if wrong else {}
        dialogs |= {screen.objectName()} if isinstance(screen, QDialog) else set()
    assert found == {}, "\n".join(f"{k}: {v}" for k, v in found.items())
    assert dialogs == DIALOGS
