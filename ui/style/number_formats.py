"""Formats durations, sizes, counts, money and times of day."""

from datetime import datetime
from pathlib import Path

MILLISECOND = 1_000
MINUTE_S = 60
HOUR_S = 3_600
KIB = 1_024


def duration(microseconds: int) -> str:
    """Format a duration as `31ms`, `0.6s`, `38s`, `2m 04s` or `1h 12m`; "" if it is less than a millisecond."""
    milliseconds = round(microseconds / MILLISECOND)
    if milliseconds < 1:
        return ""
    if milliseconds < 100:
        return f"{milliseconds}ms"
    tenths = round(milliseconds / 100)
    if tenths < 100:
        return f"{tenths / 10:.1f}s"
    seconds = round(milliseconds / 1000)
    if seconds < MINUTE_S:
        return f"{seconds}s"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S}m {seconds % MINUTE_S:02}s"
    return f"{seconds // HOUR_S}h {seconds % HOUR_S // MINUTE_S:02}m"


def amount(number: int) -> str:
    """Format a count as `950`, `1.2k`, `21.3k`, `123k` or `1.2M`."""
    for limit, unit in ((999_500, "k"), (999_500_000, "M")):
        if number < 1_000:
            break
        if number < limit:
            scaled = number / (1_000 if unit == "k" else 1_000_000)
            return f"{scaled:.1f}{unit}" if scaled < 99.95 else f"{scaled:.0f}{unit}"
    return str(number) if number < 1_000 else f"{number / 1_000_000_000:.1f}G"


def size(octets: int) -> str:
    """Format a number of bytes as `212 bytes`, `3.4 KB`, `22 KB` or `12.4 MB`."""
    if octets < KIB:
        return f"{octets} byte{'' if octets == 1 else 's'}"
    if octets < 10 * KIB:
        return f"{octets / KIB:.1f} KB"
    if octets < 1_000 * KIB:
        return f"{octets / KIB:.0f} KB"
    return f"{octets / KIB**2:.1f} MB"


def money(amount_usd: float) -> str:
    """Format an amount in US dollars as `$0.08`; below one cent, with four decimals."""
    return f"${amount_usd:.2f}" if amount_usd >= 0.01 or amount_usd == 0 else f"${amount_usd:.4f}"


def time_of_day(microseconds: int) -> str:
    """Format microseconds since the epoch as local time, such as `14:31:07`."""
    return datetime.fromtimestamp(microseconds / 1_000_000).astimezone().strftime("%H:%M:%S")


def short_folder(folder: str, home: str) -> str:
    """Return the path of a folder with `~` in place of the home folder."""
    if not folder or not home:
        return folder
    path = Path(folder)
    if path == Path(home):
        return "~"
    return str(Path("~") / path.relative_to(home)) if path.is_relative_to(home) else folder
