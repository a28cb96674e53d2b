"""Enforces that a file is read before it is edited, with digests of the contents that a session has read."""

import hashlib
import posixpath
from collections.abc import Mapping

from core.domain.problems import Problem
from core.tools.tool import KnownFile, ToolResult

EXCERPT = 1_500


def content_digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def normalized_path(path: str) -> str:
    """Return the normalized path: `./a.txt` and `a.txt` are the same file."""
    return posixpath.normpath(path)


def updated_digests(digests: Mapping[str, str], result: ToolResult) -> dict[str, str]:
    """Return the digests by path, updated with the files that a call has read, written or deleted."""
    updated = {**digests, **{normalized_path(path): digest for path, digest in result.known_files}}
    for change in result.changes:
        path = normalized_path(change.path)
        if change.after is None:
            updated.pop(path, None)
        elif updated.get(path) == (change.before and content_digest(change.before)):
            updated[path] = content_digest(change.after)
    return updated


def require_read(path: str, body: bytes, known_digest: str) -> None:
    """Raise Problem unless `known_digest` is the digest of the contents `body`. The error shows the current text."""
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
    """Return the failed result of an edit, because of `problem`, of a file that the model has not read.

    It shows the text of a short file, which then counts as read, or the beginning of a longer one.
    """
    if len(body) > EXCERPT:
        require_read(path, body, "")
    text = f"{problem}\nThe whole text of {path} is:\n{body.decode('utf-8', 'replace')}"
    return ToolResult(text, failed=True, known_files=(KnownFile(path, content_digest(body)),))
