"""What fills the window of a model: at every request by category, item by item, and where it fell.

Categories are system, tools, skills, memory, summary, person, notes, replies, and `results:TOOL` for what a tool gave.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from core.domain.events import ContextCompacted, Entry, Replied, RequestSent
from core.domain.problems import Trouble
from core.domain.text import Text

RESULTS = "results:"
ORDER = ("system", "tools", "skills", "memory", "summary", "person", "notes", "replies")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing the model is sent. `call`: the id by which a result is read back; `folded`: only its head is sent."""

    seq: int
    category: str
    words: str
    tokens: int
    call: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Filled:
    """The window at one request: `tokens` as estimated, `counted` as its server counted them, 0 where it did not say.

    `window` is the most the model takes, 0 unknown. `role` names work that was no reply to the person.
    """

    seq: int
    run: int
    round: int
    at: int
    model: str
    tier: str = ""
    why: str = ""
    role: str = ""
    window: int = 0
    tokens: Mapping[str, int] = field(default_factory=dict)
    counted: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """All categories together."""
        return sum(self.tokens.values())

    @property
    def results(self) -> int:
        """What all tools together gave."""
        return sum(count for name, count in self.tokens.items() if name.startswith(RESULTS))


@dataclass(frozen=True, slots=True)
class Cliff:
    """A compaction: tokens before and after, what gave way, and the summary that stands for it."""

    seq: int
    run: int
    at: int
    why: str
    before: int
    after: int
    folded: tuple[str, ...] = ()
    first: int = 0
    until: int = 0
    dropped: int = 0
    summary: Text = Text()
    model: str = ""
    trouble: Trouble | None = None


@dataclass(slots=True)
class Ledger:
    """Folded from the facts of a session, one by one."""

    requests: list[Filled] = field(default_factory=list)
    cliffs: list[Cliff] = field(default_factory=list)

    def hear(self, entry: Entry) -> None:
        match entry.event:
            case RequestSent(role="agent"):
                pass  # what fills it then, its agent tells nobody
            case RequestSent() as sent:
                self.requests.append(
                    Filled(
                        entry.seq, entry.run, sent.round, entry.at, sent.model, sent.tier, sent.why, sent.role,
                        sent.window, sent.tokens,
                    )
                )  # fmt: skip
            case Replied(usage=usage) if self.requests and usage.input:
                self.requests[-1] = replace(self.requests[-1], counted=usage.input, cached=usage.cached)
            case ContextCompacted() as done:
                if self.requests and self.requests[-1].role == "summary" and done.usage.input:
                    self.requests[-1] = replace(self.requests[-1], counted=done.usage.input, cached=done.usage.cached)
                self.cliffs.append(
                    Cliff(
                        entry.seq, entry.run, entry.at, done.why, done.before, done.after, done.folded, done.first,
                        done.until, done.dropped, done.summary, done.model, done.trouble,
                    )
                )  # fmt: skip
            case _:
                pass

    @property
    def now(self) -> Filled | None:
        """The window at the last request of the talk itself."""
        return next((request for request in reversed(self.requests) if not request.role), None)


def ledger(entries: Iterable[Entry]) -> Ledger:
    """All at once what `hear` does one by one."""
    folded = Ledger()
    for entry in entries:
        folded.hear(entry)
    return folded


def categories(requests: Iterable[Filled]) -> list[str]:
    """Every category that occurs, in the order in which they are drawn."""
    found = {name for request in requests for name in request.tokens}
    return [name for name in ORDER if name in found] + sorted(found.difference(ORDER))
