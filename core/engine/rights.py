"""Fold facts into what decides whether a call may happen, and into whose words a result is."""

from dataclasses import dataclass, field

from core.domain.consent import ConsentAsked, ConsentGiven, ConsentRequest
from core.domain.events import FileChanged, RunEvent, RunStarted, Tainted
from core.domain.provenance import Source
from core.domain.text import Text


@dataclass(slots=True)
class Rights:
    """Of a session.

    Attributes:
        requests: those of this run whether a call may happen, by id; `given` is the first word on each.
        taint: strangers whose words the session has read, in order.
        changed: files the agent has written in the session.
        sources: where the results came from that others wrote.
    """

    requests: dict[str, ConsentRequest] = field(default_factory=dict)
    given: dict[str, ConsentGiven] = field(default_factory=dict)
    taint: dict[str, None] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    sources: dict[Text, Source] = field(default_factory=dict)

    def hear(self, event: RunEvent) -> None:
        match event:
            case RunStarted(taint=taint):
                self.requests, self.given = {}, {}
                self.taint.update(dict.fromkeys(taint))
            case ConsentAsked(request=request):
                self.requests[request.id] = request
            case ConsentGiven(request_id=name):
                self.given.setdefault(name, event)
            case Tainted(source=source):
                self.taint[source] = None
            case FileChanged(path=path):
                self.changed.add(path)
            case _:
                pass
