"""Makes hidden characters visible, so that text from outside cannot change how the text around it reads."""

import re
import unicodedata
from typing import Final

LINE_LIMIT: Final = 4_096

_ANSI: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # colors and cursor
    "|\x1b[\\]P_^X][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)"  # titles, clipboard, links, images
    "|\x1b[ -/]*[0-~]"
    "|\x9b[0-?]*[ -/]*[@-~]"
)
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BREAKS: Final = re.compile("[\t\n]")
_JOINERS: Final = "\u200c\u200d"
_PICTURE_FORMS: Final = "\ufe0e\ufe0f"


def visible(text: str) -> str:
    """Return text without terminal escapes, and with control, bidi and zero-width characters as ⟦U+202E⟧.

    Variation selectors after an emoji (⚠️) and joiners in scripts that need them are kept.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or "\x9b" in text:
        text = _ANSI.sub("", text)
    return _HIDDEN.sub(_write_out, text)


def visible_name(name: str) -> str:
    """Make hidden characters of a name visible, as `visible` does, and also its tabs and line breaks."""
    return _BREAKS.sub(_write_out, visible(name))


def cut_lines(text: str, limit: int = LINE_LIMIT) -> str:
    """Truncate lines to `limit` characters: laying out a very long line would freeze the window."""
    if len(text) <= limit:
        return text
    return "\n".join(line if len(line) <= limit else line[:limit] + " …" for line in text.split("\n"))


def _write_out(found: re.Match[str]) -> str:
    char, text, at = found[0], found.string, found.start()
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if char in _PICTURE_FORMS and before and (before in "0123456789#*" or unicodedata.category(before) in {"So", "Sm"}):
        return char
    if char in _JOINERS and _joins(before) and _joins(after):
        return char
    return f"⟦U+{ord(char):04X}⟧"


def _joins(char: str) -> bool:
    return bool(char) and (char == "\ufe0f" or unicodedata.category(char) in {"So", "Sk", "Lo", "Mn", "Mc"})
