"""Updates arrive in batches, completely and in order per thread; urgent ones at once."""

import threading

from hypothesis import given, settings
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from ui.base.feed import INTERVAL_MS, Feed


def test_many_events_arrive_in_few_batches(qtbot: QtBot) -> None:
    feed, batches = Feed(), list[list[object]]()
    feed.delivered.connect(batches.append)
    for number in range(1_000):
        feed.put(number)
    qtbot.waitUntil(lambda: sum(map(len, batches)) == 1_000)
    assert len(batches) == 1
    assert batches[0] == list(range(1_000))


def test_an_urgent_update_flushes_the_pending_ones(qtbot: QtBot) -> None:
    feed, batches = Feed(), list[list[object]]()
    feed.delivered.connect(batches.append)
    feed.put("a")
    feed.put("question", urgent=True)
    qtbot.waitUntil(lambda: bool(batches), timeout=INTERVAL_MS * 100)
    assert batches == [["a", "question"]]


def test_the_feed_wakes_again_after_a_batch(qtbot: QtBot) -> None:
    feed, heard = Feed(), list[object]()
    feed.delivered.connect(heard.extend)
    for number in range(3):
        feed.put(number)
        qtbot.waitUntil(lambda number=number: heard == list(range(number + 1)))  # type: ignore[misc]


@settings(max_examples=15)
@given(st.lists(st.lists(st.booleans(), max_size=30), min_size=1, max_size=4))
def test_no_update_is_lost_and_each_thread_keeps_its_order(threads: list[list[bool]]) -> None:
    feed, heard = Feed(), list[tuple[int, int]]()
    feed.delivered.connect(heard.extend)

    def tell(name: int, urgencies: list[bool]) -> None:
        for number, urgent in enumerate(urgencies):
            feed.put((name, number), urgent=urgent)

    tellers = [threading.Thread(target=tell, args=told) for told in enumerate(threads)]
    for teller in tellers:
        teller.start()
    for teller in tellers:
        teller.join()
    feed.flush()
    assert sorted(heard) == sorted((name, n) for name, told in enumerate(threads) for n in range(len(told)))
    for name, told in enumerate(threads):
        assert [n for who, n in heard if who == name] == list(range(len(told)))
