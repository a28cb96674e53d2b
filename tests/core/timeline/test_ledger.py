"""The ledger of the context: every request by category, real counts beside the estimates, and where it fell."""

from core.domain.events import ContextCompacted, Entry, Replied, RequestSent, RunEvent, Usage
from core.domain.text import Text
from core.timeline.ledger import Filled, categories, ledger


def entries(*events: RunEvent) -> list[Entry]:
    return [Entry("s", seq, 1, seq * 10, event) for seq, event in enumerate(events, 1)]


def test_every_request_adds_up_and_carries_what_its_server_counted() -> None:
    told = ledger(
        entries(
            RequestSent("m", 1, "mid", "most work", {"system": 40, "person": 10}, 1000),
            Replied(usage=Usage(60, 5, cached=40)),
            RequestSent("m", 2, tokens={"system": 40, "results:read": 700, "results:run": 60}, window=1000),
            RequestSent("s", 2, "small", "a summary", role="summary"),
            ContextCompacted("80% of the window", 800, 90, until=3, summary=Text("short"), usage=Usage(300, 20)),
        )
    )
    first, second, summary = told.requests
    assert (first.total, first.counted, first.cached, first.tier) == (50, 60, 40, "mid")
    assert (second.total, second.counted, second.results) == (800, 0, 760)
    assert (summary.role, summary.counted) == ("summary", 300)
    assert told.now == second
    (cliff,) = told.cliffs
    assert (cliff.seq, cliff.before, cliff.after, cliff.summary.head) == (5, 800, 90, "short")
    assert categories(told.requests) == ["system", "person", "results:read", "results:run"]


def test_a_journal_of_an_older_program_says_nothing_and_breaks_nothing() -> None:
    told = ledger(entries(RequestSent("m", 1), Replied()))
    assert told.requests == [Filled(1, 1, 1, 10, "m")] and told.requests[0].total == 0
    assert ledger([]).now is None
