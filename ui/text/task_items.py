"""Task items in Markdown lists. A check box character replaces the bullet, so that it is copied and read aloud."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it.token import Token

OPEN: Final = "\u2610 "
DONE: Final = "\u2611 "
_TASK: Final = re.compile(r"\[([ xX])\][ \t]")


def mark_task_items(tokens: "Sequence[Token]") -> None:
    """Insert a check box character into the text of each task item, and set `task` in the meta of its opening token."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open" and _add_checkbox(inline):
            item.meta["task"] = True


def _add_checkbox(inline: "Token") -> bool:
    """Replace `[ ]` or `[x]` at the beginning by a check box character; return whether there was one."""
    match = _TASK.match(inline.content)
    first = inline.children[0] if inline.children else inline
    if not match or not first.content.startswith(match[0]):  # the text `[x]` is part of a link
        return False
    box = OPEN if match[1] == " " else DONE
    for token in {id(inline): inline, id(first): first}.values():
        token.content = box + token.content[match.end() :].lstrip()
    return True
