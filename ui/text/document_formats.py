"""The formats of text documents for a theme: paragraphs, headings, code blocks, lists and tables."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextTableFormat,
)

from ui.style.theme import Look, Theme
from ui.text.task_items import OPEN as OPEN_CHECKBOX

CODE_FRAME: Final = QTextFormat.Property.UserProperty.value + 1
LINE_SPACING: Final = 136.0  # in percent of the line height of the font
INDENT: Final = 20
TEXT_GROWTH: Final = 1  # pixels by which the text in documents is larger than that in widgets
CODE_TOP_MARGIN: Final = 2
CODE_BOTTOM_MARGIN: Final = 10
MARKER_GAP: Final = 250  # width of the space between a bullet and its text, in percent of the normal width
CODE_PADDING: Final = 10
# The width and height of the copy button at the top right of a code block. Lines of code wrap before it.
COPY_BUTTON: Final = 26
COPY_BUTTON_GAP: Final = 2
CODE_LINE_DISTANCE: Final = 2  # pixels between the lines of a code block
HEADING_GROWTH: Final = (4, 2)  # pixels by which headings of level 1 and 2 are larger than the text
PARAGRAPH_SPACING: Final = 8
HEADING_SPACING: Final = 4  # pixels below a heading; small, because the heading belongs to the text below
ITEM_SPACING: Final = 2  # pixels between the items of a list without blank lines
RULE_TOP_MARGIN: Final = 6
RULE_BOTTOM_MARGIN: Final = 14
THIN_LINE: Final = 1  # pixels; height of a horizontal rule, and of the empty paragraph that Qt requires before a frame
TABLE_TOP_MARGIN: Final = 2
TABLE_BOTTOM_MARGIN: Final = 10
TABLE_BORDER: Final = 1
CELL_PADDING: Final = 6
ALIGNMENTS: Final = {
    "text-align:right": Qt.AlignmentFlag.AlignRight,
    "text-align:center": Qt.AlignmentFlag.AlignHCenter,
}


class DocumentFormats:
    """The character and block formats for one theme and text size."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._theme = look.theme
        self.plain = _character_format(_enlarged(look.fonts.text, TEXT_GROWTH), look.theme.text)
        self.quoted = _character_format(self.plain.font(), look.theme.second)
        self.marker = _marker_format(self.plain)
        self.code = _character_format(look.fonts.mono, look.theme.text)
        self.code_line = _code_line_format(look.size(COPY_BUTTON) + COPY_BUTTON_GAP)
        self.image_block = _image_block_format(self.plain.font())
        self.rule = _rule_format(look.theme)
        self.table = _table_format(look.theme)
        # Qt requires an empty paragraph before a frame. The formats `invisible` and `gap` make it tiny.
        self.invisible = _invisible_format(look.fonts.text)
        self.gap = _thin_block_format()

    def block_format(
        self, *, heading: int, depth: int, in_item: bool, tight: bool, quotes: int, checkbox: bool
    ) -> QTextBlockFormat:
        """Return the format of a paragraph or, if `heading` is not 0, of a heading of this level.

        `depth` is the number of lists around it. It indents only the second and later paragraphs of a list item
        (`in_item`), because Qt itself indents the first one. `tight` reduces the space below an item in a list without
        blank lines.
        """
        block_format = QTextBlockFormat()
        block_format.setLineHeight(LINE_SPACING, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        block_format.setTopMargin(PARAGRAPH_SPACING if heading else 0)
        if tight:
            block_format.setBottomMargin(ITEM_SPACING)
        else:
            block_format.setBottomMargin(HEADING_SPACING if heading else PARAGRAPH_SPACING)
        block_format.setHeadingLevel(heading)
        indents = quotes + (depth if in_item else 0)
        block_format.setLeftMargin(indents * self.look.size(INDENT))
        if checkbox:  # places the check box to the left of the text, like a bullet
            block_format.setTextIndent(-QFontMetricsF(self.plain.font()).horizontalAdvance(OPEN_CHECKBOX))
        return block_format

    def cell_format(self, style: str) -> QTextBlockFormat:
        """Return the format of a table cell.

        `style` is the CSS that the parser gives for the alignment of the column.
        """
        block_format = QTextBlockFormat()
        if alignment := ALIGNMENTS.get(style):
            block_format.setAlignment(alignment)
        return block_format

    def heading_format(self, level: int) -> QTextCharFormat:
        growth = HEADING_GROWTH[level - 1] if level <= len(HEADING_GROWTH) else 0
        font = _enlarged(self.look.fonts.text, TEXT_GROWTH + growth)
        font.setWeight(QFont.Weight.DemiBold)
        char_format = QTextCharFormat(self.plain)
        char_format.setFont(font)
        return char_format

    def inline_format(self, base: QTextCharFormat, marks: Sequence[str], address: str) -> QTextCharFormat:
        """Return `base` with the formats of these marks (strong, em, s, code or image), and of a link to `address`."""
        if not marks and not address:
            return base
        theme = self._theme
        char_format = QTextCharFormat(base)
        if "strong" in marks:
            char_format.setFontWeight(QFont.Weight.DemiBold)
        if "em" in marks:
            char_format.setFontItalic(True)
        if "s" in marks:
            char_format.setFontStrikeOut(True)
        if "code" in marks:
            char_format.setFont(self.code.font())
            char_format.setBackground(theme.raised if theme.dark else theme.panel)
        if "image" in marks:
            char_format.setForeground(theme.second)
            char_format.setBackground(theme.panel)
        if address:
            char_format.setAnchor(True)
            char_format.setAnchorHref(address)
            char_format.setForeground(theme.accent)
            char_format.setFontUnderline(True)
        return char_format

    def caption_format(self, address: str) -> QTextCharFormat:
        """Return the format of the description below an image. A click on the description opens `address`."""
        char_format = QTextCharFormat(self.quoted)
        char_format.setAnchor(True)
        char_format.setAnchorHref(address)
        return char_format

    def list_format(self, ordered: bool, start: int, depth: int) -> QTextListFormat:
        styles = QTextListFormat.Style
        bullet = styles.ListCircle if depth == 2 else styles.ListDisc
        list_format = QTextListFormat()
        list_format.setStyle(styles.ListDecimal if ordered else bullet)
        list_format.setIndent(depth)
        if ordered:
            list_format.setStart(start)
        return list_format

    def code_frame_format(self, depth: int) -> QTextFrameFormat:
        frame_format = QTextFrameFormat()
        # Space for the frame, which the widget paints, because Qt's own frame has square corners.
        frame_format.setPadding(CODE_PADDING)
        frame_format.setTopMargin(CODE_TOP_MARGIN)
        frame_format.setBottomMargin(CODE_BOTTOM_MARGIN)
        frame_format.setLeftMargin(depth * self.look.size(INDENT))
        frame_format.setProperty(CODE_FRAME, True)
        return frame_format


def _character_format(font: QFont, color: QColor) -> QTextCharFormat:
    char_format = QTextCharFormat()
    char_format.setFont(font)
    char_format.setForeground(color)
    return char_format


def _marker_format(plain: QTextCharFormat) -> QTextCharFormat:
    """Return the format of a bullet. Its font is stretched, because Qt separates bullet and text by one space in it."""
    font = QFont(plain.font())
    font.setStretch(MARKER_GAP)
    marker = QTextCharFormat(plain)
    marker.setFont(font)
    return marker


def _invisible_format(text_font: QFont) -> QTextCharFormat:
    font = QFont(text_font)
    font.setPixelSize(THIN_LINE)
    invisible = QTextCharFormat()
    invisible.setFont(font)
    return invisible


def _image_block_format(font: QFont) -> QTextBlockFormat:
    """Return the format of a paragraph with images.

    A line spacing in percent would add far too much to a high image.
    """
    spaced = QTextBlockFormat()
    distance = QFontMetricsF(font).height() * (LINE_SPACING / 100 - 1)
    spaced.setLineHeight(distance, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
    return spaced


def _code_line_format(right_margin: int) -> QTextBlockFormat:
    code_line = QTextBlockFormat()
    code_line.setRightMargin(right_margin)
    code_line.setLineHeight(CODE_LINE_DISTANCE, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
    return code_line


def _thin_block_format() -> QTextBlockFormat:
    block_format = QTextBlockFormat()
    block_format.setLineHeight(THIN_LINE, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    return block_format


def _rule_format(theme: Theme) -> QTextBlockFormat:
    rule = _thin_block_format()
    full_width = QTextLength(QTextLength.Type.PercentageLength, 100)
    rule.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth, full_width)
    rule.setProperty(QTextFormat.Property.BackgroundBrush, QBrush(theme.line))
    rule.setTopMargin(RULE_TOP_MARGIN)
    rule.setBottomMargin(RULE_BOTTOM_MARGIN)
    return rule


def _enlarged(font: QFont, pixels: int) -> QFont:
    enlarged = QFont(font)
    enlarged.setPixelSize(font.pixelSize() + pixels)
    return enlarged


def _table_format(theme: Theme) -> QTextTableFormat:
    table_format = QTextTableFormat()
    table_format.setBorder(TABLE_BORDER)
    table_format.setBorderCollapse(True)
    table_format.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    table_format.setBorderBrush(theme.line)
    table_format.setCellPadding(CELL_PADDING)
    table_format.setCellSpacing(0)
    table_format.setTopMargin(TABLE_TOP_MARGIN)
    table_format.setBottomMargin(TABLE_BOTTOM_MARGIN)
    table_format.setHeaderRowCount(1)
    return table_format
