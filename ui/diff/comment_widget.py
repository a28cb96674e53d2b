"""The base class of the widgets that show comments in a diff view."""

from PySide6.QtWidgets import QWidget


class CommentWidget(QWidget):
    """A widget that shows a comment on a line. The view creates it again when the rows around it change."""

    def cursor_position(self) -> int:
        """Return the position of the cursor in the text of the comment; -1 if the text does not have the focus."""
        raise NotImplementedError

    def description(self) -> str:
        """Return the lines on which this comment was made and its text, for screen readers."""
        raise NotImplementedError

    def mark_selected(self, selected: bool) -> None:
        """Show whether this comment is the selected one, which Enter edits and Delete removes."""
        raise NotImplementedError

    def edit(self, position: int = -1) -> None:
        """Move the focus into the text of the comment, to this position or, if it is negative, to the end."""
        raise NotImplementedError
