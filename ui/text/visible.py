"""Makes invisible and misleading characters in untrusted text visible; re-exported from `core.domain.visible`."""

from core.domain.visible import LINE_LIMIT, cut_lines, visible

__all__ = ["LINE_LIMIT", "cut_lines", "visible"]
