"""Markdown task list items: a check box character replaces the bullet, so that it is copied and read aloud."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it.token import Token

OPEN: Final = "\u2610 "
DONE: Final = "\u2611 "
_TASK: Final = re.compile(r"\[([ xX])\][ \t]")


def mark_task_items(tokens: "Sequence[Token]") -> None:
    """Put a check box character into the text of each task item and set `task` in the meta of its opening token."""
    for item, paragraph, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open" and _draw_box(words):
            item.meta["task"] = True


def _draw_box(words: "Token") -> bool:
    found = _TASK.match(words.content)
    first = words.children[0] if words.children else words
    if not found or not first.content.startswith(found[0]):  # `[x]` is part of a link
        return False
    box = OPEN if found[1] == " " else DONE
    for token in {id(words): words, id(first): first}.values():
        token.content = box + token.content[found.end() :].lstrip()
    return True
