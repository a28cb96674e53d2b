"""Gives custom-painted widgets, scroll areas and lines roles that screen readers present.

Qt presents a plain QWidget as a layout filler, which screen readers skip even if it has a name or the focus.
"""

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QScrollArea, QWidget

from ui.widgets.drop_down import DropDown, DropDownInterface


def install_accessible_roles() -> None:
    """Make Qt ask here for the role of each widget. It does so once per widget, if a screen reader runs."""
    QAccessible.installFactory(_create_interface)


def accessible_role(widget: QWidget) -> QAccessible.Role | None:
    """Return the `accessible_role` of the widget's class or the role of its kind; None if Qt's own is right."""
    role: QAccessible.Role | None = getattr(type(widget), "accessible_role", None)
    is_named_container = type(widget) is QWidget and bool(widget.accessibleName())
    if role is None and (is_named_container or isinstance(widget, QScrollArea)):
        return QAccessible.Role.Grouping
    if role is None and widget.property("surface") == "line":
        return QAccessible.Role.Separator
    return role


def _create_interface(_class_name: str, widget: QObject) -> QAccessibleInterface | None:
    if isinstance(widget, DropDown):
        return DropDownInterface(widget)
    if isinstance(widget, QWidget) and (role := accessible_role(widget)) is not None:
        return QAccessibleWidget(widget, role)
    return None
