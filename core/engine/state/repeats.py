"""Detects that a model repeats a call, or several calls in turn, and gets the same results many times in a row."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

FAILURE_THRESHOLD = 3
SUCCESS_THRESHOLD = 10
MAX_CYCLE = 8  # calls that are recognized as one repeated sequence


class CallResult(NamedTuple):
    tool: str
    call: bytes
    output: bytes
    failed: bool


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """The calls, in order, that were made `count` times in a row with the same results.

    With a count of 1, they were not repeated. They count as failing if one of them fails: the others alone do not bring
    the model any further.
    """

    calls: Sequence[CallResult] = ()
    count: int = 0

    @property
    def failing(self) -> bool:
        return any(call.failed for call in self.calls)

    @property
    def level(self) -> float:
        """The count in multiples of the threshold."""
        return self.count / (FAILURE_THRESHOLD if self.failing else SUCCESS_THRESHOLD)


@dataclass(slots=True)
class RepeatCounter:
    """Counts identical results in a row. The count is derived from events, so it survives a resume."""

    repeated: RepeatedCalls = RepeatedCalls()
    level_before_turn: float = 0.0
    _recent: deque[CallResult] = field(default_factory=lambda: deque(maxlen=MAX_CYCLE))  # the newest first
    # For each possible length of a sequence: how many of the last results equal the one so many calls earlier.
    _equal: list[int] = field(default_factory=lambda: [0] * MAX_CYCLE)
    _calls: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _results: dict[str, tuple[bytes, bool]] = field(default_factory=dict)

    def start_turn(self) -> None:
        """Note the count. The calls of one turn can repeat each other, so the count can pass the threshold in one."""
        self.level_before_turn = self.repeated.level

    def add_call(self, call_id: str, tool: str, arguments: str) -> None:
        self._calls[call_id] = tool, _digest(f"{tool}\0{arguments}")

    def add_result(self, call_id: str, output: str, failed: bool) -> None:
        """Count a result. Results count in the order of their calls, because concurrent calls end in any order."""
        self._results[call_id] = _digest(output), failed
        while (first := next(iter(self._calls), "")) in self._results:
            self._count(CallResult(*self._calls.pop(first), *self._results.pop(first)))

    @property
    def should_warn(self) -> bool:
        """Whether to warn the model. True only in the turn that reaches the threshold, so that it is warned once."""
        return self.level_before_turn < 1 <= self.repeated.level

    @property
    def stuck(self) -> bool:
        """Whether the model went on repeating after the warning, so that the user should be asked."""
        return self.level_before_turn >= 1 and self.repeated.level >= 2

    def _count(self, result: CallResult) -> None:
        for distance, earlier in enumerate(self._recent):
            self._equal[distance] = self._equal[distance] + 1 if result == earlier else 0
        self._recent.appendleft(result)
        level = self.repeated.level
        self.repeated = max(map(self._repetition, range(1, len(self._recent) + 1)), key=lambda found: found.level)
        if self.repeated.level < level:  # other calls or other results
            self.level_before_turn = 0.0

    def _repetition(self, length: int) -> RepeatedCalls:
        calls = tuple(islice(self._recent, length))
        return RepeatedCalls(calls[::-1], self._equal[length - 1] // length + 1)


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
