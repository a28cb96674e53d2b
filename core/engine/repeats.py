"""The same call with the same result again and again: first a nudge to the model, then a question to the person."""

from dataclasses import dataclass, field
from hashlib import sha256

FAILING = 3
SUCCEEDING = 10


@dataclass(slots=True)
class Repeats:
    """Counts equal results in a row; derived from the facts, so that a resumed run counts on."""

    last: bytes = b""
    count: int = 0
    failing: bool = False
    tool: str = ""
    asked: dict[str, bytes] = field(default_factory=dict)

    def call(self, call_id: str, tool: str, arguments: str) -> None:
        self.asked[call_id] = sha256(f"{tool}\0{arguments}".encode("utf-8", "surrogatepass")).digest()
        self.tool = tool

    def result(self, call_id: str, output: str, failed: bool) -> None:
        """One more result; another call, or another result, begins the count again."""
        seen = self.asked.pop(call_id, b"") + sha256(output.encode("utf-8", "surrogatepass")).digest()
        self.count = self.count + 1 if seen == self.last and failed == self.failing else 1
        self.last, self.failing = seen, failed

    @property
    def most(self) -> int:
        return FAILING if self.failing else SUCCEEDING

    @property
    def nudge(self) -> bool:
        """Exactly when the count is met: once."""
        return self.count == self.most

    @property
    def stuck(self) -> bool:
        return self.count >= 2 * self.most
