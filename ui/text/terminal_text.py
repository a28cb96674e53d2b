"""Converts the output of a command into styled lines, as a terminal shows it: colors, carriage returns, erased lines.

Other terminal codes are dropped, such as those that move the cursor to another line or set the window's title. Hidden
characters are made visible.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from core.domain.visible import LINE_LIMIT, visible

TAB_WIDTH: Final = 8
CUT: Final = "…"  # the last character of a line that was too long
_TOKEN: Final = re.compile(
    r"(?:\x1b\[|\x9b)(?P<parameters>[0-?]{0,64})[ -/]*(?P<final>[@-~])"  # a control sequence
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # an operating system command, such as a title or a link
    r"|\x1b[()*+][0-9A-Za-z]|\x1b[=>78DEHMNOZc]"
    r"|(?P<control>[\r\n\b\t\a\0])"
    r"|(?P<text>[^\x1b\x9b\r\n\b\t\a\0]+)"
    r"|(?P<other>[\x1b\x9b])"
)
_INCOMPLETE: Final = re.compile(
    r"(?:\x1b(?:\[[0-?]{0,64}[ -/]*|\][^\x07\x1b]{0,4096}\x1b?|[()*+])?|\x9b[0-?]{0,64}[ -/]*)\Z"
)


class RgbColor(NamedTuple):
    red: int
    green: int
    blue: int


class TextStyle(NamedTuple):
    """The style of a part of a line. `color` is one of the 256 numbered colors, or any color, or None.

    `marked` means that the text has a background color. The theme chooses which one, so that the text stays readable.
    """

    color: int | RgbColor | None = None
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    marked: bool = False


PLAIN: Final = TextStyle()


class StyledText(NamedTuple):
    text: str
    style: TextStyle


Line = list[StyledText]


class TerminalText:
    """Parses output in pieces. The last line stays open, because a carriage return may still overwrite it."""

    def __init__(self) -> None:
        self._cells: list[StyledText] = []  # the characters of the open line
        self._column = 0
        self._style = PLAIN
        self._incomplete = ""  # the beginning of a control sequence at the end of the last piece

    def feed(self, text: str) -> list[Line]:
        """Parse another piece of output, and return the lines that are now complete."""
        text = self._incomplete + text
        incomplete = _INCOMPLETE.search(text)
        self._incomplete = incomplete[0] if incomplete else ""
        lines: list[Line] = []
        for match in _TOKEN.finditer(text, 0, len(text) - len(self._incomplete)):
            if match["text"]:
                self._write(visible(match["text"]))
            elif match["control"] == "\n":
                lines.append(self.open_line())
                self._cells = []
                self._column = 0
            elif match["control"]:
                self._control(match["control"])
            elif match["final"]:
                self._sequence(match["parameters"], match["final"])
            elif match["other"]:
                self._write(visible(match["other"]))
        return lines

    def open_line(self) -> Line:
        """Return the last line, which is not complete yet."""
        groups = groupby(self._cells, lambda cell: cell.style)
        return [StyledText("".join(cell.text for cell in cells), style) for style, cells in groups]

    def _write(self, text: str) -> None:
        room = LINE_LIMIT - self._column
        if room <= 0:
            return
        if len(text) > room:
            text = text[: room - 1] + CUT
        self._pad()
        self._cells[self._column : self._column + len(text)] = [StyledText(char, self._style) for char in text]
        self._column += len(text)

    def _pad(self) -> None:
        self._cells += [StyledText(" ", PLAIN)] * (self._column - len(self._cells))

    def _control(self, char: str) -> None:
        if char == "\r":
            self._column = 0
        elif char == "\b":
            self._column = max(0, self._column - 1)
        elif char == "\t":
            self._write(" " * (TAB_WIDTH - self._column % TAB_WIDTH))

    def _sequence(self, parameters: str, final: str) -> None:
        if re.search("[^0-9;:]", parameters):
            return  # a private sequence, which is ignored
        numbers = [number for part in parameters.split(";") for number in _numbers(part)]
        first = numbers[0]
        match final:
            case "m":  # style
                self._style = _styled(self._style, numbers)
            case "K" if first == 0:  # erase to the end of the line
                del self._cells[self._column :]
            case "K" if first == 1:  # erase to the start of the line
                self._cells[: self._column] = [StyledText(" ", PLAIN)] * min(self._column, len(self._cells))
            case "K":  # erase the line
                self._cells = []
            case "G":  # move to a column, counted from 1
                self._column = min(max(first - 1, 0), LINE_LIMIT)
            case "C":  # move right
                self._column = min(self._column + max(first, 1), LINE_LIMIT)
            case "D":  # move left
                self._column = max(self._column - max(first, 1), 0)
            case _:
                pass


def _numbers(parameter: str) -> list[int]:
    """Return the numbers in a parameter, which may be separated by colons. An empty number counts as 0."""
    return [int(part) for part in parameter.split(":") if part] or [0]


def _extended_color(numbers: Iterator[int]) -> int | RgbColor | None:
    """Return the color that follows the codes 38 or 48: `5;n` for a numbered color, or `2;r;g;b`."""
    kind = next(numbers, 0)
    if kind == 5:
        return min(next(numbers, 0), 255)
    if kind == 2:
        return RgbColor(*(min(next(numbers, 0), 255) for _ in RgbColor._fields))
    return None


def _styled(style: TextStyle, numbers: Iterable[int]) -> TextStyle:
    """Return the style that results when the numbers of a style sequence (SGR) are applied to `style`."""
    iterator = iter(numbers)
    for number in iterator:
        match number:
            case 0:
                style = PLAIN
            case 1:
                style = style._replace(bold=True)
            case 3:
                style = style._replace(italic=True)
            case 4:
                style = style._replace(underlined=True)
            case 7:
                style = style._replace(marked=True)
            case 22:
                style = style._replace(bold=False)
            case 23:
                style = style._replace(italic=False)
            case 24:
                style = style._replace(underlined=False)
            case 27 | 49:
                style = style._replace(marked=False)
            case 39:
                style = style._replace(color=None)
            case 38 | 48:
                color = _extended_color(iterator)
                style = style._replace(color=color) if number == 38 else style._replace(marked=color is not None)
            case _ if 30 <= number <= 37:
                style = style._replace(color=number - 30)
            case _ if 90 <= number <= 97:
                style = style._replace(color=number - 90 + 8)
            case _ if 40 <= number <= 47 or 100 <= number <= 107:
                style = style._replace(marked=True)
            case _:
                pass
    return style
