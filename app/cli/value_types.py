"""Parsers for the values of options: numbers, durations, names. Each raises ArgumentTypeError for anything else."""

import argparse
import re

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
LONGEST_S = 1e8  # the longest duration that an option accepts, about three years


def positive_number(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise argparse.ArgumentTypeError("expected a number above 0")
    return speed


def nonnegative_number(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 1e6:
        raise argparse.ArgumentTypeError("expected a number, 0 or more")
    return amount


def whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError("expected a whole number, 0 or more")
    return int(text)


def nonempty_text(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a text that is not empty")
    return text


def duration(text: str) -> float:
    """Return the seconds of a duration such as `90s`, `10m` or `2h`."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd])", text)
    seconds = float(match[1]) * UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError("expected a duration such as 90s, 10m or 2h")
    return seconds


def env_variable(text: str) -> tuple[str, str | None]:
    """Return the name and the value of `NAME=VALUE`. The value is None if the text is only a name."""
    name, sign, value = text.partition("=")
    if not name.strip() or (sign and not value):
        raise argparse.ArgumentTypeError("expected NAME or NAME=VALUE")
    return name, value if sign else None


def header(text: str) -> tuple[str, str]:
    """Return the name and the value of an HTTP header such as `Accept: text/html`."""
    name, sign, value = text.partition(":")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError("expected 'Name: value'")
    return name.strip(), value.strip()


def nonempty(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a name")
    return text
