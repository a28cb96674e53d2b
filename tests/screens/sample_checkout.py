"""Two sample sessions that begin alike and end differently, run by a model whose price is known."""

from typing import Final

from core.domain.events import FileChanged, RunEnded, RunStarted, UserMessage
from core.domain.problems import ErrorDetails
from core.domain.recall_events import MemoriesRecalled, RecalledMemory
from core.domain.text import Text
from tests.screens.sample_events import At, did, name_of, thought

BIG: Final = "anthropic/claude-sonnet-4-5"
TASK: Final = "The checkout test fails now and then. Find out why, and mend it."
PASSED: Final = "50 passed in 13.02s\n"
RESET: Final = RecalledMemory(
    "m-reset", 1, "knowledge", 0.9, "test, checkout", "The shop test database is reset every night at 02:00."
)
FAILED: Final = "1 failed, 49 passed in 14.11s\n"


def _start() -> list[At]:
    """Return the events that both sessions have in common."""
    facts = [At(0, (UserMessage(Text(TASK)), RunStarted(BIG, 60)))]
    facts += _think(1, "I read the test before I run it.", 3.8, 21_000)
    facts += did("f1", "read", "read", "tests/checkout_test.py", 0.3, "def test_pays(): ...\n" * 40)
    facts += did("f2", "run", "command", "pytest -q tests/checkout_test.py", 14, FAILED, 1)
    facts += _think(
        2, "It fails at the payment stub: the timing of the payment stub, or the data it finds.", 4.0, 24_000
    )
    for number, place in enumerate(("payment_stub.py", "conftest.py", "settings/test.py", "checkout/pay.py"), 3):
        facts += did(f"f{number}", "read", "read", place, 0.2, "import time\n" * 120)
    facts += did("f7", "run", "command", "git log --oneline -8 tests", 0.1, "a1b2c3d slower stub\n" * 8, 0)
    return facts + _think(3, "The stub waits 50 ms, and the test asks after 40.", 5.2, 29_000)


def _think(number: int, words: str, seconds: float, tokens: int, text: str = "") -> list[At]:
    return thought(number, words, seconds, tokens, text, model=BIG, cost=tokens * 0.0000042)


def failed() -> list[At]:
    """Return the session that changes the wrong files until the provider rejects its requests."""
    stub = FileChanged("g1", "payment_stub.py", name_of("x"), name_of("y"), 9, 2)
    conf = FileChanged("g3", "conftest.py", name_of("x"), name_of("y"), 22)
    facts = _start()
    facts += did("g1", "edit", "edit", "payment_stub.py", 0.03, "Edited.", change=stub)
    facts += did("g2", "run", "command", "pytest -q tests/checkout_test.py", 14, FAILED, 1)
    facts += did("g3", "edit", "edit", "conftest.py", 0.04, "Edited.", change=conf)
    facts += did("g4", "run", "command", "pytest -q -n 8", 130, FAILED, 1)
    facts += _think(4, "It is not the parallel run either.", 6.0, 46_000)
    limited = ErrorDetails("The provider is rate limiting requests.", "It asked to wait 60 s.", "Try again later.")
    return [*facts, At(0.1, (RunEnded("failed", limited.message, limited),))]


def mended() -> list[At]:
    """Return the session that finds the cause, which is in the test data."""
    start, *facts = _start()
    facts = [start, At(0.01, (MemoriesRecalled(1, (RESET,), Text(RESET.text)),)), *facts]
    facts += did("h1", "run", "command", "make db-reset", 3.1, "reset\n", 0)
    facts += did("h2", "run", "command", "pytest -q tests/checkout_test.py --count 50", 13, PASSED, 0)
    answer = (
        "The test data of the night before were still there. `make db-reset` runs before the test now: 50 of 50 pass."
    )
    facts += _think(4, "50 of 50: it was the data, not the time.", 3.0, 31_000, answer)
    return [*facts, At(0.1, (RunEnded("completed"),))]
