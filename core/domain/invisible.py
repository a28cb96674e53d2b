"""Characters that are invisible although `str.isprintable` accepts them. Imports nothing, so that it loads fast."""

# Code point ranges: fillers, variation selectors, the empty Braille pattern, the object replacement character and a
# musical symbol.
RANGES = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFFC, 0xFFFC), (0x1D159, 0x1D159), (0xE0100, 0xE01EF),
)  # fmt: skip
INVISIBLE = frozenset(chr(code) for first, last in RANGES for code in range(first, last + 1))


def is_visible(text: str) -> bool:
    """Return whether all characters of a text are visible. A tab or line break is not, a space is."""
    return text.isprintable() and INVISIBLE.isdisjoint(text)
