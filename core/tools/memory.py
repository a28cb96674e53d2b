"""Remember, recall and forget: what the agent itself can do with memory."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from core.domain.memory import LONGEST, Kind, Reach, Said, sentence
from core.domain.problems import Problem
from core.memory.hand import Hand
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool

RECALL = "recall"
Sentence = Annotated[str, MaxLen(LONGEST)]
For = Literal["everywhere", "folder", "agent", "session"]


@dataclass(frozen=True, slots=True)
class Remember:
    kind: Annotated[Kind, Says("preference of the person; heuristic: when, do; anti-pattern: what, why, instead.")]
    text: Annotated[Sentence, Says("One sentence that will be true in later sessions too.")] = ""
    scope: Annotated[For, Says("For whom it is true; the folder unless you say otherwise.")] = "folder"
    when: Sentence = ""
    do: Sentence = ""
    what: Sentence = ""
    why: Sentence = ""
    instead: Sentence = ""
    about: Sentence = ""
    source: Sentence = ""
    confidence: Annotated[float, Ge(0), Le(1)] = 0.5
    reason: Annotated[Sentence, Says("Why it is worth remembering.")] = ""


@dataclass(frozen=True, slots=True)
class Recall:
    query: Annotated[str, MaxLen(2_000), Says("What you want to know, in a few words.")] = ""
    id: Annotated[str, MaxLen(20), Says("Of one memory, to read it in full.")] = ""


@dataclass(frozen=True, slots=True)
class Forget:
    id: Annotated[str, MinLen(2), MaxLen(20)]
    reason: Annotated[str, MinLen(1), MaxLen(500)]


def said(parameters: Remember) -> Said:
    """What is to be remembered, for this reach."""
    names = ("when", "do", "what", "why", "instead", "about", "source")
    parts = {name: getattr(parameters, name) for name in names if getattr(parameters, name)}
    reach: Reach = parameters.scope
    text = parameters.text or sentence(parameters.kind, parts)
    return Said(parameters.kind, text, reach, confidence=parameters.confidence, parts=parts)


async def remember(parameters: Remember, place: Place) -> Result:
    return Result(await _hand(place).keep(said(parameters), place.call, parameters.reason))


async def recall(parameters: Recall, place: Place) -> Result:
    return Result(await _hand(place).recall(parameters.query, parameters.id))


async def forget(parameters: Forget, place: Place) -> Result:
    return Result(await _hand(place).forget(parameters.id, parameters.reason, place.call))


def _hand(place: Place) -> Hand:
    if place.memory is None or not place.memory.on():
        raise Problem("There is no memory here.", "It is switched off, or nothing can be kept.", "Go on without it.")
    return place.memory


REMEMBER = Tool(
    name="remember",
    description="Keep one lasting fact, preference or lesson for later sessions. Never secrets, guesses or one-offs.",
    parameters=Remember,
    kind="remember",
    touches="nothing",
    object=lambda parameters: said(parameters).text,
    run=remember,
    lasts=True,
)
RECALL_TOOL = Tool(
    name=RECALL,
    description="Look in what is remembered from earlier sessions: by a query, or one memory in full by its id.",
    parameters=Recall,
    kind="memory",
    touches="nothing",
    object=lambda parameters: parameters.id or parameters.query,
    run=recall,
)
FORGET = Tool(
    name="forget",
    description="Ask that a memory which is wrong or outdated be forgotten.",
    parameters=Forget,
    kind="forget",
    touches="nothing",
    object=lambda parameters: parameters.id,
    run=forget,
    lasts=True,
)
