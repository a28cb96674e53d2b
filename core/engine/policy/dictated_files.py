"""New files whose names untrusted content may have dictated."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from core.domain.visible import visible_name
from core.engine.policy.proposed_call import ProposedCall

NAMED_BY_CONTENT = "{} is a new file that you have not named, but untrusted content that the run has read has."


def dictated_file_reason(
    call: ProposedCall,
    content_mark: Callable[[str], str],
    untrusted_texts: Iterable[str],
    user_words: Sequence[str],
) -> str:
    """Return why a call that creates files needs approval; "" if untrusted content has dictated none of their names.

    `content_mark` returns "" for a file that does not exist.
    """
    new = [path for path in call.subjects if not content_mark(path)] if call.access == "write" else []
    path = dictated_file(new, list(untrusted_texts), user_words) if new else ""
    return NAMED_BY_CONTENT.format(visible_name(path)) if path else ""


def dictated_file(paths: Sequence[str], untrusted_texts: Sequence[str], user_words: Sequence[str]) -> str:
    """Return the first of the new files that untrusted content names and the user does not; "" if there is none."""
    for path in paths:
        named = re.compile(rf"(?<![\w-]){re.escape(posixpath.basename(path))}(?![\w-])", re.IGNORECASE).search
        if any(map(named, untrusted_texts)) and not any(map(named, user_words)):
            return path
    return ""
