"""Items of a list that are open or done: a box in the place of their bullet, as text, so that it is copied and read."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it.token import Token

OPEN: Final = "\u2610 "
DONE: Final = "\u2611 "
_TASK: Final = re.compile(r"\[([ xX])\][ \t]")


def draw_boxes(tokens: "Sequence[Token]") -> None:
    """Write the box into the words of each such item, and note it in the token that opens the item."""
    for item, paragraph, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open" and _draw_box(words):
            item.meta["task"] = True


def _draw_box(words: "Token") -> bool:
    found = _TASK.match(words.content)
    first = words.children[0] if words.children else words
    if not found or not first.content.startswith(found[0]):  # in which case it is a link
        return False
    box = OPEN if found[1] == " " else DONE
    for token in {id(words): words, id(first): first}.values():
        token.content = box + token.content[found.end() :].lstrip()
    return True
