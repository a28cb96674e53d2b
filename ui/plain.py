"""Markdown as words without its signs: what a screen reader says of a reply."""

from typing import Final

from ui.markdown import parser
from ui.visible import visible

MOST: Final = 4_000  # characters; the whole of it is in the step pane
SPOKEN: Final = frozenset({"text", "code_inline", "image"})
BREAKS: Final = {"softbreak": " ", "hardbreak": " "}
CODE: Final = frozenset({"fence", "code_block"})


def plain(text: str) -> str:
    """Paragraphs, items, cells and code, all on one line: what is written cannot pass for another row."""
    lines: list[str] = []
    for token in parser().parse(visible(text[:MOST])):
        if token.type == "inline":
            said = (part.content if part.type in SPOKEN else BREAKS.get(part.type, "") for part in token.children or ())
            lines.append(" ".join("".join(said).split()))
        elif token.type in CODE:
            lines.append(" ".join(token.content.split()))
    return " ".join(filter(None, lines))
