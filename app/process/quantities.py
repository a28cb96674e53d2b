"""Numbers with their unit, as the commands print them."""


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def token_count(tokens: int, turns: int) -> str:
    """Return the number of tokens of so many turns; without any token, it was not reported."""
    return f"{tokens:,} tokens" if tokens or not turns else "tokens unknown"
