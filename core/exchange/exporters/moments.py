"""Times as other programs write them."""

from datetime import UTC, datetime

from core.domain.clock import SECOND


def iso(at: int) -> str:
    """ISO 8601, to the microsecond, in UTC."""
    return datetime.fromtimestamp(at / SECOND, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def nano(at: int) -> str:
    """Nanoseconds since 1970, as a string, for JSON knows no such numbers."""
    return str(at * 1000)
