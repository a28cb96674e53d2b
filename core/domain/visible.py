"""Makes hidden characters visible, so that untrusted text cannot change how the text around it reads.

Nothing is dropped: a hidden character is written as ⟦U+202E⟧.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from core.domain.invisible import is_visible
from core.domain.lookalikes import lookalikes

LINE_LIMIT: Final = 4_096
MAX_SPACE_RUN: Final = 64  # spaces or tabs; more could push the following text out of view
MAX_EMPTY_LINES: Final = 8

_UNUSUAL: Final = re.compile("[^\t\n -~]")
_COLORS: Final = re.compile("(?:\x1b\\[|\x9b)[0-9;:]*m")
_PICTOGRAPHS: Final = re.compile("[\U0001f000-\U0001fbff]")
_JOINERS: Final = "\u200c\u200d"
_PICTURE_FORMS: Final = "\ufe0e\ufe0f"
# Scripts whose spelling needs joiners: Hebrew to Myanmar, Khmer and Mongolian.
_JOINING_SCRIPTS: Final = re.compile("[\u0590-\u109f\u1780-\u18af]")
_SPACES: Final = re.compile(rf"(?:\n[ \t]*){{{MAX_EMPTY_LINES},}}\n|[ \t]{{{MAX_SPACE_RUN + 1},}}")


def visible(text: str) -> str:
    """Return text with control, bidi, zero-width and other invisible characters written as ⟦U+202E⟧.

    Tabs, line feeds, all kinds of spaces, variation selectors after an emoji (⚠️), and joiners in scripts that need
    them are kept; a CRLF becomes a line feed. Calling this on a result changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    return _write_out(text.replace("\r\n", "\n"), _is_kept_in_text)


def first_hidden(text: str) -> str:
    """Return the first character that `visible` would write as an escape; "" if there is none."""
    if text.isascii() and text.isprintable():
        return ""
    hidden = (m[0] for m in _UNUSUAL.finditer(text) if not (is_visible(m[0]) or _is_kept_in_text(m)))
    return next(hidden, "")


def visible_name(name: str) -> str:
    """Return a name with hidden characters, tabs, line breaks and unusual spaces written as ⟦U+202E⟧.

    Calling this on a result changes nothing.
    """
    if name.isascii() and name.isprintable():
        return name
    return _write_out(name, _is_never_kept).replace("\t", "⟦U+0009⟧").replace("\n", "⟦U+000A⟧")


def visible_exactly(text: str) -> str:
    """Return text for a permission request, in which no two different texts look alike.

    Every invisible character and unusual space is written as ⟦U+202E⟧, and so is one that looks like another, such as
    a Cyrillic letter in a word of Latin ones. Long runs of spaces or empty lines are written as ⟦U+0020×500⟧, and a ⟦
    that would imitate such an escape is escaped, too. `visible` leaves the result unchanged; `visible_name` replaces
    only its tabs and line breaks.
    """
    text = text.replace("⟦U+", "⟦U+27E6⟧U+")
    if positions := lookalikes(text):
        text = "".join(_escape(char) if index in positions else char for index, char in enumerate(text))
    if not (text.isascii() and text.isprintable()):
        text = _write_out(text, _is_never_kept)
    return _SPACES.sub(_count_spaces, text)


def strip_colors(text: str) -> str:
    """Remove color and style codes (SGR) from command output. Other terminal codes are left for `visible` to show."""
    return _COLORS.sub("", text) if "\x1b" in text or "\x9b" in text else text


def cut_lines(text: str, limit: int = LINE_LIMIT) -> str:
    """Truncate each line to `limit` characters, because laying out a very long line would freeze the window."""
    if len(text) <= limit:
        return text
    return "\n".join(line if len(line) <= limit else line[:limit] + " …" for line in text.split("\n"))


def _write_out(text: str, is_kept: Callable[[re.Match[str]], bool]) -> str:
    """Replace the hidden characters of a text by escapes such as ⟦U+202E⟧, except those for which `is_kept` is true."""

    def escape(match: re.Match[str]) -> str:
        char = match[0]
        if is_visible(char) or is_kept(match):
            return char
        return _escape(char)

    return "\n".join(line if is_visible(line) else _UNUSUAL.sub(escape, line) for line in text.split("\n"))


def _escape(char: str) -> str:
    return f"⟦U+{ord(char):04X}⟧"


def _is_kept_in_text(match: re.Match[str]) -> bool:
    char, text, position = match[0], match.string, match.start()
    previous = text[position - 1] if position else ""
    following = text[position + 1] if position + 1 < len(text) else ""
    if char in _PICTURE_FORMS:
        return bool(previous) and (previous in "0123456789#*" or unicodedata.category(previous) in {"So", "Sm"})
    if char in _JOINERS:
        return _joins(previous) and _joins(following)
    return unicodedata.category(char) == "Zs" or bool(_PICTOGRAPHS.match(char))


def _joins(char: str) -> bool:
    if not char:
        return False
    return char == "\ufe0f" or bool(_JOINING_SCRIPTS.match(char)) or unicodedata.category(char) in {"So", "Sk"}


def _is_never_kept(_match: re.Match[str]) -> bool:
    return False


def _count_spaces(run: re.Match[str]) -> str:
    """Replace a run of spaces, tabs or empty lines by counts such as ⟦U+0020×500⟧; a final line feed is kept."""
    end = "\n" if run[0].startswith("\n") else ""
    spaces = run[0].removesuffix(end)
    counts = ((group[0][0], len(group[0])) for group in re.finditer(r" +|\t+|\n+", spaces))
    return "".join(f"⟦U+{ord(space):04X}{f'×{count}' if count > 1 else ''}⟧" for space, count in counts) + end
