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
        quote, size = list(self.quote), len(self.quote)
        if not quote:
            return 0
        places = [
            n for n in range(len(lines) - size + 1) if lines[n] == quote[0] and list(lines[n : n + size]) == quote
        ]
        return min(places, key=lambda n: abs(n + 1 - self.first)) + 1 if places else 0


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
            same = (comment.path, comment.side, comment.quote) == (path, first.side, quote)
            if same and not comment.sent and comment.find(lines) == first.number:
                return comment
        comment = ReviewComment(
            id=session_id(), path=path, side=first.side, first=first.number, last=last.number, quote=quote
        )
        self.comments.append(comment)
        return comment

    def set_text(self, name: str, text: str) -> None:
        self.comments = [replace(old, text=text) if old.id == name else old for old in self.comments]

    def remove(self, name: str) -> None:
        self.comments = [comment for comment in self.comments if comment.id != name]

    def mark_sent(self, names: Sequence[str], sent: bool = True) -> None:
        self.comments = [replace(old, sent=sent) if old.id in names else old for old in self.comments]

    def toggle_kept(self, path: str, key: str) -> None:
        kept = self.kept.setdefault(path, set())
        kept ^= {key}
        if not kept:
            del self.kept[path]

    def places(self, path: str, diff: TextDiff) -> Mapping[DiffLine, Sequence[str]]:
        """Return the IDs of the comments on a file, grouped by the line below which they are shown."""
        places: dict[DiffLine, list[str]] = {}
        for comment in self.comments:
            if comment.path == path:
                first = comment.find(diff.new if comment.side == "new" else diff.old)
                last = DiffLine(comment.side, first + comment.last - comment.first) if first else NOT_FOUND
                places.setdefault(last, []).append(comment.id)
        return places

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
            return cls(
                [ReviewComment(**{**row, "quote": tuple(row["quote"])}) for row in stored.get("comments", ())],
                {str(path): {str(key) for key in keys} for path, keys in stored.get("kept", {}).items()},
                {str(path): str(blob) for path, blob in stored.get("kept_files", {}).items()},
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
    parts = [opening]
    for comment in sorted(comments, key=lambda each: (each.path, numbers.get(each.id, each.first))):
        first = numbers.get(comment.id, comment.first)
        last = first + comment.last - comment.first
        path = visible_name(comment.path)
        if path.lstrip().startswith(("`", "~", ">")):  # such a path would begin or end the quote in Markdown
            path = f"./{path}"
        place = f"{path}:{first}" + (f"-{last}" if last > first else "")
        removed = " (removed by you)" if comment.side == "old" else ""
        code = [line.rstrip("\r\n") for line in comment.quote[:MAX_QUOTED]]
        code += ["…"] if len(comment.quote) > MAX_QUOTED else []
        fence = "```"
        while any(fence in line for line in code):
            fence += "`"
        parts.append("\n".join([f"{place}{removed}", fence, *code, fence, comment.text.strip()]))
    return "\n\n".join(parts)
