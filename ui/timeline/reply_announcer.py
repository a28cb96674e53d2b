"""Announces a reply through screen readers while it is being streamed."""

from PySide6.QtWidgets import QWidget

from ui.text.plain_text import markdown_to_plain_text
from ui.widgets.announce import announce


class ReplyAnnouncer:
    """Announces each paragraph of a reply once, as soon as it is complete, like a live region of a web page.

    Nothing is announced while `source` is hidden or its window is inactive.
    """

    def __init__(self, source: QWidget) -> None:
        self._source = source
        self._position = 0  # characters of the reply that have been announced or skipped

    def skip(self, text: str) -> None:
        """Begin with the paragraph after the complete ones in `text`, the reply in progress of another session."""
        self._position = _end_of_paragraphs(text, 0)

    def follow(self, text: str) -> None:
        """Announce the paragraphs that have been completed. `text` is the part of the reply that has arrived."""
        end = _end_of_paragraphs(text, self._position)
        self._announce(text[self._position : end])
        self._position = end

    def finish(self, text: str) -> None:
        """Announce the rest of a reply whose complete text is `text`."""
        self._announce(text[self._position :])
        self._position = 0

    def _announce(self, markdown: str) -> None:
        if self._source.isVisible() and self._source.isActiveWindow() and (text := markdown_to_plain_text(markdown)):
            announce(self._source, text)


def _end_of_paragraphs(text: str, start: int) -> int:
    """Return where the last complete paragraph after `start` ends; `start` if none is complete.

    A blank line inside a code block does not end a paragraph.
    """
    end = text.rfind("\n\n", start)
    while end > start and text.count("```", start, end) % 2:
        end = text.rfind("\n\n", start, end)
    return max(start, end + 2) if end >= start else start
