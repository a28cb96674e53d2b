"""Parsers for the values of options: numbers, durations, names. Each raises ArgumentTypeError for anything else."""

import argparse
import re
from typing import NamedTuple

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
NUMBER_LIMIT = 1e6
LONGEST_S = 1e8  # the longest duration that an option accepts, about three years


class EnvVariable(NamedTuple):
    """An environment variable to pass on. Without a value, it is passed with the value that it has here."""

    name: str
    value: str | None


class Header(NamedTuple):
    """An HTTP header."""

    name: str
    value: str


def positive_number(text: str) -> float:
    number = _number(text)
    if number is None or not 0 < number < NUMBER_LIMIT:
        raise argparse.ArgumentTypeError("expected a number above 0")
    return number


def nonnegative_number(text: str) -> float:
    number = _number(text)
    if number is None or not 0 <= number < NUMBER_LIMIT:
        raise argparse.ArgumentTypeError("expected a number, 0 or more")
    return number


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError("expected a whole number, 0 or more")
    return int(text)


def option_number(text: str) -> int:
    if not (number := whole_number(text)):
        raise argparse.ArgumentTypeError("expected the number of an option, from 1")
    return number


def duration(text: str) -> float:
    """Return the seconds of a duration such as `90s`, `10m` or `2h`."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd])", text)
    seconds = float(match[1]) * UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError("expected a duration such as 90s, 10m or 2h")
    return seconds


def env_variable(text: str) -> EnvVariable:
    """Parse `NAME=VALUE` or `NAME`."""
    name, equals_sign, value = text.partition("=")
    if not name.strip() or (equals_sign and not value):
        raise argparse.ArgumentTypeError("expected NAME or NAME=VALUE")
    return EnvVariable(name, value if equals_sign else None)


def header(text: str) -> Header:
    """Parse an HTTP header such as `Accept: text/html`."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError("expected 'Name: value'")
    return Header(name.strip(), value.strip())
