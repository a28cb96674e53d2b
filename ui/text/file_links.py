"""Links in answers to files of the folder. Only the window can open them, because they have a scheme of their own."""

import re
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

SCHEME: Final = "workspace:"
_LINE: Final = re.compile(r"(?P<path>.*?)(?:#L|:)(?P<line>[1-9]\d{0,6})(?:[-:]L?\d{1,7})?")
_OTHER_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)")
_CODE: Final = re.compile(r"(?!/)[\w@%+=.,/ -]*[\w-]\.\w{1,8}:[1-9]\d{0,6}(?:[-:]\d{1,7})?")
MAX_LENGTH: Final = 400


class LinkedFile(NamedTuple):
    """The file that a link names, and the line in it; 0 if it names no line."""

    path: str
    line: int


def file_link(address: str) -> str:
    """Return the link for the address in a Markdown link; "" if the address does not name a file.

    Web addresses, anchors, and paths with another scheme do not name a file. The path is checked only when the link is
    opened.
    """
    if not address or len(address) > MAX_LENGTH or address.startswith(("#", "//", "?", "\\")):
        return ""
    if _OTHER_SCHEME.match(address):
        return ""
    return SCHEME + quote(unquote(address), safe="/#:")


def code_link(text: str) -> str:
    """Return the link for inline code such as `src/a.py:12`; "" unless it is a path with a line number."""
    return file_link(text) if len(text) <= MAX_LENGTH and _CODE.fullmatch(text) else ""


def file_of_link(link: str) -> LinkedFile | None:
    """Return the file that a file link names; None for any other link."""
    if not link.startswith(SCHEME):
        return None
    name = unquote(link.removeprefix(SCHEME))
    if match := _LINE.fullmatch(name):
        return LinkedFile(match["path"], int(match["line"]))
    return LinkedFile(name.partition("#")[0], line=0)
