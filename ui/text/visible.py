"""Makes invisible and misleading characters in untrusted text visible. Re-exported from `core.domain.visible`."""

from core.domain.visible import LINE_LIMIT, cut_lines, strip_colors, visible, visible_exactly

__all__ = ["LINE_LIMIT", "cut_lines", "strip_colors", "visible", "visible_exactly"]
