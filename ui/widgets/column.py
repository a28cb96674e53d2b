"""A column of widgets without margins."""

from PySide6.QtWidgets import QVBoxLayout, QWidget


def column_in(widget: QWidget, *, spacing: int = 0) -> QVBoxLayout:
    """Give a widget a column layout without margins, and return the layout."""
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(spacing)
    return column
