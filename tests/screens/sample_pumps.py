"""Sample events for the screenshots: a session that delegates work, and the session of its sub-agent."""

from typing import Final

from core.domain.events import CallStarted, RunEnded, SubagentEnded, SubagentStarted, ToolReturned
from core.domain.text import Text
from tests.screens.sample_events import At, did, thought, user_task

HELPER: Final = "p2"  # ID of the delegating call
NAME: Final = "quote-reader"
TASK: Final = "Read the three quotes and note price, warranty and yearly use."
FOUND: Final = "Nordwerk 14,200 €, Alpin 12,900 €, Sole 15,600 €; ten years of power put Nordwerk first.\n"


def pumps() -> list[At]:
    """Return a session in which a sub-agent reads the files to compare."""
    facts = [user_task("Which heat pump costs least over ten years?")]
    facts += thought(1, "Three quotes of many pages: somebody else may read them.", 2.6, 2_400)
    facts.append(At(0.1, (CallStarted(HELPER, "delegate", "delegate", f"{NAME} · 3 quotes"),)))
    facts.append(At(0.1, (SubagentStarted(HELPER, "", NAME, Text(TASK)),)))
    facts.append(At(0.1, (SubagentEnded(HELPER, "", "completed", 3, 6_040), ToolReturned(HELPER, Text(FOUND)))))
    facts += thought(2, "The dearest one uses least. Ten years decide.", 3.8, 4_100)
    facts += did("p3", "run", "command", "python ten_years.py quotes.csv", 0.4, "Nordwerk 31,050\nAlpin 33,400\n", 0)
    facts += thought(3, "", 4.4, 4_900, "**Nordwerk** costs least over ten years: 31,050 €, 2,350 € less than Alpin.")
    return [*facts, At(0.1, (RunEnded("completed"),))]


def reading() -> list[At]:
    """Return the session of the sub-agent."""
    facts = [user_task(TASK)]
    facts += thought(1, "One quote after the other.", 3.1, 1_300)
    for name, seconds in (("nordwerk", 0.3), ("alpin", 0.4), ("sole", 0.4)):
        facts += did(f"q-{name}", "read", "read", f"quotes/{name}.pdf", seconds, "Price, warranty, use.\n" * 60)
    facts += thought(2, "Sole names no yearly use; its data sheet does.", 9.2, 2_100)
    facts += did("q-find", "search", "search", "seasonal coefficient", 0.1, "sole.pdf:14\n")
    facts += thought(3, "", 6.0, 2_640, FOUND)
    return [*facts, At(0.1, (RunEnded("completed"),))]
