"""Detects that a model repeats one passage endlessly, as small models do, so that its reply can be stopped."""

CHECK_CHARS = 1_000  # new characters between two examinations
TEXT_TAIL, ARGUMENTS_TAIL = 4_000, 16_000  # length of the end of the text that must consist of one repeated passage
MIN_REPETITIONS = 8


class RepetitionDetector:
    """Examines the end of a growing text.

    The text is endless if its last `tail` characters are one passage, repeated at least `MIN_REPETITIONS` times.
    Replies rarely contain that intentionally, but call arguments may, such as a file with a table, and so need a longer
    tail.
    """

    def __init__(self, tail: int = TEXT_TAIL) -> None:
        self._tail_chars = tail
        self._tail = ""
        self._unchecked = 0

    def feed(self, text: str) -> bool:
        """Add text; return whether the text has become repetitive."""
        self._tail = (self._tail + text)[-self._tail_chars :]
        self._unchecked += len(text)
        if self._unchecked < CHECK_CHARS or len(self._tail) < self._tail_chars:
            return False
        self._unchecked = 0
        return _period(self._tail) > 0


class RepetitionGuard:
    """Detects repetition in the text, the reasoning or the call arguments of one reply."""

    def __init__(self) -> None:
        self._text = RepetitionDetector()
        self._reasoning = RepetitionDetector()
        self._arguments = RepetitionDetector(ARGUMENTS_TAIL)

    def feed(self, text: str, reasoning: str, arguments: str) -> bool:
        """Add new parts of the reply; return whether one of the three has become repetitive."""
        return any([self._text.feed(text), self._reasoning.feed(reasoning), self._arguments.feed(arguments)])


def without_repetition(text: str) -> str:
    """Return a text in which the passage that repeats up to its end occurs only once; other texts unchanged."""
    tail = text[-TEXT_TAIL:]
    period = _period(tail)
    if len(tail) < TEXT_TAIL or not period:
        return text
    end = len(text)
    while end > 2 * period and text[end - period : end] == text[end - 2 * period : end - period]:
        end -= period
    return text[:end]


def _period(tail: str) -> int:
    """Return the length of the passage of which a text consists, repeated `MIN_REPETITIONS` times or more; else 0.

    The last part of the text, as long as the longest possible passage, is searched for before its own position. The
    distance is the period of the text, if it has one, because a part of that length determines all the rest.
    """
    longest = len(tail) // MIN_REPETITIONS
    if not longest:
        return 0
    found = tail.rfind(tail[-longest:], 0, len(tail) - 1)
    if found < 0:
        return 0
    period = len(tail) - longest - found
    is_periodic = period <= longest and tail[period:] == tail[:-period]
    return period if is_periodic else 0
