"""Numbers with their unit, as the commands print them."""


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def token_count(tokens: int, turns: int) -> str:
    """Format a number of tokens used in `turns` turns. If it is 0 although there were turns, it was not reported."""
    return f"{tokens:,} tokens" if tokens or not turns else "tokens unknown"
