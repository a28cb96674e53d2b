"""The rule that a file must be read before it is edited, kept by the digests of what a session has read."""

import hashlib
import posixpath
from collections.abc import Mapping

from core.domain.problems import Problem
from core.tools.tool import ToolResult

EXCERPT = 1_500


def content_digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def normalized_path(path: str) -> str:
    """Return the normalized path: `./a.txt` and `a.txt` are the same file."""
    return posixpath.normpath(path)


def updated_digests(digests: Mapping[str, str], result: ToolResult) -> dict[str, str]:
    """Return the digests by path after a call, updated with what it read and wrote itself."""
    updated = {**digests, **{normalized_path(path): digest for path, digest in result.known_files}}
    for change in result.changes:
        if change.after is None:
            updated.pop(normalized_path(change.path), None)
        elif updated.get(normalized_path(change.path)) == (change.before and content_digest(change.before)):
            updated[normalized_path(change.path)] = content_digest(change.after)
    return updated


def require_read(path: str, body: bytes, known_digest: str) -> None:
    """Raise a Problem that shows the current text, unless `known_digest` is the digest of these contents."""
    if known_digest == content_digest(body):
        return
    excerpt = body[:EXCERPT].decode("utf-8", "replace")
    more = f"\n… {len(body) - EXCERPT:,} bytes more" if len(body) > EXCERPT else ""
    if known_digest:
        message, cause = f"{path} has changed since it was read.", "A command or another program wrote to it."
    else:
        message, cause = f"{path} was not read in this session.", "An edit needs its current text."
    raise Problem(message, cause, f"Read it, then edit again. It starts with:\n{excerpt}{more}")


def unread_result(path: str, body: bytes, problem: Problem) -> ToolResult:
    """Return the failure of an edit of a file that was not read, because of `problem`.

    A short file is shown whole and counts as read then; of a longer one only the beginning is shown.
    """
    if len(body) > EXCERPT:
        require_read(path, body, "")
    text = f"{problem}\nThe whole text of {path} is:\n{body.decode('utf-8', 'replace')}"
    return ToolResult(text, failed=True, known_files=((path, content_digest(body)),))
