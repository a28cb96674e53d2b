"""Two sample sessions that begin alike and end differently, run by a model whose price is known."""

from typing import Final

from core.domain.events import FileChanged, RunEnded
from core.domain.problems import ErrorDetails
from core.domain.recall_events import MemoriesRecalled, RecalledMemory
from core.domain.text import Text
from tests.screens.sample_events import (
    TimedEvents,
    after,
    model_turn,
    read_file,
    run_command,
    start_run,
    text_hash,
    tool_call,
)

PAID_MODEL: Final = "anthropic/claude-sonnet-4-5"
COST_PER_TOKEN: Final = 0.0000042
TASK: Final = "The checkout test fails now and then. Find out why, and mend it."
TEST_FAILED: Final = "1 failed, 49 passed in 14.11s\n"
TEST_PASSED: Final = "50 passed in 13.02s\n"
RESET_MEMORY: Final = RecalledMemory(
    memory_id="m-reset",
    version=1,
    kind="knowledge",
    score=0.9,
    reason="test, checkout",
    text="The shop test database is reset every night at 02:00.",
)
RATE_LIMITED: Final = ErrorDetails(
    "The provider is rate limiting requests.", "It asked to wait 60 s.", "Try again later."
)


def failed_search_for_cause() -> list[TimedEvents]:
    """Return the session that changes the wrong files until the provider rejects its requests."""
    before, edited = text_hash("x"), text_hash("y")
    stub = FileChanged("g1", "payment_stub.py", before, edited, added=9, removed=2)
    configuration = FileChanged("g3", "conftest.py", before, edited, added=22)
    return [
        start_run(TASK, PAID_MODEL),
        *_common_beginning(),
        *tool_call("g1", "edit", stub.path, seconds=0.03, output="Edited.", change=stub),
        *run_command("g2", "pytest -q tests/checkout_test.py", TEST_FAILED, seconds=14, exit_code=1),
        *tool_call("g3", "edit", configuration.path, seconds=0.04, output="Edited.", change=configuration),
        *run_command("g4", "pytest -q -n 8", TEST_FAILED, seconds=130, exit_code=1),
        *_paid_turn(4, "It is not the parallel run either.", seconds=6.0, tokens=46_000),
        after(0.1, RunEnded("failed", RATE_LIMITED.message, RATE_LIMITED)),
    ]


def successful_search_for_cause() -> list[TimedEvents]:
    """Return the session that finds the cause, which is in the test data."""
    return [
        start_run(TASK, PAID_MODEL),
        after(0.01, MemoriesRecalled(1, (RESET_MEMORY,), Text(RESET_MEMORY.text))),
        *_common_beginning(),
        *run_command("h1", "make db-reset", "reset\n", seconds=3.1),
        *run_command("h2", "pytest -q tests/checkout_test.py --count 50", TEST_PASSED, seconds=13),
        *_paid_turn(
            4,
            "50 of 50: it was the data, not the time.",
            seconds=3.0,
            tokens=31_000,
            reply="The test data of the night before were still there. "
            "`make db-reset` runs before the test now: 50 of 50 pass.",
        ),
        after(0.1, RunEnded("completed")),
    ]


def _common_beginning() -> list[TimedEvents]:
    """Return the first turns, which are the same in both sessions."""
    imports = "import time\n" * 120
    return [
        *_paid_turn(1, "I read the test before I run it.", seconds=3.8, tokens=21_000),
        *read_file("f1", "tests/checkout_test.py", "def test_pays(): ...\n" * 40, seconds=0.3),
        *run_command("f2", "pytest -q tests/checkout_test.py", TEST_FAILED, seconds=14, exit_code=1),
        *_paid_turn(
            2,
            "It fails at the payment stub: the timing of the payment stub, or the data it finds.",
            seconds=4.0,
            tokens=24_000,
        ),
        *read_file("f3", "payment_stub.py", imports, seconds=0.2),
        *read_file("f4", "conftest.py", imports, seconds=0.2),
        *read_file("f5", "settings/test.py", imports, seconds=0.2),
        *read_file("f6", "checkout/pay.py", imports, seconds=0.2),
        *run_command("f7", "git log --oneline -8 tests", "a1b2c3d slower stub\n" * 8, seconds=0.1),
        *_paid_turn(3, "The stub waits 50 ms, and the test asks after 40.", seconds=5.2, tokens=29_000),
    ]


def _paid_turn(number: int, reasoning: str, *, seconds: float, tokens: int, reply: str = "") -> list[TimedEvents]:
    return model_turn(
        number,
        reasoning,
        seconds=seconds,
        tokens=tokens,
        reply=reply,
        model=PAID_MODEL,
        cost=tokens * COST_PER_TOKEN,
    )
