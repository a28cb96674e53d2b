"""Detects that a model repeats a call and gets the same result many times in a row."""

from dataclasses import dataclass, field
from hashlib import sha256

FAILURE_THRESHOLD = 3
SUCCESS_THRESHOLD = 10


@dataclass(slots=True)
class RepeatCounter:
    """Counts identical results in a row. The count is derived from events, so it survives a resume."""

    last: bytes = b""
    count: int = 0
    failing: bool = False
    tool: str = ""
    calls: dict[str, bytes] = field(default_factory=dict)
    before_turn: int = 0

    def start_turn(self) -> None:
        """Note the count. The calls of one turn can repeat each other, so the count can pass the threshold in one."""
        self.before_turn = self.count

    def add_call(self, call_id: str, tool: str, arguments: str) -> None:
        self.calls[call_id] = sha256(f"{tool}\0{arguments}".encode("utf-8", "surrogatepass")).digest()
        self.tool = tool

    def add_result(self, call_id: str, output: str, failed: bool) -> None:
        """Count a result. A different call or a different result restarts the count."""
        digests = self.calls.pop(call_id, b"") + sha256(output.encode("utf-8", "surrogatepass")).digest()
        if digests != self.last or failed != self.failing:
            self.count = self.before_turn = 0
        self.count += 1
        self.last, self.failing = digests, failed

    @property
    def threshold(self) -> int:
        return FAILURE_THRESHOLD if self.failing else SUCCESS_THRESHOLD

    @property
    def should_warn(self) -> bool:
        """Whether to warn the model. True only in the turn that reaches the threshold, so that it is warned once."""
        return self.before_turn < self.threshold <= self.count

    @property
    def stuck(self) -> bool:
        """Whether the model went on repeating the call after the warning, so that the user should be asked."""
        return self.before_turn >= self.threshold and self.count >= 2 * self.threshold
