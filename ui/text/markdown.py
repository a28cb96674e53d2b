"""Renders untrusted Markdown into a QTextDocument, incrementally while it is streamed. The length is limited. Images
are files of the session's folder, loaded by `ui.text.answer_images`; nothing else is loaded.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument, QTextFrame

from ui.style.theme import Look
from ui.text.answer_images import MAX_IMAGES, AnswerImages, image_format, image_link, image_of_link
from ui.text.code_blocks import code_frames, color_code
from ui.text.document_formats import INDENT, DocumentFormats
from ui.text.file_links import code_link, file_link
from ui.text.markdown_blocks import TEXT_LIMIT, MarkdownBlock, parse_blocks, table_cells
from ui.text.visible import cut_lines
from ui.text.visible import visible as visible

if TYPE_CHECKING:
    from markdown_it.token import Token

PARAGRAPH_LIMIT: Final = 16 * 1024
CELL_LIMIT: Final = 600  # cells of a table that are shown, because each takes Qt at least 0.1 ms
HEADER_CELL_LEVEL: Final = 4  # the level of heading as which a header cell of a table is formatted
SCHEMES: Final = ("http://", "https://", "mailto:")


class MarkdownStream:
    """Writes Markdown into a document. If text was only appended, rendering resumes at the last block.

    With `file_links`, links to files get an address of `ui.text.file_links`; otherwise they are shown as text. Images
    that are files are shown if `images` are given; other images are shown as links.
    """

    def __init__(
        self, document: QTextDocument, look: Look, *, file_links: bool = False, images: AnswerImages | None = None
    ) -> None:
        self._document = document
        self._look = look
        self._file_links = file_links
        self._images = images
        self._shown_images: set[str] = set()
        self._text = ""
        self._settled_length = 0  # number of characters at the beginning whose blocks cannot change any more
        self._settled_end = _Position()
        self._code: _OpenCode | None = None
        document.setUndoRedoEnabled(False)
        document.setIndentWidth(look.size(INDENT))
        document.setDocumentMargin(0)

    @property
    def image_links(self) -> Collection[str]:
        """The links of all images in the document, including those that have not been loaded yet."""
        return self._shown_images

    def write(self, text: str) -> int:
        """Show `text`; return the position in the document from which the contents may have changed."""
        if text == self._text and self._settled_length:
            return self._document.characterCount() - 1
        if self._code and (grown := self._code.grow(self._text, text)):
            self._text = text
            return grown
        self._code = None
        if not text.startswith(self._text[: self._settled_length]) or not self._settled_length:
            self._clear()
        self._text = text
        changed = self._settled_end.position
        # A single edit block, because Qt would lay out the document after each edit.
        all_at_once = QTextCursor(self._document)
        all_at_once.beginEditBlock()
        self._write_unsettled(text)
        all_at_once.endEditBlock()
        return changed

    def _write_unsettled(self, text: str) -> None:
        """Write the blocks that can still change, and note which of them cannot any more."""
        unsettled = text[self._settled_length :]
        blocks = parse_blocks(unsettled)
        formats = DocumentFormats(self._look)
        writer = _Writer(self._document, formats, self._settled_end, self._file_links, self._images, self._shown_images)
        for block in blocks[:-1]:
            writer.write(block)
        if len(blocks) > 1 and len(text) <= TEXT_LIMIT:
            last = _offset(unsettled, blocks[-1].line)
            # If its first line is incomplete, a block may still turn out to continue the block before it.
            if "\n" in unsettled[last:] or unsettled[:last].endswith("\n\n"):
                self._settled_length += last
                self._settled_end = writer.position()
        if blocks:
            writer.write(blocks[-1])
            self._code = _OpenCode.from_block(blocks[-1], text, self._document)

    def finish(self, text: str) -> None:
        """Render the complete text again, because a definition at its end may turn earlier text into links."""
        if text != self._text or "]:" in text or self._code:
            self._clear()
        self.write(text)

    def restyle(self, look: Look) -> None:
        """Render the same text with another theme or text size."""
        self._look = look
        self._document.setIndentWidth(look.size(INDENT))
        self._clear()
        self.write(self._text)

    def _clear(self) -> None:
        self._document.clear()
        self._settled_length = 0
        self._settled_end = _Position()
        self._shown_images.clear()
        self._code = None


def render(document: QTextDocument, text: str, look: Look) -> None:
    """Render `text` into an empty document."""
    MarkdownStream(document, look).write(text)


class BlockPosition(NamedTuple):
    """Where a top-level block is: its line in the source, and its position in the document."""

    line: int
    position: int


def render_with_positions(document: QTextDocument, text: str, look: Look) -> list[BlockPosition]:
    """Render `text`; return the position of each top-level block."""
    render(document, "", look)
    writer = _Writer(document, DocumentFormats(look), _Position())
    positions: list[BlockPosition] = []
    all_at_once = QTextCursor(document)
    all_at_once.beginEditBlock()
    for block in parse_blocks(text):
        start = writer.position()
        # The block begins after the separator that is inserted first, unless there is already an empty paragraph.
        positions.append(BlockPosition(block.line, start.position if start.fresh else start.position + 1))
        writer.write(block)
    all_at_once.endEditBlock()
    return positions


@dataclass(frozen=True, slots=True)
class _Position:
    """The position at which the next block is written. `fresh` means that it is already an empty paragraph."""

    position: int = 0
    fresh: bool = True


@dataclass(slots=True)
class _OpenCode:
    """A code block that is being streamed. New text is appended without parsing the block again."""

    fence: str
    frame: QTextFrame

    @classmethod
    def from_block(cls, block: MarkdownBlock, text: str, document: QTextDocument) -> "_OpenCode | None":
        """Return the code block that new text continues; None if the last block is not one, or may have ended."""
        token = block.tokens[0]
        if token.type != "fence" or not token.content.strip() or len(text) > TEXT_LIMIT:
            return None
        last_line = text[text.rfind("\n") + 1 :]
        may_have_ended = token.markup in last_line or text.rstrip().endswith(token.markup)
        is_at_line_start = f"\n{token.markup}{token.info}" in f"\n{text}"
        if may_have_ended or not is_at_line_start:
            return None
        return cls(token.markup, code_frames(document)[-1])

    def grow(self, before: str, after: str) -> int:
        """Append the new text and return its position.

        Return 0 if it might end the block, which must then be parsed.
        """
        if not after.startswith(before):
            return 0
        new = after[len(before) :]
        last_lines = before[before.rfind("\n") + 1 :] + new
        if self.fence[0] * 2 in last_lines or len(after) > TEXT_LIMIT:
            return 0
        if visible(new) != new or cut_lines(last_lines) != last_lines:
            return 0
        # Trailing line breaks are appended only when other text follows them.
        pending_breaks = before[len(before.rstrip("\n")) :]
        cursor = self.frame.lastCursorPosition()
        position = cursor.position()
        cursor.insertText((pending_breaks + new).rstrip("\n"))
        return position


def _offset(text: str, line: int) -> int:
    """Return the index of the character at which a line begins."""
    offset = 0
    for _ in range(line):
        offset = text.index("\n", offset) + 1
    return offset


def visible_entities(text: str) -> str:
    """Make the characters visible that the parser decoded from entities such as `&#x202e;`."""
    return visible(text).replace("\n", "⟦U+000A⟧")


class _Writer:
    """Writes tokens at a position of a document, after removing everything that follows it."""

    def __init__(
        self,
        document: QTextDocument,
        formats: DocumentFormats,
        start: _Position,
        file_links: bool = False,
        images: AnswerImages | None = None,
        shown_images: set[str] | None = None,
    ) -> None:
        self._formats = formats
        self._file_links = file_links
        self._images = images
        self._shown_images = set[str]() if shown_images is None else shown_images
        self._break_due = False  # true after an image, whose description is on a separate line
        self._fresh = start.fresh
        self._cursor = QTextCursor(document)
        self._cursor.setPosition(start.position)
        self._cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        self._cursor.removeSelectedText()
        self._lists: list[_OpenList] = []
        self._quotes = 0
        self._heading = 0
        self._in_table = False

    def position(self) -> _Position:
        return _Position(self._cursor.position(), self._fresh)

    def write(self, block: MarkdownBlock) -> None:
        self._cursor.beginEditBlock()
        tokens = block.tokens
        index = 0
        while index < len(tokens):
            token = tokens[index]
            match token.type:
                case "paragraph_open":
                    self._paragraph(tight=token.hidden)
                case "heading_open":
                    self._paragraph(heading=int(token.tag[1:]))
                case "inline":
                    self._inline(token)
                case "fence" | "code_block":
                    self._code(token.content, token.info)
                case "hr":
                    self._rule()
                case "blockquote_open" | "blockquote_close":
                    self._quotes += token.nesting
                case "bullet_list_open" | "ordered_list_open":
                    start = int(token.attrGet("start") or 1)
                    self._lists.append(_OpenList(token.type == "ordered_list_open", start))
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._item(tokens[index + 1].type if index + 1 < len(tokens) else "", task="task" in token.meta)
                case "table_open":
                    index = self._table(tokens, index)
                case _:
                    pass
            index += 1
        self._cursor.endEditBlock()

    def _paragraph(self, *, heading: int = 0, tight: bool = False) -> None:
        pending_list = self._lists[-1] if self._lists and self._lists[-1].item_pending else None
        task_item = pending_list is not None and pending_list.task_item
        has_bullet = pending_list is not None and not task_item
        in_item = bool(self._lists) and not has_bullet
        depth = len(self._lists)
        block_format = self._formats.block_format(
            heading=heading, depth=depth, in_item=in_item, tight=tight, quotes=self._quotes, checkbox=task_item
        )
        plain = self._formats.plain
        if self._fresh:
            self._cursor.setBlockFormat(block_format)
            self._cursor.setBlockCharFormat(plain)
        else:
            self._cursor.insertBlock(block_format, plain)
        self._fresh = False
        self._heading = heading
        if pending_list and has_bullet:
            pending_list.join(self._cursor, self._formats, depth)
        elif (enclosing := self._cursor.currentList()) is not None:
            enclosing.remove(self._cursor.block())
            self._cursor.setBlockFormat(block_format)
        if pending_list:
            pending_list.item_pending = False

    def _item(self, first_token: str, *, task: bool) -> None:
        """Begin an item of the innermost list; `first_token` is the type of the first token in it."""
        innermost = self._lists[-1]
        innermost.item_pending = True
        innermost.task_item = task and not innermost.ordered
        if first_token not in {"paragraph_open", "heading_open"}:
            self._paragraph(tight=True)

    def _inline(self, token: "Token") -> None:
        formats = self._formats
        if self._heading:
            base = formats.heading_format(self._heading)
        else:
            base = formats.quoted if self._quotes else formats.plain
        if not token.children:
            text = token.content[:PARAGRAPH_LIMIT]
            if len(token.content) > PARAGRAPH_LIMIT:
                text += " …"
            self._cursor.insertText(text.replace("\n", "\u2028"), base)
            return
        style = _InlineStyle(base)
        self._break_due = False
        for child in token.children:
            if self._break_due and child.type in ("softbreak", "hardbreak"):
                continue
            below_image = self._break_due and child.type != "image" and child.nesting == 0
            if below_image:
                self._cursor.insertText("\u2028", base)
                self._break_due = False
            if child.nesting == 0:
                self._inline_text(child, style, below_image=below_image)
            else:
                self._change_style(child, style)

    def _inline_text(self, token: "Token", style: "_InlineStyle", *, below_image: bool) -> None:
        """Write text, code, a formula, a line break or an image."""
        formats, marks = self._formats, style.marks
        match token.type:
            case "text" | "text_special":
                text = token.content.lstrip() if below_image else token.content
                self._cursor.insertText(visible_entities(text), formats.inline_format(style.base, marks, style.address))
            case "softbreak":
                self._cursor.insertText(" ", formats.inline_format(style.base, marks, style.address))
            case "hardbreak":
                self._cursor.insertText("\u2028", style.base)
            case "code_inline":
                address = style.address or (code_link(token.content) if self._file_links else "")
                self._cursor.insertText(token.content, formats.inline_format(style.base, [*marks, "code"], address))
            case "math_inline":
                formula = visible(token.content).replace("\n", "\u2028")
                self._cursor.insertText(formula, formats.inline_format(style.base, [*marks, "em"], style.address))
            case "image":
                self._image(token, style.base, style.address)
            case _:
                pass

    def _change_style(self, token: "Token", style: "_InlineStyle") -> None:
        """Begin or end a link, or a mark such as emphasis."""
        match token.type:
            case "link_open":
                href = str(token.attrGet("href") or "")
                local = file_link(href) if self._file_links else ""
                style.address = href if href.lower().startswith(SCHEMES) else local
                style.refused_address = "" if style.address else href
            case "link_close":
                if style.refused_address:
                    self._cursor.insertText(f" ({style.refused_address})", self._formats.quoted)
                style.address = style.refused_address = ""
            case _ if token.nesting == 1:
                style.marks.append(token.tag)
            case _ if token.tag in style.marks:
                style.marks.remove(token.tag)
            case _:
                pass

    def _image(self, token: "Token", base: QTextCharFormat, address: str) -> None:
        """Write an image of the folder with its description below. Any other image is written as a link."""
        source = str(token.attrGet("src") or "")
        link = image_link(source) if self._images else ""
        path = image_of_link(link)
        known = self._images.find(path) if self._images and self._may_show(link) else None
        description = visible_entities(token.content) or visible(path) or "image"
        if known is None or known.error or self._in_table:
            target = address or link or (source if source.lower().startswith(SCHEMES) else "")
            text = f"[{description}: {known.error}]" if known and known.error else f"[{description}]"
            self._cursor.insertText(text, self._formats.inline_format(base, ["image"], target))
            return
        if not self._cursor.atBlockStart():
            self._cursor.insertText("\u2028", base)
        indent = (len(self._lists) + self._quotes) * self._formats.look.size(INDENT)
        self._cursor.insertImage(image_format(link, base, indent))
        self._cursor.insertText(f"\u2028{description}", self._formats.caption_format(address or link))
        self._cursor.mergeBlockFormat(self._formats.image_block)
        self._break_due = True

    def _may_show(self, link: str) -> bool:
        """Return whether an image may be shown, and count it: the number of images per answer is limited."""
        if link and len(self._shown_images) < MAX_IMAGES:
            self._shown_images.add(link)
        return link in self._shown_images

    def _code(self, content: str, info: str) -> None:
        if self._fresh:
            # Makes the empty paragraph invisible that Qt requires before a frame.
            self._cursor.setBlockFormat(self._formats.gap)
            self._cursor.setBlockCharFormat(self._formats.invisible)
        frame = self._cursor.insertFrame(self._formats.code_frame_format(len(self._lists) + self._quotes))
        self._cursor.setBlockFormat(self._formats.code_line)
        self._cursor.setBlockCharFormat(self._formats.code)
        self._cursor.insertText(content.rstrip("\n"), self._formats.code)
        color_code(frame, info, self._formats.look)
        self._move_to_end()

    def _rule(self) -> None:
        self._paragraph()
        self._cursor.setBlockFormat(self._formats.rule)
        self._cursor.insertText("\u00a0", self._formats.invisible)

    def _table(self, tokens: "list[Token]", index: int) -> int:
        """Write the table that opens at token `index`; return the index of its closing token."""
        close = next(number for number in range(index, len(tokens)) if tokens[number].type == "table_close")
        rows = sum(token.type == "tr_open" for token in tokens[index:close])
        columns = sum(token.type == "th_open" for token in tokens[index:close])
        if columns > CELL_LIMIT // 2:
            return close
        visible_rows = max(2, CELL_LIMIT // max(1, columns))
        if self._fresh:
            self._cursor.setBlockFormat(self._formats.gap)
            self._cursor.setBlockCharFormat(self._formats.invisible)
        table = self._cursor.insertTable(min(rows, visible_rows), columns, self._formats.table)
        self._in_table = True
        for cell in table_cells(tokens[index:close]):
            if cell.row < visible_rows and cell.column < columns:
                self._cursor = table.cellAt(cell.row, cell.column).firstCursorPosition()
                self._cursor.setBlockFormat(self._formats.cell_format(cell.style))
                self._heading = HEADER_CELL_LEVEL if cell.is_header else 0
                self._inline(cell.content)
        self._in_table = False
        self._heading = 0
        self._move_to_end()
        if rows > visible_rows:
            self._paragraph()
            more = QCoreApplication.translate("markdown", "… {} more rows").format(rows - visible_rows)
            self._cursor.insertText(more, self._formats.quoted)
        return close

    def _move_to_end(self) -> None:
        """Move the cursor after a frame or table, into the empty paragraph that Qt requires there."""
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        self._cursor.setBlockFormat(self._formats.gap)
        self._cursor.setBlockCharFormat(self._formats.invisible)
        self._fresh = True


@dataclass(slots=True)
class _InlineStyle:
    """The style at a place in a paragraph.

    `marks` are the HTML tags that are open. `address` is that of the link that is open; `refused_address` is one that
    must not be opened, and is shown as text instead.
    """

    base: QTextCharFormat
    marks: list[str] = field(default_factory=list)
    address: str = ""
    refused_address: str = ""


@dataclass(slots=True)
class _OpenList:
    """A list that is being written. `item_pending` means that its current item has no paragraph yet."""

    ordered: bool
    start: int
    item_pending: bool = False
    task_item: bool = False
    text_list: Any = None

    def join(self, cursor: QTextCursor, formats: DocumentFormats, depth: int) -> None:
        if self.text_list is None:
            self.text_list = cursor.createList(formats.list_format(self.ordered, self.start, depth))
        else:
            self.text_list.add(cursor.block())
        if not self.ordered:
            cursor.setBlockCharFormat(formats.marker)
