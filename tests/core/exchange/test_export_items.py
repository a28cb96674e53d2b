"""Grouping events into the items that exports show."""

from core.domain.events import EventRecord, Replied, RequestSent, RunEnded, RunStarted, SessionEvent
from core.domain.text import Text
from core.exchange.export_items import ReplyItem, group_events


def test_a_reply_of_an_external_agent_starts_with_its_first_sign_of_activity() -> None:
    facts: list[SessionEvent] = [
        RunStarted("agent/box"), RequestSent("agent/box", 1), Replied(Text("First.")),
        RequestSent("agent/box", 2, purpose="agent"), Replied(Text("Second.")), RunEnded("completed"),
    ]  # fmt: skip
    told = group_events(EventRecord("s", seq, 1, 10 * seq, event) for seq, event in enumerate(facts, 1))
    assert [(one.requested_at, one.at) for one in told if isinstance(one, ReplyItem)] == [(20, 30), (40, 50)]
