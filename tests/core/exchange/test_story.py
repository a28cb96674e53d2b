"""What exports tell of a journal."""

from core.domain.events import Entry, Replied, RequestSent, RunEnded, RunEvent, RunStarted
from core.domain.text import Text
from core.exchange.story import Answered, retold


def test_a_reply_of_an_agent_of_others_begins_when_it_was_seen_to_think() -> None:
    facts: list[RunEvent] = [
        RunStarted("agent/box"), RequestSent("agent/box", 1), Replied(Text("First.")),
        RequestSent("agent/box", 2, role="agent"), Replied(Text("Second.")), RunEnded("completed"),
    ]  # fmt: skip
    told = retold(Entry("s", seq, 1, 10 * seq, event) for seq, event in enumerate(facts, 1))
    assert [(one.asked, one.at) for one in told if isinstance(one, Answered)] == [(20, 30), (40, 50)]
