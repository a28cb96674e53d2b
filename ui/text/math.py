"""Keeps mathematical formulas in Markdown as they are written. Otherwise, their characters could become emphasis."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

MAX_LENGTH: Final = 2_000
# A dollar sign followed by a space, or a second one followed by a digit, is taken as a currency sign.
FORMULA: Final = re.compile(
    r"\$\$[^$]{1,300}?\$\$|\$(?![\s$])[^$\n]{1,300}?(?<![\s\\])\$(?!\d)|\\\([^\n]{1,300}?\\\)|\\\[.{1,300}?\\\]",
    re.DOTALL,
)


def keep_math(markdown: "MarkdownIt") -> None:
    """Make the parser return each formula as a token of type `math_inline` whose content is its source."""
    markdown.inline.ruler.before("escape", "math", _formula)


def _formula(state: "StateInline", silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    if state.src[state.pos] == "$" and state.pos and state.src[state.pos - 1].isalnum():
        return False  # a currency sign, as in 5$
    match = FORMULA.match(state.src, state.pos, min(state.posMax, state.pos + MAX_LENGTH))
    if not match:
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = match[0]
    state.pos = match.end()
    return True
