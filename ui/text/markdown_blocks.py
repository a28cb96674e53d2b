"""Parses untrusted Markdown into its top-level blocks and the cells of its tables. The length is limited."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from ui.text.math import keep_math
from ui.text.task_items import mark_task_items
from ui.text.visible import cut_lines, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

TEXT_LIMIT: Final = 64 * 1024  # characters; the step pane shows the full text
# Characters; a longer paragraph is shown without formatting, because parsing brackets takes quadratic time.
INLINE_LIMIT: Final = 6 * 1024
LINE_COUNT_LIMIT: Final = 2_000
NESTING_LIMIT: Final = 20
INLINE_BUDGET_S: Final = 0.06


@dataclass(slots=True)
class MarkdownBlock:
    """A top-level block: its tokens, and the line on which it begins."""

    line: int
    tokens: "list[Token]" = field(default_factory=list)


class TableCell(NamedTuple):
    """A cell of a table. `style` is its CSS style, which sets the alignment."""

    row: int
    column: int
    is_header: bool
    style: str
    content: "Token"


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


def parse_blocks(text: str) -> list[MarkdownBlock]:
    """Parse `text` into its top-level blocks, after cutting it to the limits of this module."""
    if len(text) > TEXT_LIMIT or text.count("\n") > LINE_COUNT_LIMIT:
        text = "\n".join(text[:TEXT_LIMIT].split("\n", LINE_COUNT_LIMIT)[:LINE_COUNT_LIMIT])
        text += "\n\n… " + QCoreApplication.translate("markdown", "The rest is shown in the step pane, under Output.")
    markdown = parser()
    tokens: list[Token] = []
    env: dict[str, Any] = {}
    source = cut_lines(visible(text).replace("\0", "\ufffd"))
    markdown.block.parse(source, markdown, env, tokens)
    blocks: list[MarkdownBlock] = []
    deadline = perf_counter() + INLINE_BUDGET_S
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            blocks.append(MarkdownBlock(token.map[0] if token.map else 0))
        if token.type == "inline":
            token.children = []
            if len(token.content) <= INLINE_LIMIT and perf_counter() < deadline:
                markdown.inline.parse(token.content, markdown, env, token.children)
        blocks[-1].tokens.append(token)
    mark_task_items(tokens)
    return blocks


def table_cells(tokens: "list[Token]") -> Iterator[TableCell]:
    """Yield the cells of a table from its tokens."""
    row, column, is_header, style = -1, 0, False, ""
    for token in tokens:
        if token.type == "tr_open":
            row, column = row + 1, 0
        elif token.type in {"th_open", "td_open"}:
            is_header, style = token.type == "th_open", str(token.attrGet("style") or "")
        elif token.type == "inline":
            yield TableCell(row, column, is_header, style, token)
            column += 1
