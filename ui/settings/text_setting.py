"""Text fields of settings, which report a value when the user has finished editing it."""

from collections.abc import Callable

from PySide6.QtWidgets import QLineEdit


def text_field(value: str, on_change: Callable[[str], None]) -> QLineEdit:
    """Return a field that shows `value` and reports other values without the spaces around them."""
    field = QLineEdit(value)
    field.setProperty("reported", value)
    field.editingFinished.connect(lambda: report_change(field, on_change))
    return field


def report_change(field: QLineEdit, on_change: Callable[[str], None]) -> None:
    """Report the text of a `text_field`, unless it is the one reported last."""
    if field.text() != field.property("reported"):
        field.setProperty("reported", field.text())
        on_change(field.text().strip())


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name for name in map(str.strip, text.split(",")) if name)
