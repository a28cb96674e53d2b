"""What the diff view of the Changes panel shows."""

from typing import NamedTuple


class FileContents(NamedTuple):
    """The IDs of the contents before and after a change; an empty string stands for a version without the file."""

    before: str
    after: str


class ShownDiff(NamedTuple):
    """The diff that is shown: of which file, between which contents, and how."""

    session: str
    path: str
    contents: FileContents
    side_by_side: bool
    can_revert_hunks: bool

    def is_same_file(self, other: "ShownDiff") -> bool:
        return self.session == other.session and self.path == other.path
