"""Keys of event and step rows: the session number and the offset in the session, as `session << 32 | offset`."""

BITS = 32
MASK = (1 << BITS) - 1


def row_key(session: int, offset: int) -> int:
    """Return the key of the event with this sequence number, or of the step in this row."""
    return session << BITS | offset


def session_of(number: int) -> int:
    return number >> BITS


def offset_of(number: int) -> int:
    return number & MASK


def key_range(session: int) -> tuple[int, int]:
    """Return the first and the last key that a session can have."""
    return session << BITS, session << BITS | MASK
