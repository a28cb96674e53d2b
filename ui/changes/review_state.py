"""The user's review of a session's changes: comments on lines, and hunks to keep. It is stored across restarts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from core.domain.ids import session_id
from core.domain.visible import visible_name
from core.timeline.text_diff import TextDiff
from ui.diff.diff_rows import DiffLine

NOT_FOUND = DiffLine("new", 0)
"""The place of a comment whose lines are no longer in the file."""
MAX_QUOTED = 12  # lines of code quoted at most in the message, per comment


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """A comment on the lines `first` to `last` of the old or the new text of a file.

    `quote` is the text of these lines when the comment was written. `sent` is true after the comment was sent to the
    agent; until then, it is a draft.
    """

    id: str
    path: str
    side: str
    first: int
    last: int
    quote: tuple[str, ...]
    text: str = ""
    sent: bool = False

    def find(self, lines: Sequence[str]) -> int:
        """Return the number of the first commented line in the current `lines`; 0 if the lines no longer exist.

        If the commented text occurs several times, the occurrence nearest to its original place is returned.
        """
        if not self.quote:
            return 0
        possible_numbers = range(1, len(lines) - len(self.quote) + 2)
        numbers = [number for number in possible_numbers if self._is_at(lines, number)]
        return min(numbers, key=lambda number: abs(number - self.first), default=0)

    def _is_at(self, lines: Sequence[str], number: int) -> bool:
        """Return whether the commented text begins in the line with this number."""
        first = number - 1
        # Most lines differ from the first line of the text, so that no slice is created for them.
        return lines[first] == self.quote[0] and tuple(lines[first : first + len(self.quote)]) == self.quote


@dataclass(slots=True)
class ReviewState:
    """The comments, and the keys of the hunks that the user keeps, by file.

    `kept_files` maps each file in which all hunks were kept to the ID of its contents at that time.
    """

    comments: list[ReviewComment] = field(default_factory=list)
    kept: dict[str, set[str]] = field(default_factory=dict)
    kept_files: dict[str, str] = field(default_factory=dict)

    @property
    def drafts(self) -> list[ReviewComment]:
        """The comments that have a text and have not been sent."""
        return [comment for comment in self.comments if comment.text.strip() and not comment.sent]

    def find(self, name: str) -> ReviewComment | None:
        return next((comment for comment in self.comments if comment.id == name), None)

    def add(self, path: str, first: DiffLine, last: DiffLine, diff: TextDiff) -> ReviewComment:
        """Return the unsent comment on a range of lines. If there is none, add one without text."""
        lines = diff.new if first.side == "new" else diff.old
        quote = tuple(lines[first.number - 1 : last.number])
        for comment in self.comments:
            is_same_text = comment.path == path and comment.side == first.side and comment.quote == quote
            if is_same_text and not comment.sent and comment.find(lines) == first.number:
                return comment
        comment = ReviewComment(
            id=session_id(), path=path, side=first.side, first=first.number, last=last.number, quote=quote
        )
        self.comments.append(comment)
        return comment

    def set_text(self, name: str, text: str) -> None:
        self.comments = [replace(comment, text=text) if comment.id == name else comment for comment in self.comments]

    def remove(self, name: str) -> None:
        self.comments = [comment for comment in self.comments if comment.id != name]

    def mark_sent(self, names: Sequence[str], sent: bool = True) -> None:
        self.comments = [replace(comment, sent=sent) if comment.id in names else comment for comment in self.comments]

    def toggle_kept(self, path: str, key: str) -> None:
        kept = self.kept.setdefault(path, set())
        kept ^= {key}
        if not kept:
            del self.kept[path]

    def comments_by_line(self, path: str, diff: TextDiff) -> Mapping[DiffLine, Sequence[str]]:
        """Return the IDs of the comments on a file, grouped by the line below which they are shown."""
        grouped: dict[DiffLine, list[str]] = {}
        for comment in self.comments:
            if comment.path == path:
                first = comment.find(diff.new if comment.side == "new" else diff.old)
                last = DiffLine(comment.side, first + comment.last - comment.first) if first else NOT_FOUND
                grouped.setdefault(last, []).append(comment.id)
        return grouped

    def dump(self) -> str:
        """Return the state as JSON; "" if it is empty."""
        comments = [asdict(comment) for comment in self.comments if comment.text.strip()]
        if not comments and not self.kept:
            return ""
        kept = {path: sorted(keys) for path, keys in self.kept.items()}
        return json.dumps({"comments": comments, "kept": kept, "kept_files": self.kept_files})

    @classmethod
    def load(cls, text: str) -> "ReviewState":
        """Parse a stored state. Invalid data results in an empty state."""
        try:
            stored: Any = json.loads(text or "{}")
            comments = stored.get("comments", ())
            return cls(
                comments=[ReviewComment(**{**comment, "quote": tuple(comment["quote"])}) for comment in comments],
                kept={str(path): {str(key) for key in keys} for path, keys in stored.get("kept", {}).items()},
                kept_files={str(path): str(blob) for path, blob in stored.get("kept_files", {}).items()},
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()


def review_message(comments: Sequence[ReviewComment], numbers: Mapping[str, int]) -> str:
    """Return the message that sends comments to the agent, ordered by file: the place, code and text of each.

    `numbers` maps the ID of a comment to the current number of its first line. A comment whose lines no longer exist
    keeps its old number.
    """
    opening = "I reviewed your changes. Please address this comment:"
    if len(comments) > 1:
        opening = f"I reviewed your changes. Please address these {len(comments)} comments:"
    ordered = sorted(comments, key=lambda comment: (comment.path, numbers.get(comment.id, comment.first)))
    paragraphs = [_comment_paragraph(comment, numbers.get(comment.id, comment.first)) for comment in ordered]
    return "\n\n".join([opening, *paragraphs])


def _comment_paragraph(comment: ReviewComment, first: int) -> str:
    """Return the place, code and text of a comment whose first line has the number `first`."""
    last = first + comment.last - comment.first
    path = visible_name(comment.path)
    if path.lstrip().startswith(("`", "~", ">")):  # such a path would begin or end the quote in Markdown
        path = f"./{path}"
    place = f"{path}:{first}-{last}" if last > first else f"{path}:{first}"
    removed = " (removed by you)" if comment.side == "old" else ""
    code = [line.rstrip("\r\n") for line in comment.quote[:MAX_QUOTED]]
    if len(comment.quote) > MAX_QUOTED:
        code.append("…")
    fence = "```"
    while any(fence in line for line in code):
        fence += "`"
    return "\n".join([f"{place}{removed}", fence, *code, fence, comment.text.strip()])
