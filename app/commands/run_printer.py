"""Prints the events of a run: steps, replies and warnings, or every event with --json."""

import time

from app.commands.invocation import Invocation
from app.commands.timeline_lines import notice_line, step_line
from app.process.output import event_json
from core.domain.events import EventRecord, Replied, RunEnded, RunPaused, RunStarted, SessionEvent, ToolReturned
from core.domain.external_agents import AGENT_PREFIX
from core.domain.permissions import PermissionRequested
from core.domain.question import QuestionAsked
from core.domain.steps import OPEN_STATUSES
from core.domain.text import Text
from core.domain.visible import strip_colors, visible
from core.engine.state.live_updates import LiveUpdate
from core.store.journal_update import JournalUpdate

UNKNOWN_PRICE = "The price of this model is unknown, so --max-cost {:g} has no effect."
ACTIVITY_S = 10.0  # seconds between two lines about what a model does before its reply begins


class RunPrinter:
    """Prints what happens in a run, as selected with --json, --quiet and --verbose."""

    def __init__(self, context: Invocation) -> None:
        self._engine = context.engine
        self._args = context.args
        self._out = context.out
        self._printed_requests: set[str] = set()  # IDs of the questions and permission requests that were printed
        self.holds_replies = False  # print only the last reply, once the run has completed
        self._held_reply = Text()
        # The limit that has no effect if the model's price proves unknown; 0 if there is nothing to warn about.
        self._cost_limit = 0.0
        self._next_activity_at = time.monotonic() + ACTIVITY_S

    def print_activity(self, update: LiveUpdate) -> None:
        """Print what a slow model does before its reply begins, at most once per ACTIVITY_S."""
        now = time.monotonic()
        if update.activity and now >= self._next_activity_at and not (self._args.json or self._args.quiet):
            self._next_activity_at = now + ACTIVITY_S
            self._out.write_error(f"{update.activity[0].upper()}{update.activity[1:]}")

    def print_update(self, update: JournalUpdate) -> None:
        event = update.entry.event
        self._warn_if_price_is_unknown(event)
        if self._args.json:
            self._print_json(update.entry)
            return
        match event:
            case Replied():
                self._print_reply(event)
            case RunStarted(instruction_files=files):
                for instructions in files:
                    if instructions.error:
                        self._out.write(f"{instructions.name}: {instructions.error}")
            case _:
                pass
        if not self._args.quiet:
            for step in update.steps:
                if step.number and step.status not in OPEN_STATUSES:
                    self._out.write(step_line(step))
                # A notice that comes with a reply is printed together with the reply, as a warning.
                elif step.kind == "notice" and not isinstance(event, Replied):
                    self._out.write(notice_line(step))
        if self._args.verbose and isinstance(event, ToolReturned):
            self._print_indented(event.output)

    def print_end(self, end: RunEnded) -> None:
        """Print the reply that was held, or why a run ended, unless the user stopped it."""
        if end.status == "completed" and self._held_reply.head:
            self._out.write(self._engine.full_text(self._held_reply))
        if end.error:
            self._out.print_error(end.error)
        elif end.reason and end.status in {"limit", "failed"} and not self._args.json:
            self._out.print_warning(f"The run ended: {end.reason}.")

    def print_pause(self, pause: RunPaused) -> None:
        if pause.error:
            self._out.print_error(pause.error)
        elif not self._args.json:
            self._out.write(f"Paused: {pause.reason}.")

    async def print_request_event(self, session: str, request_id: str) -> None:
        """Print the event of a question or permission request as JSON, if it is not yet printed.

        `print_update` does not print the events of sub-agents, or those from before this command began.
        """
        if request_id in self._printed_requests:
            return
        async for entry in self._engine.events(session):
            if _request_id(entry) == request_id:
                self._print_json(entry)

    def _print_json(self, entry: EventRecord) -> None:
        self._printed_requests.add(_request_id(entry))
        self._out.write_json(event_json(entry, self._engine.read_blob))

    def _print_reply(self, reply: Replied) -> None:
        if self._args.verbose and reply.reasoning.head:
            self._print_indented(reply.reasoning)
        if reply.text.head and self.holds_replies:
            self._held_reply = reply.text
        elif reply.text.head:
            self._out.write(self._engine.full_text(reply.text))
        if reply.note:
            self._out.print_warning(reply.note)

    def _print_indented(self, text: Text) -> None:
        for line in visible(strip_colors(self._engine.full_text(text))).split("\n"):
            self._out.write(f"       {line}")

    def _warn_if_price_is_unknown(self, event: SessionEvent) -> None:
        """Warn once that a cost limit has no effect. An external agent reports its cost only when it ends."""
        if isinstance(event, RunStarted):
            self._cost_limit = 0.0 if event.model.startswith(AGENT_PREFIX) else event.max_cost
        elif isinstance(event, Replied) and event.cost is None and self._cost_limit:
            self._out.print_warning(UNKNOWN_PRICE.format(self._cost_limit))
            self._cost_limit = 0.0


def _request_id(entry: EventRecord) -> str:
    """Return the ID of the question or permission request in an event; empty for any other event."""
    match entry.event:
        case QuestionAsked(question=question):
            return question.id
        case PermissionRequested(request=request):
            return request.id
        case _:
            return ""
