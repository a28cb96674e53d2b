"""Show every character that hides: text from outside never changes how other text reads."""

import re
import unicodedata
from typing import Final

LINE_LIMIT: Final = 4_096

_ANSI: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # colours and cursor
    "|\x1b[\\]P_^X][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)"  # titles, clipboard, links, pictures
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
    """`text` without terminal codes, and with control, direction and zero-width characters written out: ⟦U+202E⟧.

    What belongs to a picture sign (⚠️) or joins letters of a script that needs it stays.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or "\x9b" in text:
        text = _ANSI.sub("", text)
    return _HIDDEN.sub(_write_out, text)


def visible_name(name: str) -> str:
    """The same of a name, which is one line and holds no tab."""
    return _BREAKS.sub(_write_out, visible(name))


def cut_lines(text: str, limit: int = LINE_LIMIT) -> str:
    """Lines no longer than `limit`: laying out one endless line would freeze the window."""
    if len(text) <= limit:
        return text
    return "\n".join(line if len(line) <= limit else line[:limit] + " …" for line in text.split("\n"))


def _write_out(found: re.Match[str]) -> str:
    sign, text, at = found[0], found.string, found.start()
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if sign in _PICTURE_FORMS and before and (before in "0123456789#*" or unicodedata.category(before) in {"So", "Sm"}):
        return sign
    if sign in _JOINERS and _joins(before) and _joins(after):
        return sign
    return f"⟦U+{ord(sign):04X}⟧"


def _joins(sign: str) -> bool:
    return bool(sign) and (sign == "\ufe0f" or unicodedata.category(sign) in {"So", "Sk", "Lo", "Mn", "Mc"})
