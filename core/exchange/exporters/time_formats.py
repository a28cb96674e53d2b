"""Formats times for machine-readable exports."""

from datetime import UTC, datetime

from core.domain.clock import SECOND


def iso_time(at: int) -> str:
    """Format a time in microseconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at / SECOND, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def unix_nanoseconds(at: int) -> str:
    """Format a time in microseconds as nanoseconds since 1970.

    The result is a string, because JSON numbers lose digits of 64-bit integers.
    """
    return str(at * 1000)
