"""The order of the keyboard focus in windows with contents that are rebuilt."""

from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget

SAME_ROW = 10  # pixels by which the vertical centers of controls in the same row may differ


def focusable_in_order(*areas: QWidget) -> list[QWidget]:
    """Return the controls that Tab reaches, area by area; within an area, row by row and from left to right."""
    found: list[QWidget] = []
    for area in areas:
        found += _by_rows([part for part in tab_stops(area) if _takes_tab(part)], area.window())
    return found


def tab_stops(area: QWidget) -> list[QWidget]:
    """Return the controls in an area that get the focus by Tab, in their order. Hidden ones are included."""
    return [part for part in (area, *area.findChildren(QWidget)) if part.focusPolicy() & Qt.FocusPolicy.TabFocus]


def set_tab_order(*parts: QWidget) -> None:
    """Make Tab go through these widgets in this order. The first one keeps its place in the existing order."""
    for part, next_part in pairwise(parts):
        QWidget.setTabOrder(part, next_part)


def focus_neighbor(order: list[QWidget], focused: QWidget | None, *, forward: bool) -> bool:
    """Focus the control after (`forward`) or before the focused one in `order`; return whether there was one."""
    if not order:
        return False
    focused_indexes = [index for index, part in enumerate(order) if focused in (part, part.focusProxy())]
    index = focused_indexes[0] + (1 if forward else -1) if focused_indexes else 0
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    order[index % len(order)].setFocus(reason)
    return True


def _takes_tab(part: QWidget) -> bool:
    """Return whether Tab would stop at a widget now.

    Of mutually exclusive buttons, it stops only at the checked one.
    """
    if not (part.isVisible() and part.isEnabled()) or part.focusProxy() is not None:
        return False
    group = part.group() if isinstance(part, QAbstractButton) else None
    exclusive = group is not None and group.exclusive() and group.checkedButton() is not None
    return not exclusive or (isinstance(part, QAbstractButton) and part.isChecked())


def _by_rows(parts: list[QWidget], window: QWidget) -> list[QWidget]:
    """Return the controls row by row and from left to right, as they are placed in the window."""
    centers = {part: part.mapTo(window, part.rect().center()) for part in parts}
    by_height = sorted(parts, key=lambda part: centers[part].y())
    rows: list[list[QWidget]] = []
    for part in by_height:
        if rows and centers[part].y() - centers[rows[-1][-1]].y() <= SAME_ROW:
            rows[-1].append(part)
        else:
            rows.append([part])
    return [part for row in rows for part in sorted(row, key=lambda part: centers[part].x())]
