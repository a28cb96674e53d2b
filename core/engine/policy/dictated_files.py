"""New files whose names untrusted content may have dictated."""

import posixpath
import re
from collections.abc import Iterable, Sequence


def dictated_file(paths: Sequence[str], untrusted_texts: Iterable[str], user_words: Sequence[str]) -> str:
    """Return the first of the new files that untrusted content names and the user does not; "" if there is none."""
    for path in paths:
        named = re.compile(rf"(?<![\w-]){re.escape(posixpath.basename(path))}(?![\w-])", re.IGNORECASE).search
        if any(map(named, untrusted_texts)) and not any(map(named, user_words)):
            return path
    return ""
