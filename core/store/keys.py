"""One number for a session and a place in it: `session << 32 | place`."""

BITS = 32
MASK = (1 << BITS) - 1


def key(session: int, at: int) -> int:
    """Of the entry with this seq, or the step in this row."""
    return session << BITS | at


def session_of(number: int) -> int:
    return number >> BITS


def place(number: int) -> int:
    return number & MASK


def span(session: int) -> tuple[int, int]:
    """The first and the last key a session can have."""
    return session << BITS, session << BITS | MASK
