"""New files whose names untrusted content may have dictated, and commands that it contains."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from core.domain.command_line import split_loosely
from core.domain.visible import visible_name
from core.engine.policy.proposed_call import ProposedCall

WRITTEN_BY_CONTENT = "You have not written `{}`, but untrusted content that the run has read contains it."
NAMED_BY_CONTENT = "{} is a new file that you have not named, but untrusted content that the run has read has."


def dictation_reason(
    call: ProposedCall,
    content_mark: Callable[[str], str],
    untrusted_texts: Iterable[str],
    user_words: Sequence[str],
) -> str:
    """Return why a call needs approval that untrusted content may have dictated; "" if it has not.

    `content_mark` returns "" for a file that does not exist.
    """
    if call.access == "execute":
        command = dictated_command(call.subjects[0], list(untrusted_texts), user_words)
        return WRITTEN_BY_CONTENT.format(visible_name(command)) if command else ""
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


def dictated_command(command: str, untrusted_texts: Sequence[str], user_words: Sequence[str]) -> str:
    """Return the first part of a command line that untrusted content contains and the user has not written, or ""."""
    content, written = (" ".join(" ".join(texts).split()) for texts in (untrusted_texts, user_words))
    parts = (" ".join(words) for words in split_loosely(command) if len(words) > 1)
    return next((part for part in parts if part in content and part not in written), "")
