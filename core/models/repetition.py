"""Detects that a model repeats the same passage without end, as small models do, so that its reply can be stopped."""

CHECK_CHARS = 1_000  # new characters after which the end of the text is examined again
TEXT_TAIL, ARGUMENTS_TAIL = 4_000, 16_000  # characters that must be one passage, repeated
MIN_REPETITIONS = 8


class RepetitionDetector:
    """Examines the end of a growing text.

    It repeats itself if the last `tail` characters are one passage, repeated at least `MIN_REPETITIONS` times. The text
    of a reply is rarely so by intention; the arguments of a call, such as a file with a table, need a longer tail.
    """

    def __init__(self, tail: int = TEXT_TAIL) -> None:
        self._tail_chars = tail
        self._tail = ""
        self._unchecked = 0

    def feed(self, text: str) -> bool:
        """Add text; return whether the model is found to repeat itself."""
        self._tail = (self._tail + text)[-self._tail_chars :]
        self._unchecked += len(text)
        if self._unchecked < CHECK_CHARS or len(self._tail) < self._tail_chars:
            return False
        self._unchecked = 0
        return _period(self._tail) > 0


class RepetitionGuard:
    """Watches the text, the reasoning and the call arguments of one reply."""

    def __init__(self) -> None:
        self._text = RepetitionDetector()
        self._reasoning = RepetitionDetector()
        self._arguments = RepetitionDetector(ARGUMENTS_TAIL)

    def feed(self, text: str, reasoning: str, arguments: str) -> bool:
        """Add what has arrived; return whether the model is found to repeat itself."""
        return any([self._text.feed(text), self._reasoning.feed(reasoning), self._arguments.feed(arguments)])


def without_repetition(text: str) -> str:
    """Return a text with the passage at its end that repeats without end only once; other text unchanged."""
    tail = text[-TEXT_TAIL:]
    period = _period(tail)
    if len(tail) < TEXT_TAIL or not period:
        return text
    end = len(text)
    while end > 2 * period and text[end - period : end] == text[end - 2 * period : end - period]:
        end -= period
    return text[:end]


def _period(tail: str) -> int:
    """Return the length of the passage that a text repeats at least `MIN_REPETITIONS` times, or 0.

    The longest possible passage at the end is looked for just before: the distance is the period of the whole text, if
    it has one, because a part as long as a period determines the rest.
    """
    longest = len(tail) // MIN_REPETITIONS
    found = tail.rfind(tail[-longest:], 0, len(tail) - 1) if longest else -1
    period = len(tail) - longest - found
    return period if found >= 0 and period <= longest and tail[period:] == tail[:-period] else 0
