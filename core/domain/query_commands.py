"""Recognizes queries that change nothing: curl with a server on this computer, and sqlite3 with a database."""

import re
from collections.abc import Sequence

from core.domain.command_line import program_name
from core.domain.command_tables import words_of
from core.domain.shell_words import GlobPattern

LOOPBACK_URL = re.compile(
    r"(https?://)?(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?(/[A-Za-z0-9._~/%=&+,:?;-]*)?"
)
CURL_FLAGS = words_of(
    "-s -S -i -I -v -f -k -g -G -4 -6 -N --silent --show-error --include --head --verbose --fail --insecure --get"
    " --compressed --no-buffer --ipv4 --ipv6 --http1.1 --http2 --globoff --fail-with-body"
)
CURL_VALUES = words_of("-H -A -m -w -e --header --user-agent --max-time --connect-timeout --write-out --retry")
SELECT = re.compile(r"\s*(select|explain|with|pragma\s+\w+\s*(\(\s*\w+\s*\))?\s*;?\s*$)\b[^;]*;?\s*", re.IGNORECASE)
SQLITE_READS = re.compile(r"\.(schema|tables|indexes|indices|databases|fullschema|dbinfo|version)( [A-Za-z0-9_]+)?")
SQLITE_CODE = re.compile(
    r"readfile|writefile|edit|load_extension|fsdir|zipfile|tokenizer|attach|insert|update|delete|eval", re.IGNORECASE
)
SQLITE_FLAGS = words_of("-readonly -safe -batch -header -noheader -column -csv -json -line -list -markdown -box -table")


def reads_loopback(argv: Sequence[str]) -> bool:
    """Return whether a command is curl that only reads from servers on this computer."""
    if program_name(argv[0]) != "curl":
        return False
    urls: list[str] = []
    remaining = list(argv[1:])
    while remaining:
        word = remaining.pop(0)
        if remaining and _is_harmless_value(word, remaining[0]):
            remaining.pop(0)
        elif not word.startswith("-"):
            urls.append(word)
        elif word not in CURL_FLAGS and not _is_group_of_flags(word):
            return False
    return bool(urls) and all(LOOPBACK_URL.fullmatch(url) and not isinstance(url, GlobPattern) for url in urls)


def _is_harmless_value(option: str, value: str) -> bool:
    """Return whether curl takes a value after this option, with which it only reads."""
    if option in ("-o", "--output"):
        return value == "/dev/null"
    if option in ("-X", "--request"):
        return value in ("GET", "HEAD")
    return option in CURL_VALUES and not value.startswith("@") and "%output" not in value


def _is_group_of_flags(word: str) -> bool:
    """Return whether a word consists of combined short options, all of which are flags, such as `-sS`."""
    return not word.startswith("--") and all(f"-{letter}" in CURL_FLAGS for letter in word[1:])


def reads_database(argv: Sequence[str]) -> bool:
    """Return whether a command is sqlite3 with a single query of a database that it opens read-only."""
    options = [word for word in argv[1:] if word.startswith("-")]
    operands = [word for word in argv[1:] if not word.startswith("-")]
    if program_name(argv[0]) != "sqlite3" or len(operands) != 2:
        return False
    if "-readonly" not in options or not SQLITE_FLAGS.issuperset(options):
        return False
    database, query = operands
    if isinstance(database, GlobPattern) or "\n" in query:
        return False
    if SQLITE_READS.fullmatch(query):
        return True
    return SELECT.fullmatch(query) is not None and not SQLITE_CODE.search(query)
