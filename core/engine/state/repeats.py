"""Detects that a model repeats a call, or several calls in turn, and gets the same results many times in a row."""

import json
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

FAILURE_THRESHOLD = 3
SUCCESS_THRESHOLD = 10
MAX_CYCLE = 8  # maximum length of a repeated sequence of calls that is detected


class CallResult(NamedTuple):
    """A call and its result, with digests of the tool name and arguments (`call`) and of the output."""

    tool: str
    call: bytes
    output: bytes
    failed: bool


class _MadeCall(NamedTuple):
    tool: str
    digest: bytes


class _Outcome(NamedTuple):
    digest: bytes
    failed: bool


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """A sequence of calls that was made `count` times in a row with the same results.

    A count of 1 means that it was not repeated. The sequence is failing if one of its calls failed, even if the others
    succeeded.
    """

    calls: Sequence[CallResult] = ()
    count: int = 0

    @property
    def failing(self) -> bool:
        return any(call.failed for call in self.calls)

    @property
    def level(self) -> float:
        """The count divided by FAILURE_THRESHOLD or SUCCESS_THRESHOLD; from 1.0 on, the model should be warned."""
        return self.count / (FAILURE_THRESHOLD if self.failing else SUCCESS_THRESHOLD)


@dataclass(slots=True)
class RepeatCounter:
    """Counts how often a sequence of calls was repeated with identical results.

    The count is derived from recorded events, so it survives a restart.
    """

    repeated: RepeatedCalls = RepeatedCalls()
    level_before_turn: float = 0.0
    _recent: deque[CallResult] = field(default_factory=lambda: deque(maxlen=MAX_CYCLE))  # the newest first
    # _equal[n - 1]: how many of the latest results in a row are equal to the result n calls before them.
    _equal: list[int] = field(default_factory=lambda: [0] * MAX_CYCLE)
    _calls: dict[str, _MadeCall] = field(default_factory=dict)
    _outcomes: dict[str, _Outcome] = field(default_factory=dict)

    def start_turn(self) -> None:
        """Remember the level at the start of the turn, to detect in which turn it passes the threshold."""
        self.level_before_turn = self.repeated.level

    def add_call(self, call_id: str, tool: str, arguments: str) -> None:
        """Add a call by its arguments: their JSON or its hash. The order of keys and the spaces do not count."""
        with suppress(ValueError, RecursionError):
            arguments = json.dumps(json.loads(arguments), sort_keys=True)
        self._calls[call_id] = _MadeCall(tool, _digest(f"{tool}\0{arguments}"))

    def add_result(self, call_id: str, output: str, failed: bool) -> None:
        """Add a result. It is counted once all earlier calls have one, because concurrent calls end in any order."""
        self._outcomes[call_id] = _Outcome(_digest(output), failed)
        while (first := next(iter(self._calls), "")) in self._outcomes:
            call = self._calls.pop(first)
            outcome = self._outcomes.pop(first)
            self._count(CallResult(call.tool, call.digest, outcome.digest, outcome.failed))

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
        repeated = (length for length in range(2, len(self._recent) + 1) if self._equal[length - 1] >= length)
        self.repeated = max(map(self._repetition, (1, *repeated)), key=lambda found: found.level)
        if self.repeated.level < level:  # the repetition was interrupted by other calls or results
            self.level_before_turn = 0.0

    def _repetition(self, length: int) -> RepeatedCalls:
        calls = tuple(islice(self._recent, length))
        return RepeatedCalls(calls[::-1], self._equal[length - 1] // length + 1)


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
