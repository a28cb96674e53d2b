"""Numbers and names as they are typed."""

import argparse


def speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise argparse.ArgumentTypeError("expected a number above 0")
    return speed


def amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 1e6:
        raise argparse.ArgumentTypeError("expected a number, 0 or more")
    return amount


def count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError("expected a whole number, 0 or more")
    return int(text)


def named(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a name")
    return text
