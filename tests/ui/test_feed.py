"""Facts come in batches, all of them, each thread's in order; a question does not wait."""

import threading

from hypothesis import given, settings
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from ui.feed import EVERY_MS, Feed


def test_many_facts_come_in_few_batches(qtbot: QtBot) -> None:
    feed, batches = Feed(), list[list[object]]()
    feed.told.connect(batches.append)
    for number in range(1_000):
        feed.put(number)
    qtbot.waitUntil(lambda: sum(map(len, batches)) == 1_000)
    assert len(batches) == 1
    assert batches[0] == list(range(1_000))


def test_what_is_urgent_takes_along_what_waits(qtbot: QtBot) -> None:
    feed, batches = Feed(), list[list[object]]()
    feed.told.connect(batches.append)
    feed.put("a")
    feed.put("question", urgent=True)
    qtbot.waitUntil(lambda: bool(batches), timeout=EVERY_MS * 100)
    assert batches == [["a", "question"]]


def test_the_feed_wakes_again_after_a_batch(qtbot: QtBot) -> None:
    feed, heard = Feed(), list[object]()
    feed.told.connect(heard.extend)
    for number in range(3):
        feed.put(number)
        qtbot.waitUntil(lambda number=number: heard == list(range(number + 1)))  # type: ignore[misc]


@settings(max_examples=15)
@given(st.lists(st.lists(st.booleans(), max_size=30), min_size=1, max_size=4))
def test_nothing_is_lost_and_each_thread_is_heard_in_order(threads: list[list[bool]]) -> None:
    feed, heard = Feed(), list[tuple[int, int]]()
    feed.told.connect(heard.extend)

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
