"""Detects calls that untrusted content may have dictated: commands that it contains, and new files that it names."""

import posixpath
import re
import unicodedata
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice, pairwise

from core.domain.command_line import ASSIGNMENT, DURATION, UNWRAPPED, program_name, split_loosely
from core.domain.command_tables import program_sets
from core.domain.text import normalized
from core.domain.visible import visible_name
from core.engine.policy.proposed_call import ProposedCall
from core.engine.policy.script_paths import INTERPRETERS, PROGRAMS, runs_own_output

WRITTEN_BY_CONTENT = "You have not written “{}”, but untrusted content that the run has read contains it."
NAMED_BY_CONTENT = "{} is a new file that you have not named, but untrusted content that the run has read has."
COMPUTED = "The run has read untrusted content, and this command runs text that only its execution determines."
SHELL_PREFIXES = frozenset({".", "source", "exec", "command", "builtin", "eval", "then", "do", "else", "!"})
# All repetitions in these patterns are limited, so that no text can make the search slow.
OPTIONS_BETWEEN = r"(?: -\S{0,80}){0,6}"
MAX_PREFIX = 80  # how many characters before a match are examined for what makes it a command
MAX_PLACES = 1_000  # matches examined in a text; if there are more, the text counts as containing the command
_FOLDERS = r"(?:[\w.~@+-]*/)*"
_IS_PROGRAM = re.compile(rf"(?<![\w./-]){_FOLDERS}\Z")
# A script name counts as a command after a path, the name of an interpreter or shell, or a word such as `Run`.
_RUNNERS = rf"\.|source|[Rr]un|[Ee]xecute|[Ss]tart|{_FOLDERS}(?:\w*sh|{'|'.join(sorted(INTERPRETERS))})[\d.]*"
_IS_SCRIPT = re.compile(rf"(?:(?<![\w./-])(?:{_RUNNERS}){OPTIONS_BETWEEN} {_FOLDERS}|(?<![\w-])[\w.~@+-]*/)\Z")


BASE64 = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{12,20000}={0,2}(?![\w+/=-])")
URL_SAFE = str.maketrans("-_", "+/")
MAX_SEARCHES = 200  # commands of a line searched for in the untrusted content
MAX_WRAPPERS = 20  # commands around a command, as in `sudo env timeout 5 make`
MAX_TOKENS = 2_000  # base64 tokens decoded in all texts together
MAX_COMPARED = 20_000  # characters; a longer command counts as one that runs computed text
_WRAPPERS = r"sudo|doas|env|timeout|nohup|nice|xargs|stdbuf|time|exec|command|setsid"
_BEFORE = (
    rf"\|&?[ \t]{{0,20}}(?:(?:{_WRAPPERS}|-\S{{1,40}}|\d\S{{0,20}}|\w{{1,40}}=\S{{0,80}})[ \t]{{1,20}}){{0,8}}"
    r"(?:[\w./~-]{0,80}/)?"
)
_BEGINNING = r"(?:^|[;&|(\n{!]|\b(?:then|do|else|exec|command|builtin|env|sudo|nohup|xargs)\s)[ \t]{0,20}"
RUNS_COMPUTED = re.compile(
    # A shell or an interpreter that runs its input from a pipe or in `>(…)`, or the output of a program in `<(…)`.
    rf"{_BEFORE}{PROGRAMS}(?:[ \t]{{1,20}}-[\w-]{{0,40}}){{0,6}}"
    r"(?:[ \t]{0,20}(?:$|[;&|)<>\n`])|[\"'])"
    rf"|{_BEFORE}\w*sh[ \t]{{1,20}}-s\b"
    rf"|(?<![\w./-])(?:source|\.|{PROGRAMS})[ \t]{{1,20}}<\(|>\([ \t]{{0,20}}{PROGRAMS}[ \t]{{0,20}}\)"
    # A script whose name is a variable or a pattern, or which is in a folder of which no change is recorded.
    rf"|(?<![\w./-])(?:source|\.|{PROGRAMS})[ \t]{{1,20}}(?:-(?!\w{{0,20}}[ce]\b)[\w-]{{0,40}}[ \t]{{1,20}}){{0,6}}"
    r"[\"']?(?:[\w./-]{0,80}[$`*?\[{]|(?:[\w./-]{0,80}/)?\.git/)"
    # A command whose name is a variable or the output of a command, `eval`, and `sh -c` with such text.
    rf"|{_BEGINNING}\"?(?:[`]|\$[({{\w'])"
    r"|(?<![\w./-])eval(?![\w.(-])"
    r"|(?<![\w.-])(?:\w*sh)[ \t]{1,20}(?:-\w{1,20}[ \t]{1,20}){0,4}-\w{0,20}c[ \t]{1,20}\"?[$`]"
    # A shell for which xargs reads the commands from a file.
    r"|(?<![\w.-])xargs\b[^|;&\n]{0,200}[ /]\w{0,20}sh[ \t]{1,20}-\w{0,20}c\b",
)
# Code for an interpreter that runs text other than a literal, as in `python3 -c 'exec(bytes.fromhex(x))'`.
EVALUATES = re.compile(
    r"\b(?:exec|eval|execfile|loadstring|Function|system|popen|execSync)\b[ \t]{0,20}\([ \t]{0,20}(?![ \t)'\"\[\\])"
    r"|\beval[ \t]{1,20}[\w$]"
)


def dictation_reason(
    call: ProposedCall,
    content_mark: Callable[[str], str],
    untrusted_texts: Callable[[], Sequence[str]],
    user_words: Sequence[str],
) -> str:
    """Return why untrusted content may have dictated a call, so that it needs approval; "" if it has not.

    `content_mark` returns "" for a file that does not exist. `untrusted_texts` loads the untrusted content and is
    called only for commands and new files. `user_words` are the messages of the user.
    """
    if call.access == "execute":
        texts = untrusted_texts()
        if command := dictated_command(call.subjects[0], texts, user_words):
            return WRITTEN_BY_CONTENT.format(visible_name(command))
        return COMPUTED if texts and _runs_computed_text(call.subjects[0], user_words) else ""
    new = [path for path in call.subjects if not content_mark(path)] if call.access == "write" else []
    path = dictated_file(new, untrusted_texts(), user_words) if new else ""
    return NAMED_BY_CONTENT.format(visible_name(path)) if path else ""


def dictated_file(paths: Sequence[str], untrusted_texts: Sequence[str], user_words: Sequence[str]) -> str:
    """Return the first of these new files whose name occurs in untrusted content but in no user message, or ""."""
    for path in paths:
        named = re.compile(rf"(?<![\w-]){re.escape(posixpath.basename(path))}(?![\w-])", re.IGNORECASE).search
        if any(map(named, untrusted_texts)) and not any(map(named, user_words)):
            return path
    return ""


def dictated_command(command: str, untrusted_texts: Sequence[str], user_words: Sequence[str]) -> str:
    """Return the first command of a line that untrusted content contains and the user has not written, or "".

    A command is also found in the content if it is spelled differently: quoted, run through a wrapper such as `timeout`
    or by another shell, as `./x` instead of `sh x`, with further options, or in base64 on either side. The user's
    message must contain the command with the same options.
    """
    content = _plain((*untrusted_texts, *_decoded(untrusted_texts)))
    written = _plain((*user_words, *_decoded(user_words)))
    occurs = cache(content.__contains__)
    searches = 0
    commands = (tuple(words) for text in (command, *_decoded([command])) for words in split_loosely(text))
    for words in dict.fromkeys(commands):
        for depth, part in enumerate(_unwrapped(words)):
            if depth > MAX_WRAPPERS:
                return " ".join(words)
            if not all(map(occurs, _required_words(part))):
                continue
            searches += 1
            if searches > MAX_SEARCHES:  # The rest would take too long, so assume the worst.
                return " ".join(words)
            is_script = "/" in part[0] or ("." in part[0] and len(part) < len(words))
            if not _occurs(content, part, is_script=is_script):
                continue
            by_user = " ".join(words) in written or _contains(written, _pattern(part, ""), is_script=is_script)
            if not by_user:
                return " ".join(words)
    return ""


def _occurs(content: str, words: Sequence[str], *, is_script: bool) -> bool:
    """Return whether a text contains a command, also with other options."""
    if len(words) > 1 and " ".join(words) in content:
        return True
    return any(_contains(content, pattern, is_script=is_script) for pattern in _with_other_options(words))


def _decoded(texts: Sequence[str]) -> list[str]:
    """Decode the base64 tokens in these texts, and return those that contain UTF-8 text."""
    found = []
    tokens = (match[0] for text in texts for match in BASE64.finditer(text))
    for token in islice(tokens, MAX_TOKENS):
        padded = token.translate(URL_SAFE).rstrip("=") + "=" * (-len(token.rstrip("=")) % 4)
        with suppress(ValueError):  # It is not valid base64, or does not contain UTF-8.
            found.append(b64decode(padded, validate=True).decode())
    return found


def _runs_computed_text(command: str, user_words: Sequence[str]) -> bool:
    """Return whether a command executes text that is known only at run time, and the user has not written it."""
    is_computed = (
        len(command) > MAX_COMPARED
        or bool(RUNS_COMPUTED.search(command))
        or runs_own_output(command)
        or _evaluates(command)
    )
    return is_computed and not is_written(command, user_words)


def _evaluates(command: str) -> bool:
    """Return whether a command line has an interpreter run text that its code computes."""
    names = {program_name(word) for words in split_loosely(command) for word in words}
    return not INTERPRETERS.isdisjoint(names) and bool(EVALUATES.search(command))


def is_written(command: str, user_words: Sequence[str]) -> bool:
    """Return whether a message of the user contains this command line, apart from white space."""
    return any(normalized(command) in normalized(words) for words in user_words)


@lru_cache(maxsize=4)
def _plain(texts: tuple[str, ...]) -> str:
    """Join texts without quotes, escapes and repeated spaces, to compare them with words from `split_loosely`."""
    text = unicodedata.normalize("NFKC", " ".join(texts))
    return " ".join(re.sub(r"['\"`\\]", "", re.sub(r"\$\{?IFS\}?|\\\r?\n", " ", text)).split())


def _unwrapped(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield a command, and each command that it may wrap, such as the words after `env X=1` or `sh -c`."""
    yield list(words)
    for index in range(1, len(words)):
        before = words[index - 1]
        is_value = index > 1 and words[index - 2].startswith("-")
        if not (_runs_another(before) or before.startswith("-") or is_value):
            return
        if not words[index].startswith("-"):
            yield list(words[index:])


def _runs_another(word: str) -> bool:
    """Return whether a word can precede a wrapped command: a wrapper, a shell, an assignment, or a duration."""
    programs = program_sets()
    return (
        program_name(word) in {*programs.wrappers, *programs.shells, *UNWRAPPED, *INTERPRETERS, *SHELL_PREFIXES}
        or bool(ASSIGNMENT.match(word))
        or bool(DURATION.fullmatch(word))
    )


def _required_words(words: Sequence[str]) -> list[str]:
    """Return the words that occur in each text in which `_with_other_options` finds a match."""
    values = {word for option, word in pairwise(words) if option.startswith("-")}
    operands = (word.removeprefix("./") for word in words[1:] if not word.startswith("-") and word not in values)
    return [posixpath.basename(words[0]), *operands]


def _with_other_options(words: Sequence[str]) -> Iterator[str]:
    """Yield patterns that match this command with any options: one with all its operands, and one without those
    that may be values of options.
    """
    operands = [word for word in words[1:] if not word.startswith("-")]
    values = [word for option, word in pairwise(words) if option.startswith("-")]
    yield _pattern([words[0], *operands], OPTIONS_BETWEEN)
    if values:
        yield _pattern([words[0], *(word for word in operands if word not in values)], OPTIONS_BETWEEN)


def _pattern(words: Sequence[str], between: str) -> str:
    """Return a regular expression for a command: the program name without its folder, then the other words.

    `between` is the expression for what may precede each of the other words, such as further options.
    """
    name = re.escape(posixpath.basename(words[0]))
    operands = (rf"{between} (?:\./)?{re.escape(word.removeprefix('./'))}" for word in words[1:])
    return rf"(?<![\w-]){name}{''.join(operands)}(?![\w/-])"


def _contains(text: str, pattern: str, *, is_script: bool) -> bool:
    """Return whether a text contains a match of `pattern` where a command can begin, such as after a folder.

    A pattern for a single word matches only as a script: the name alone would occur in ordinary prose.
    """
    is_single = " " not in pattern
    for count, match in enumerate(re.finditer(pattern, text)):
        if count == MAX_PLACES:
            return True
        prefix = text[max(0, match.start() - MAX_PREFIX) : match.start()]
        if (is_script and _IS_SCRIPT.search(prefix)) or (not is_single and _IS_PROGRAM.search(prefix)):
            return True
    return False
