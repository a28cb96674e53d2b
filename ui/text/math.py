"""Keeps mathematical formulas in Markdown as they are written, instead of taking them for emphasis and escapes."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

MAX_LENGTH: Final = 2_000
# A dollar sign before a space, or one that closes before a digit, is money.
FORMULA: Final = re.compile(
    r"\$\$[^$]{1,300}?\$\$|\$(?![\s$])[^$\n]{1,300}?(?<![\s\\])\$(?!\d)|\\\([^\n]{1,300}?\\\)|\\\[.{1,300}?\\\]",
    re.DOTALL,
)


def keep_math(markdown: "MarkdownIt") -> None:
    """Make the parser return formulas as tokens of the type `math_inline` with their source as content."""
    markdown.inline.ruler.before("escape", "math", _formula)


def _formula(state: "StateInline", silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    if state.src[state.pos] == "$" and state.pos and state.src[state.pos - 1].isalnum():
        return False  # money, such as 5$
    match = FORMULA.match(state.src, state.pos, min(state.posMax, state.pos + MAX_LENGTH))
    if not match:
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = match[0]
    state.pos = match.end()
    return True
