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
BOX_ABOVE: Final = 2
BOX_BELOW: Final = 10
MARKER_GAP: Final = 250  # percent; the width of the space between a bullet and its text
BOX_PADDING: Final = 10
HEADING_GROWTH: Final = (4, 2, 1)
COLUMNS: Final = {"text-align:right": Qt.AlignmentFlag.AlignRight, "text-align:center": Qt.AlignmentFlag.AlignHCenter}


@dataclass(frozen=True, slots=True)
class DocumentFormats:
    """Character and block formats for one theme and text size."""

    look: Look
    plain: QTextCharFormat
    marker: QTextCharFormat
    quoted: QTextCharFormat
    code: QTextCharFormat
    nothing: QTextCharFormat
    gap: QTextBlockFormat
    code_line: QTextBlockFormat
    rule: QTextBlockFormat
    table: QTextTableFormat

    @classmethod
    def of(cls, look: Look) -> Self:
        theme = look.theme
        plain = _characters(_grown(look.fonts.text, 1))
        plain.setForeground(theme.text)
        apart = QFont(plain.font())
        apart.setStretch(MARKER_GAP)  # Qt separates a bullet from its text by one space of this font
        marker = QTextCharFormat(plain)
        marker.setFont(apart)
        quoted = QTextCharFormat(plain)
        quoted.setForeground(theme.second)
        code = _characters(look.fonts.mono)
        code.setForeground(theme.text)
        tiny = QFont(look.fonts.text)
        tiny.setPixelSize(1)
        gap = QTextBlockFormat()
        gap.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        code_line = QTextBlockFormat()
        code_line.setLineHeight(2, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
        rule = QTextBlockFormat()
        rule.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        rule.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth, _whole_width())
        rule.setProperty(QTextFormat.Property.BackgroundBrush, QBrush(theme.line))
        rule.setBottomMargin(14)
        rule.setTopMargin(6)
        return cls(look, plain, marker, quoted, code, _characters(tiny), gap, code_line, rule, _table(look))

    def block(
        self, *, heading: int, depth: int, in_item: bool, tight: bool, quotes: int, boxed: bool
    ) -> QTextBlockFormat:
        made = QTextBlockFormat()
        made.setLineHeight(LINE_SPACING, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        made.setBottomMargin(2 if tight else 4 if heading else 8)
        made.setTopMargin(8 if heading else 0)
        made.setHeadingLevel(heading)
        made.setLeftMargin((quotes + (depth if in_item else 0)) * self.look.size(INDENT))
        if boxed:  # hang the check box to the left of the text, like a bullet
            made.setTextIndent(-QFontMetricsF(self.plain.font()).horizontalAdvance(OPEN))
        return made

    def cell(self, style: str) -> QTextBlockFormat:
        """Return the format of a table cell; `style` is the parser's CSS text alignment of the column."""
        made = QTextBlockFormat()
        if side := COLUMNS.get(style):
            made.setAlignment(side)
        return made

    def heading(self, level: int) -> QTextCharFormat:
        made = QTextCharFormat(self.plain)
        growth = HEADING_GROWTH[level - 1] if level <= len(HEADING_GROWTH) else 0
        font = _grown(self.look.fonts.text, 1 + (growth if level < 3 else 0))
        font.setWeight(QFont.Weight.DemiBold)
        made.setFont(font)
        return made

    def marked(self, base: QTextCharFormat, marks: Sequence[str], address: str) -> QTextCharFormat:
        """Return `base` with strong, em, s, code, image and link formatting applied."""
        if not marks and not address:
            return base
        theme = self.look.theme
        made = QTextCharFormat(base)
        if "strong" in marks:
            made.setFontWeight(QFont.Weight.DemiBold)
        if "em" in marks:
            made.setFontItalic(True)
        if "s" in marks:
            made.setFontStrikeOut(True)
        if "code" in marks:
            made.setFont(self.code.font())
            made.setBackground(theme.raised if theme.dark else theme.panel)
        if "image" in marks:
            made.setForeground(theme.second)
            made.setBackground(theme.panel)
        if address:
            made.setAnchor(True)
            made.setAnchorHref(address)
            made.setForeground(theme.accent)
            made.setFontUnderline(True)
        return made

    def list(self, ordered: bool, start: int, depth: int) -> QTextListFormat:
        styles = QTextListFormat.Style
        made = QTextListFormat()
        made.setStyle(styles.ListDecimal if ordered else styles.ListCircle if depth == 2 else styles.ListDisc)
        made.setIndent(depth)
        if ordered:
            made.setStart(start)
        return made

    def code_frame(self, depth: int) -> QTextFrameFormat:
        made = QTextFrameFormat()
        made.setPadding(BOX_PADDING)  # the widget paints the frame, because Qt's own has square corners
        made.setTopMargin(BOX_ABOVE)
        made.setBottomMargin(BOX_BELOW)
        made.setLeftMargin(depth * self.look.size(INDENT))
        made.setProperty(CODE_FRAME, True)
        return made


def _characters(font: QFont) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setFont(font)
    return made


def _grown(font: QFont, pixels: int) -> QFont:
    made = QFont(font)
    made.setPixelSize(font.pixelSize() + pixels)
    return made


def _whole_width() -> QTextLength:
    return QTextLength(QTextLength.Type.PercentageLength, 100)


def _table(look: Look) -> QTextTableFormat:
    made = QTextTableFormat()
    made.setBorder(1)
    made.setBorderCollapse(True)
    made.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    made.setBorderBrush(look.theme.line)
    made.setCellPadding(6)
    made.setCellSpacing(0)
    made.setTopMargin(2)
    made.setBottomMargin(10)
    made.setHeaderRowCount(1)
    return made
