"""The state that permission decisions depend on, derived from the events of a session."""

from dataclasses import dataclass, field

from core.domain.events import FileChanged, RunStarted, SessionEvent, UntrustedContentRead
from core.domain.permissions import PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.provenance import ContentSource
from core.domain.text import Text


@dataclass(slots=True)
class PermissionState:
    """Permission requests and untrusted sources of a session.

    Attributes:
        requests: permission requests of the current run, by ID.
        decisions: the first decision on each request, by the ID of the request.
        untrusted: untrusted sources that the session has read, in order.
        changed_files: files the agent has written in the session.
        sources: the untrusted source of each result that has one, by the text of the result.
    """

    requests: dict[str, PermissionRequest] = field(default_factory=dict)
    decisions: dict[str, PermissionDecided] = field(default_factory=dict)
    untrusted: dict[str, None] = field(default_factory=dict)
    changed_files: set[str] = field(default_factory=set)
    sources: dict[Text, ContentSource] = field(default_factory=dict)

    def apply(self, event: SessionEvent) -> None:
        match event:
            case RunStarted(untrusted_sources=sources):
                self.requests, self.decisions = {}, {}
                self.untrusted.update(dict.fromkeys(sources))
            case PermissionRequested(request=request):
                self.requests[request.id] = request
            case PermissionDecided(request_id=name):
                self.decisions.setdefault(name, event)
            case UntrustedContentRead(source=source):
                self.untrusted[source] = None
            case FileChanged(path=path):
                self.changed_files.add(path)
            case _:
                pass
