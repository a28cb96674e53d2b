"""Text fields for settings. They report their value when the user has finished editing it."""

from collections.abc import Callable

from PySide6.QtWidgets import QLineEdit


def text_field(value: str, on_change: Callable[[str], None]) -> QLineEdit:
    """Return a field that shows `value`. It reports each other value that the user enters, without spaces around it."""
    field = QLineEdit(value)
    field.setProperty("reported", value)
    field.editingFinished.connect(lambda: report_change(field, on_change))
    return field


def report_change(field: QLineEdit, on_change: Callable[[str], None]) -> None:
    """Report the text of a `text_field` unless it was the last one reported."""
    if field.text() != field.property("reported"):
        field.setProperty("reported", field.text())
        on_change(field.text().strip())


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(name for name in map(str.strip, text.split(",")) if name)
