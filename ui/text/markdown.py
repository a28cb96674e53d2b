"""Renders untrusted Markdown into a QTextDocument, incrementally while it is streamed. The length is limited. Images
are files of the session's folder, loaded by `ui.text.answer_images`; nothing else is loaded.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument, QTextFrame

from ui.style.theme import Look
from ui.text.answer_images import MAX_IMAGES, AnswerImages, image_format, image_link, image_of_link
from ui.text.code_blocks import code_frames, color_code
from ui.text.document_formats import INDENT, DocumentFormats
from ui.text.file_links import code_link, file_link
from ui.text.math import keep_math
from ui.text.task_items import mark_task_items
from ui.text.visible import cut_lines
from ui.text.visible import visible as visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

TEXT_LIMIT: Final = 64 * 1024  # characters; the step pane shows the full text
# Characters; a longer paragraph is shown without formatting, because parsing brackets takes quadratic time.
INLINE_LIMIT: Final = 6 * 1024
PARAGRAPH_LIMIT: Final = 16 * 1024
LINE_COUNT_LIMIT: Final = 2_000
NESTING_LIMIT: Final = 20
CELL_LIMIT: Final = 600  # cells of a table that are shown, because each takes Qt at least 0.1 ms
INLINE_BUDGET_S: Final = 0.06
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
        tail, changed = text[self._settled_length :], self._settled_end.position
        blocks = _blocks(tail)
        # A single edit block, because Qt would lay out the document after each edit.
        all_at_once = QTextCursor(self._document)
        all_at_once.beginEditBlock()
        writer = _Writer(
            self._document, DocumentFormats(self._look), self._settled_end,
            file_links=self._file_links, images=self._images, shown_images=self._shown_images,
        )  # fmt: skip
        for block in blocks[:-1]:
            writer.write(block)
        if len(blocks) > 1 and len(text) <= TEXT_LIMIT:
            last = _offset(tail, blocks[-1].line)
            # If its first line is incomplete, a block may still turn out to continue the block before it.
            if "\n" in tail[last:] or tail[:last].endswith("\n\n"):
                self._settled_length += last
                self._settled_end = writer.position()
        if blocks:
            writer.write(blocks[-1])
            self._code = _OpenCode.from_block(blocks[-1], text, self._document)
        all_at_once.endEditBlock()
        return changed

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


def render_with_positions(document: QTextDocument, text: str, look: Look) -> list[tuple[int, int]]:
    """Render `text`; return pairs of source line and document position, one for each top-level block."""
    render(document, "", look)
    writer = _Writer(document, DocumentFormats(look), _Position())
    positions: list[tuple[int, int]] = []
    all_at_once = QTextCursor(document)
    all_at_once.beginEditBlock()
    for block in _blocks(text):
        start = writer.position()
        # The block begins after the separator that is inserted first, unless there is already an empty paragraph.
        positions.append((block.line, start.position + (not start.fresh)))
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
    def from_block(cls, block: "_Block", text: str, document: QTextDocument) -> "_OpenCode | None":
        token = block.tokens[0]
        last_line = text[text.rfind("\n") + 1 :]
        if token.type != "fence" or not token.content.strip() or token.markup in last_line or len(text) > TEXT_LIMIT:
            return None
        if text.rstrip().endswith(token.markup) or f"\n{token.markup}{token.info}" not in f"\n{text}":
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


@dataclass(slots=True)
class _Block:
    """A top-level block: its tokens, and the line on which it begins."""

    line: int
    tokens: "list[Token]" = field(default_factory=list)


@lru_cache(maxsize=1)
def parser() -> "MarkdownIt":
    # Imported late, because the import takes 33 ms and the window's first paint shows no Markdown.
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING_LIMIT}).enable(["table", "strikethrough"])
    keep_math(markdown)
    # Accept all addresses here: otherwise links with a refused scheme would be shown as Markdown source.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    return markdown


def preload_parser() -> None:
    """Import the parser, so that the first reply need not wait for it. May be called from any thread."""
    parser()


def _blocks(text: str) -> list[_Block]:
    """Parse `text` into its top-level blocks, after cutting it to the limits of this module."""
    if len(text) > TEXT_LIMIT or text.count("\n") > LINE_COUNT_LIMIT:
        text = "\n".join(text[:TEXT_LIMIT].split("\n", LINE_COUNT_LIMIT)[:LINE_COUNT_LIMIT])
        text += "\n\n… " + QCoreApplication.translate("markdown", "The rest is shown in the step pane, under Output.")
    markdown = parser()
    tokens: list[Token] = []
    env: dict[str, Any] = {}
    source = cut_lines(visible(text).replace("\0", "\ufffd"))
    markdown.block.parse(source, markdown, env, tokens)
    blocks: list[_Block] = []
    deadline = perf_counter() + INLINE_BUDGET_S
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            blocks.append(_Block(token.map[0] if token.map else 0))
        if token.type == "inline":
            token.children = []
            if len(token.content) <= INLINE_LIMIT and perf_counter() < deadline:
                markdown.inline.parse(token.content, markdown, env, token.children)
        blocks[-1].tokens.append(token)
    mark_task_items(tokens)
    return blocks


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
        self, document: QTextDocument, formats: DocumentFormats, start: _Position, *, file_links: bool = False,
        images: AnswerImages | None = None, shown_images: set[str] | None = None,
    ) -> None:  # fmt: skip
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

    def write(self, block: _Block) -> None:
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
        in_item = bool(self._lists) and (pending_list is None or task_item)
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
        if pending_list and not task_item:
            pending_list.join(self._cursor, self._formats, depth)
        elif (enclosing := self._cursor.currentList()) is not None:
            enclosing.remove(self._cursor.block())
            self._cursor.setBlockFormat(block_format)
        if pending_list:
            pending_list.item_pending = False

    def _item(self, first: str, *, task: bool) -> None:
        self._lists[-1].item_pending, self._lists[-1].task_item = True, task and not self._lists[-1].ordered
        if first not in {"paragraph_open", "heading_open"}:
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
        marks: list[str] = []
        address = refused = ""
        self._break_due = False
        for child in token.children:
            if self._break_due and child.type in ("softbreak", "hardbreak"):
                continue
            if below_image := self._break_due and child.type != "image" and child.nesting == 0:
                self._cursor.insertText("\u2028", base)
                self._break_due = False
            match child.type:
                case "text" | "text_special":
                    text = child.content.lstrip() if below_image else child.content
                    self._cursor.insertText(visible_entities(text), formats.inline_format(base, marks, address))
                case "softbreak":
                    self._cursor.insertText(" ", formats.inline_format(base, marks, address))
                case "hardbreak":
                    self._cursor.insertText("\u2028", base)
                case "code_inline":
                    code_address = address or (code_link(child.content) if self._file_links else "")
                    self._cursor.insertText(child.content, formats.inline_format(base, [*marks, "code"], code_address))
                case "math_inline":
                    formula = visible(child.content).replace("\n", "\u2028")
                    self._cursor.insertText(formula, formats.inline_format(base, [*marks, "em"], address))
                case "image":
                    self._image(child, base, address)
                case "link_open":
                    href = str(child.attrGet("href") or "")
                    local = file_link(href) if self._file_links else ""
                    address = href if href.lower().startswith(SCHEMES) else local
                    refused = "" if address else href
                case "link_close":
                    if refused:
                        self._cursor.insertText(f" ({refused})", formats.quoted)
                    address = refused = ""
                case _ if child.nesting == 1:
                    marks.append(child.tag)
                case _ if child.nesting == -1 and child.tag in marks:
                    marks.remove(child.tag)

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
        close = next(n for n in range(index, len(tokens)) if tokens[n].type == "table_close")
        rows = sum(token.type == "tr_open" for token in tokens[index:close])
        columns = sum(token.type == "th_open" for token in tokens[index:close])
        if columns > CELL_LIMIT // 2:
            return close
        visible_rows = max(2, CELL_LIMIT // max(1, columns))
        if self._fresh:
            self._cursor.setBlockFormat(self._formats.gap)
            self._cursor.setBlockCharFormat(self._formats.invisible)
        table = self._cursor.insertTable(min(rows, visible_rows), columns, self._formats.table)
        row, column, head, style = -1, 0, False, ""
        self._in_table = True
        for token in tokens[index:close]:
            if token.type == "tr_open":
                row, column = row + 1, 0
            elif token.type in {"th_open", "td_open"}:
                head, style = token.type == "th_open", str(token.attrGet("style") or "")
            elif token.type == "inline" and row < visible_rows and column < columns:
                self._cursor = table.cellAt(row, column).firstCursorPosition()
                self._cursor.setBlockFormat(self._formats.cell_format(style))
                self._heading = 4 if head else 0
                self._inline(token)
                column += 1
        self._heading, self._in_table = 0, False
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
