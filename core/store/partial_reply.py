"""Keeps the text of a reply in a file while it arrives, so that a crash does not lose the text.

The event log gets a reply only when it has ended.
"""

import contextlib
from pathlib import Path

from core.store.files import make_private

FOLDER = "partial_replies"


class PartialReply:
    """The file with the text that a session has received of a reply. It only helps after a crash, so it may fail."""

    def __init__(self, data: Path, session: str) -> None:
        self._path = data / FOLDER / session

    def add(self, text: str) -> None:
        if text:
            with contextlib.suppress(OSError), self._path.open("ab") as file:
                file.write(text.encode("utf-8", "surrogatepass"))

    def clear(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()


def take_partial_replies(data: Path) -> dict[str, str]:
    """Remove the partial replies that a crash left and return them by session. Later ones are saved from now on."""
    folder = data / FOLDER
    make_private(folder)
    replies: dict[str, str] = {}
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            replies[path.name] = path.read_bytes().decode("utf-8", "replace")
            path.unlink()
    return replies
