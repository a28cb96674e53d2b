"""What every text from outside goes through before it is painted; the rule itself is one for window and model."""

from core.domain.visible import LINE_LIMIT, cut_lines, visible

__all__ = ["LINE_LIMIT", "cut_lines", "visible"]
