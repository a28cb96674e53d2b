"""Gives custom-painted widgets, scroll areas and lines an accessible role that screen readers present.

By default, Qt presents a plain QWidget as a layout filler, which screen readers skip even if it has a name or the
focus. For a widget that passes the focus on to another one, Qt reports that both have it.
"""

from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QApplication, QScrollArea, QWidget
from shiboken6 import getCppPointer

from ui.widgets.drop_down import DropDown, DropDownInterface

QT_ROLES: Final = MappingProxyType({"QWidget": QAccessible.Role.Client, "QFrame": QAccessible.Role.Border})


def install_accessible_roles() -> None:
    """Make Qt ask this module for the role of each widget. Qt asks once per widget, if a screen reader is running."""
    QAccessible.installFactory(_create_interface)


def accessible_role(widget: QWidget) -> QAccessible.Role | None:
    """Return the `accessible_role` of the widget's class, or the role for its type; None to use Qt's own role."""
    role: QAccessible.Role | None = getattr(type(widget), "accessible_role", None)
    is_named_container = type(widget) is QWidget and bool(widget.accessibleName())
    if role is None and (is_named_container or isinstance(widget, QScrollArea)):
        return QAccessible.Role.Grouping
    if role is None and widget.property("surface") == "line":
        return QAccessible.Role.Separator
    return role


def _create_interface(class_name: str, widget: QObject) -> QAccessibleInterface | None:
    if isinstance(widget, DropDown):
        return DropDownInterface(widget)
    if isinstance(widget, QWidget) and (role := accessible_role(widget) or QT_ROLES.get(class_name)) is not None:
        return ContainerInterface(widget, role)
    return None


class ContainerInterface(QAccessibleWidget):
    """A widget that does not report the focus if it passes it on; a screen reader would read the wrong widget."""

    def __init__(self, widget: QWidget, role: QAccessible.Role) -> None:
        super().__init__(widget, role)
        # The widget is identified by its address. If `self.object()` were used, PySide would let this object delete it.
        # The widget itself cannot be stored: while it is being constructed, PySide takes it for a plain QWidget.
        self._address = getCppPointer(widget)[0]

    # Overridden Qt methods

    def state(self) -> QAccessible.State:
        state = super().state()
        focus = QApplication.focusWidget()
        if focus is None or getCppPointer(focus)[0] != self._address:
            state.focused = False
        return state
