"""New files whose names untrusted content may have dictated, and commands that it contains."""

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from core.domain.command_line import ASSIGNMENT, DURATION, UNWRAPPED, program_name, split_loosely
from core.domain.command_tables import program_sets
from core.domain.visible import visible_name
from core.engine.policy.proposed_call import ProposedCall

WRITTEN_BY_CONTENT = "You have not written `{}`, but untrusted content that the run has read contains it."
NAMED_BY_CONTENT = "{} is a new file that you have not named, but untrusted content that the run has read has."
INTERPRETERS = frozenset({"python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua"})
SHELL_PREFIXES = frozenset({".", "source", "exec", "command", "builtin", "eval", "then", "do", "else", "!"})
FOLDERS = r"(?:[\w.~@+-]*/)*"
PROGRAM_START = rf"(?<![\w./-]){FOLDERS}"
OPTIONS_BETWEEN = r"(?: -\S*)*"
# A script is run by its path, or after the name of a program or a word that says so.
SCRIPT_START = (
    rf"(?:(?<![\w./-])(?:\.|source|[Rr]un|[Ee]xecute|[Ss]tart|(?:{FOLDERS}(?:\w*sh|{'|'.join(sorted(INTERPRETERS))})"
    rf"[\d.]*))(?: -\S*)* {FOLDERS}|(?<![\w-])[\w.~@+-]*/{FOLDERS})"
)


def dictation_reason(
    call: ProposedCall,
    content_mark: Callable[[str], str],
    untrusted_texts: Callable[[], Sequence[str]],
    user_words: Sequence[str],
) -> str:
    """Return why a call needs approval that untrusted content may have dictated; "" if it has not.

    `content_mark` returns "" for a file that does not exist; `untrusted_texts` loads the texts, if they are needed.
    """
    if call.access == "execute":
        command = dictated_command(call.subjects[0], untrusted_texts(), user_words)
        return WRITTEN_BY_CONTENT.format(visible_name(command)) if command else ""
    new = [path for path in call.subjects if not content_mark(path)] if call.access == "write" else []
    path = dictated_file(new, untrusted_texts(), user_words) if new else ""
    return NAMED_BY_CONTENT.format(visible_name(path)) if path else ""


def dictated_file(paths: Sequence[str], untrusted_texts: Sequence[str], user_words: Sequence[str]) -> str:
    """Return the first of the new files that untrusted content names and the user does not; "" if there is none."""
    for path in paths:
        named = re.compile(rf"(?<![\w-]){re.escape(posixpath.basename(path))}(?![\w-])", re.IGNORECASE).search
        if any(map(named, untrusted_texts)) and not any(map(named, user_words)):
            return path
    return ""


def dictated_command(command: str, untrusted_texts: Sequence[str], user_words: Sequence[str]) -> str:
    """Return the first part of a command line that untrusted content contains and the user has not written, or "".

    A part is also found if it is spelled differently: quoted, run through a wrapper such as `timeout` or by another
    shell, as `./x` instead of `sh x`, or with further options. What the user has written must be the same command.
    """
    content, written = _plain(tuple(untrusted_texts)), _plain(tuple(user_words))
    for words in split_loosely(command):
        for part in _unwrapped(words):
            is_script = "/" in part[0] or ("." in part[0] and len(part) < len(words))
            strict, loose = _spellings(part, is_script=is_script)
            found = (" ".join(part) in content and len(part) > 1) or any(each.search(content) for each in loose)
            if found and " ".join(words) not in written and not any(each.search(written) for each in strict):
                return " ".join(words)
    return ""


@lru_cache(maxsize=4)
def _plain(texts: tuple[str, ...]) -> str:
    """Return texts without what quotes and escapes in a command line add, as `split_loosely` leaves it out, too."""
    text = unicodedata.normalize("NFKC", " ".join(texts))
    return " ".join(re.sub(r"['\"`\\]", "", re.sub(r"\$\{?IFS\}?|\\\r?\n", " ", text)).split())


def _unwrapped(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield a command, and the commands that its first words may run, such as those after `env X=1` or `sh -c`."""
    yield list(words)
    for index in range(1, len(words)):
        before = words[index - 1]
        is_value = index > 1 and words[index - 2].startswith("-")
        if not (_runs_another(before) or before.startswith("-") or is_value):
            return
        yield list(words[index:])


def _runs_another(word: str) -> bool:
    """Return whether a word can precede a command without being a part of it."""
    programs = program_sets()
    return (
        program_name(word) in {*programs.wrappers, *programs.shells, *UNWRAPPED, *INTERPRETERS, *SHELL_PREFIXES}
        or bool(ASSIGNMENT.match(word))
        or bool(DURATION.fullmatch(word))
    )


def _spellings(words: Sequence[str], *, is_script: bool) -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    """Return patterns for texts that contain this command: as it is, and with other options."""
    name, *arguments = words
    operands = [word for word in arguments if not word.startswith("-")]
    without_values = [
        word for before, word in pairwise(words) if not word.startswith("-") and not before.startswith("-")
    ]
    base = re.escape(posixpath.basename(name))
    starts = [*([PROGRAM_START] if operands else []), *([SCRIPT_START] if is_script else [])]
    strict = [f"{start}{base}{_sequence(arguments, '')}" for start in starts]
    loose = [
        f"{start}{base}{_sequence(each, OPTIONS_BETWEEN)}"
        for start in starts
        for each in (operands, without_values)
        if each or is_script
    ]
    return [re.compile(each) for each in strict], [re.compile(each) for each in dict.fromkeys(loose)]


def _sequence(words: Iterable[str], between: str) -> str:
    """Return a pattern for these words one after the other."""
    return "".join(rf"{between} (?:\./)?{re.escape(word.removeprefix('./'))}" for word in words) + r"(?![\w/-])"
