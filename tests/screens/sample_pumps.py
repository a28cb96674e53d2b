"""Sample events for the screenshots: a session that delegates work, and the session of its sub-agent."""

from typing import Final

from core.domain.events import CallStarted, RunEnded, SubagentEnded, SubagentStarted, ToolReturned
from core.domain.text import Text
from tests.screens.sample_events import TimedEvents, after, model_turn, read_file, run_command, start_run, tool_call

DELEGATE_CALL: Final = "p2"
SUBAGENT: Final = "quote-reader"
SUBAGENT_TASK: Final = "Read the three quotes and note price, warranty and yearly use."
SUBAGENT_REPLY: Final = "Nordwerk 14,200 €, Alpin 12,900 €, Sole 15,600 €; ten years of power put Nordwerk first.\n"


def compare_pumps() -> list[TimedEvents]:
    """Return a session in which a sub-agent reads the files to compare."""
    return [
        start_run("Which heat pump costs least over ten years?"),
        *model_turn(1, "Three quotes of many pages: somebody else may read them.", seconds=2.6, tokens=2_400),
        after(0.1, CallStarted(DELEGATE_CALL, "delegate", "delegate", f"{SUBAGENT} · 3 quotes")),
        after(0.1, SubagentStarted(DELEGATE_CALL, "", SUBAGENT, Text(SUBAGENT_TASK))),
        after(
            0.1,
            SubagentEnded(DELEGATE_CALL, "", "completed", 3, 6_040),
            ToolReturned(DELEGATE_CALL, Text(SUBAGENT_REPLY)),
        ),
        *model_turn(2, "The dearest one uses least. Ten years decide.", seconds=3.8, tokens=4_100),
        *run_command("p3", "python ten_years.py quotes.csv", "Nordwerk 31,050\nAlpin 33,400\n", seconds=0.4),
        *model_turn(
            3,
            "",
            seconds=4.4,
            tokens=4_900,
            reply="**Nordwerk** costs least over ten years: 31,050 €, 2,350 € less than Alpin.",
        ),
        after(0.1, RunEnded("completed")),
    ]


def read_quotes() -> list[TimedEvents]:
    """Return the session of the sub-agent."""
    quote = "Price, warranty, use.\n" * 60
    return [
        start_run(SUBAGENT_TASK),
        *model_turn(1, "One quote after the other.", seconds=3.1, tokens=1_300),
        *read_file("q-nordwerk", "quotes/nordwerk.pdf", quote, seconds=0.3),
        *read_file("q-alpin", "quotes/alpin.pdf", quote, seconds=0.4),
        *read_file("q-sole", "quotes/sole.pdf", quote, seconds=0.4),
        *model_turn(2, "Sole names no yearly use; its data sheet does.", seconds=9.2, tokens=2_100),
        *tool_call("q-find", "search", "seasonal coefficient", seconds=0.1, output="sole.pdf:14\n"),
        *model_turn(3, "", seconds=6.0, tokens=2_640, reply=SUBAGENT_REPLY),
        after(0.1, RunEnded("completed")),
    ]
