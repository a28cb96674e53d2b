"""Converts Markdown to plain text for screen readers."""

from typing import Final

from ui.text.markdown_blocks import parser
from ui.text.visible import visible

MAX_CHARACTERS: Final = 4_000  # longer text is cut, because the step pane shows it in full
SPOKEN: Final = frozenset({"text", "code_inline", "math_inline", "image"})
BREAKS: Final = {"softbreak": " ", "hardbreak": " "}
CODE: Final = frozenset({"fence", "code_block"})
STOPS: Final = frozenset(".,:;!?…")


def markdown_to_plain_text(text: str) -> str:
    """Return the text of all blocks on one line, so that untrusted text cannot imitate another row of a list.

    A block that ends without punctuation, such as a heading, gets a period, so that a screen reader pauses there.
    """
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
    blocks = [line for line in lines if line]
    return " ".join([*(block if block[-1] in STOPS else f"{block}." for block in blocks[:-1]), *blocks[-1:]])
