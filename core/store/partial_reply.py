"""Keeps the text of a reply in a file while it arrives, so that a crash does not lose the text.

The event log gets a reply only when it has ended.
"""

import contextlib
from pathlib import Path

from core.store.files import make_private

FOLDER = "partial_replies"


class PartialReply:
    """The file with the part of a reply that a session has received so far.

    The file only helps after a crash, so an error while writing it is ignored.
    """

    def __init__(self, data: Path, session: str) -> None:
        self._path = data / FOLDER / session
        self._has_text = False

    def add(self, text: str) -> None:
        if text:  # the first text of a reply replaces the file of an earlier reply
            with contextlib.suppress(OSError), self._path.open("ab" if self._has_text else "wb") as file:
                self._has_text = True
                file.write(text.encode("utf-8", "surrogatepass"))

    def clear(self) -> None:
        if self._has_text:
            self._has_text = False
            with contextlib.suppress(OSError):
                self._path.unlink()


def take_partial_replies(data: Path) -> dict[str, str]:
    """Return the partial replies that a crash left, by session, and remove their files.

    From now on new ones are saved.
    """
    folder = data / FOLDER
    make_private(folder)
    replies: dict[str, str] = {}
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            replies[path.name] = path.read_bytes().decode("utf-8", "replace")
            path.unlink()
    return replies
