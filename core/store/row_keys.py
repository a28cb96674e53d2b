"""Keys of event and step rows.

A key is `session << 32 | offset`, from the session's number and an offset in the session.
"""

BITS = 32
MASK = (1 << BITS) - 1


def row_key(session: int, offset: int) -> int:
    """Return the key of an event or a step. `offset` is the event's sequence number or the step's row."""
    return session << BITS | offset


def session_of(number: int) -> int:
    return number >> BITS


def offset_of(number: int) -> int:
    return number & MASK


def key_range(session: int) -> tuple[int, int]:
    """Return the first and the last key that rows of a session can have."""
    return session << BITS, session << BITS | MASK
