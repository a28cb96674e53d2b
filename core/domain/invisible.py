"""Characters that are invisible although Python calls them printable. Imports nothing, to be loaded at once."""

RANGES = (  # fillers, variation selectors, the empty Braille pattern, object replacement character, a musical symbol
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFFC, 0xFFFC), (0x1D159, 0x1D159), (0xE0100, 0xE01EF),
)  # fmt: skip
INVISIBLE = frozenset(chr(code) for first, last in RANGES for code in range(first, last + 1))


def is_visible(text: str) -> bool:
    """Return whether a text has no hidden character of any kind, and no tab or line break."""
    return text.isprintable() and INVISIBLE.isdisjoint(text)
