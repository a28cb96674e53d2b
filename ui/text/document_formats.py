"""Text document formats for a theme: paragraphs, headings, code blocks, lists and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
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

from ui.style.theme import Look
from ui.text.task_items import OPEN

CODE_FRAME: Final = QTextFormat.Property.UserProperty.value + 1
LINE_SPACING: Final = 136.0
INDENT: Final = 20
TEXT_GROWTH: Final = 1  # pixels that document text is larger than the text of widgets
CODE_TOP_MARGIN: Final = 2
CODE_BOTTOM_MARGIN: Final = 10
MARKER_GAP: Final = 250  # percent; the width of the space between a bullet and its text
CODE_PADDING: Final = 10
HEADING_GROWTH: Final = (4, 2)  # pixels that headings of levels 1 and 2 are larger than text
PARAGRAPH_SPACING: Final = 8
HEADING_SPACING: Final = 4  # below a heading, which belongs to the text under it
ITEM_SPACING: Final = 2  # between the items of a tight list
RULE_TOP_MARGIN: Final = 6
RULE_BOTTOM_MARGIN: Final = 14
ALIGNMENTS: Final = {
    "text-align:right": Qt.AlignmentFlag.AlignRight,
    "text-align:center": Qt.AlignmentFlag.AlignHCenter,
}


@dataclass(frozen=True, slots=True)
class DocumentFormats:
    """Character and block formats for one theme and text size."""

    look: Look
    plain: QTextCharFormat
    marker: QTextCharFormat
    quoted: QTextCharFormat
    code: QTextCharFormat
    invisible: QTextCharFormat
    gap: QTextBlockFormat
    code_line: QTextBlockFormat
    rule: QTextBlockFormat
    table: QTextTableFormat

    @classmethod
    def for_look(cls, look: Look) -> Self:
        theme = look.theme
        plain = _character_format(_enlarged(look.fonts.text, TEXT_GROWTH))
        plain.setForeground(theme.text)
        marker_font = QFont(plain.font())
        marker_font.setStretch(MARKER_GAP)  # Qt separates a bullet from its text by one space of this font
        marker = QTextCharFormat(plain)
        marker.setFont(marker_font)
        quoted = QTextCharFormat(plain)
        quoted.setForeground(theme.second)
        code = _character_format(look.fonts.mono)
        code.setForeground(theme.text)
        tiny_font = QFont(look.fonts.text)
        tiny_font.setPixelSize(1)
        invisible = _character_format(tiny_font)
        gap = QTextBlockFormat()
        gap.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        code_line = QTextBlockFormat()
        code_line.setLineHeight(2, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
        rule = QTextBlockFormat()
        rule.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        full_width = QTextLength(QTextLength.Type.PercentageLength, 100)
        rule.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth, full_width)
        rule.setProperty(QTextFormat.Property.BackgroundBrush, QBrush(theme.line))
        rule.setBottomMargin(RULE_BOTTOM_MARGIN)
        rule.setTopMargin(RULE_TOP_MARGIN)
        return cls(look, plain, marker, quoted, code, invisible, gap, code_line, rule, _table_format(look))

    def block_format(
        self, *, heading: int, depth: int, in_item: bool, tight: bool, quotes: int, checkbox: bool
    ) -> QTextBlockFormat:
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
        if checkbox:  # hang the check box to the left of the text, like a bullet
            block_format.setTextIndent(-QFontMetricsF(self.plain.font()).horizontalAdvance(OPEN))
        return block_format

    def cell_format(self, style: str) -> QTextBlockFormat:
        """Return the format of a table cell; `style` is the parser's CSS text alignment of the column."""
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
        """Return `base` with strong, em, s, code, image and link formatting applied."""
        if not marks and not address:
            return base
        theme = self.look.theme
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
        frame_format.setPadding(CODE_PADDING)  # the widget paints the frame, because Qt's own has square corners
        frame_format.setTopMargin(CODE_TOP_MARGIN)
        frame_format.setBottomMargin(CODE_BOTTOM_MARGIN)
        frame_format.setLeftMargin(depth * self.look.size(INDENT))
        frame_format.setProperty(CODE_FRAME, True)
        return frame_format


def _character_format(font: QFont) -> QTextCharFormat:
    char_format = QTextCharFormat()
    char_format.setFont(font)
    return char_format


def _enlarged(font: QFont, pixels: int) -> QFont:
    enlarged = QFont(font)
    enlarged.setPixelSize(font.pixelSize() + pixels)
    return enlarged


def _table_format(look: Look) -> QTextTableFormat:
    table_format = QTextTableFormat()
    table_format.setBorder(1)
    table_format.setBorderCollapse(True)
    table_format.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    table_format.setBorderBrush(look.theme.line)
    table_format.setCellPadding(6)
    table_format.setCellSpacing(0)
    table_format.setTopMargin(2)
    table_format.setBottomMargin(10)
    table_format.setHeaderRowCount(1)
    return table_format
