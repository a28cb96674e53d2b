"""Converts Markdown to plain text for screen readers."""

from typing import Final

from ui.text.markdown import parser
from ui.text.visible import visible

MAX_CHARACTERS: Final = 4_000  # the step pane shows the full text
SPOKEN: Final = frozenset({"text", "code_inline", "math_inline", "image"})
BREAKS: Final = {"softbreak": " ", "hardbreak": " "}
CODE: Final = frozenset({"fence", "code_block"})


def markdown_to_plain_text(text: str) -> str:
    """Return the text of all blocks on a single line, so that untrusted text cannot imitate another row."""
    lines: list[str] = []
    for token in parser().parse(visible(text[:MAX_CHARACTERS])):
        if token.type == "inline":
            texts = (
                visible(part.content) if part.type in SPOKEN else BREAKS.get(part.type, "")
                for part in token.children or ()
            )
            lines.append(" ".join("".join(texts).split()))
        elif token.type in CODE:
            lines.append(" ".join(token.content.split()))
    return " ".join(filter(None, lines))
