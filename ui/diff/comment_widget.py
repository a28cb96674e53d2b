"""The base class of the comments shown in a diff view."""

from PySide6.QtWidgets import QWidget


class CommentWidget(QWidget):
    """The widget of a comment on a line. The view replaces it when the lines around it change."""

    def cursor_position(self) -> int:
        """Return where the cursor is in its text; -1 without the focus."""
        raise NotImplementedError

    def description(self) -> str:
        """Return where it belongs and its text, for screen readers."""
        raise NotImplementedError

    def edit(self, position: int = -1) -> None:
        """Move the focus into the text, to this position or its end."""
        raise NotImplementedError
