"""Read before edit: what a session has seen of the files it wants to change."""

import hashlib
import posixpath
from collections.abc import Mapping

from core.domain.problems import Problem
from core.tools.tool import Result

EXCERPT = 1_500


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def same_name(path: str) -> str:
    """`./a.txt` and `a.txt` are one file."""
    return posixpath.normpath(path)


def seen_after(seen: Mapping[str, str], result: Result) -> dict[str, str]:
    """What is known once a call has returned: what it read, and what it wrote itself."""
    known = {**seen, **{same_name(path): mark for path, mark in result.seen}}
    for change in result.changes:
        if change.after is None:
            known.pop(same_name(change.path), None)
        elif known.get(same_name(change.path)) == (change.before and digest(change.before)):
            known[same_name(change.path)] = digest(change.after)
    return known


def refuse_unseen(path: str, body: bytes, mark: str) -> None:
    """Raise unless `mark` is the digest of these very contents; the refusal shows what stands there."""
    if mark == digest(body):
        return
    excerpt = body[:EXCERPT].decode("utf-8", "replace")
    more = f"\n… {len(body) - EXCERPT:,} bytes more" if len(body) > EXCERPT else ""
    if mark:
        what, why = f"{path} has changed since it was read.", "Somebody else, or a command, wrote to it."
    else:
        what, why = f"{path} was not read in this session.", "An edit needs the text as it stands."
    raise Problem(what, why, f"Read it, then edit again. It begins:\n{excerpt}{more}")
