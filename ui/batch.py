"""A batch of facts from the engine, sorted by what the window does with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.engine.drafts import Draft
from core.servers.health import States
from core.store.told import Gone, Told
from ui.waiting import ASKING


@dataclass(slots=True)
class Batch:
    """The last line of each session, what was said and drafted, who is gone; `asks`: may something else wait now?

    `servers` is how tool servers are by now, if that has changed.
    """

    touched: dict[str, SessionRow] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    asks: bool = False
    servers: States | None = None

    def steps_of(self, session: str) -> list[Step]:
        """The rows of this session that are new or changed, in order."""
        return [step for told in self.told if told.session.id == session for step in told.steps]


def sort(facts: Sequence[object]) -> Batch:
    made = Batch()
    for fact in facts:
        match fact:
            case Told():
                made.touched[fact.session.id] = fact.session
                made.told.append(fact)
                made.asks = made.asks or isinstance(fact.entry.event, ASKING)
            case Draft():
                made.drafts.append(fact)
            case Gone():
                made.gone += fact.sessions
            case States():
                made.servers = fact
            case _:
                raise TypeError(fact)
    return made
