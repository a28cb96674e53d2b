"""Runs sub-agents: a `delegate` call opens a child session, waits for its run to end and returns its reply."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from core.domain.events import (
    CallRefused,
    CallStarted,
    ExpectedReply,
    HarnessMessage,
    RunEnded,
    RunPaused,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SubagentEnded,
    SubagentStarted,
    ToolCall,
    ToolReturned,
    UntrustedContentRead,
)
from core.domain.ids import session_id
from core.domain.problems import Problem
from core.domain.steps import first_line
from core.domain.text import Text
from core.engine.run.background_agents import AGENT_REASON
from core.engine.run.run_context import RunContext
from core.engine.state.conversation import Conversation
from core.engine.state.limits import LIMIT_FIELDS
from core.engine.state.unresolved_calls import UNFINISHED, Resolution
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader
from core.tools.catalogue import read_arguments
from core.tools.check_agent import CHECK_AGENT, CheckAgentArguments
from core.tools.delegate import (
    MAX_DEPTH,
    MAX_PARALLEL,
    NAME,
    DelegateArguments,
    SubagentLimits,
    subagent_name,
    timeline_text,
)
from core.tools.json_schema import extract_json, schema_error, validation_errors

STOPPED_WITH_PARENT = "stopped together with its parent run"
SCHEMA_MISMATCH = "its reply does not match the requested schema"
MATCHING_REPLY = ExpectedReply("schema")


class StartChild(Protocol):
    """Opens the session that `opened` describes and starts its first run."""

    async def __call__(self, opened: SessionCreated, task: str, run_start: RunStarted) -> object: ...


class _ChildResult(NamedTuple):
    """How a child ended: the event with its usage and status, and the call result with its reply."""

    ended: SubagentEnded
    returned: ToolReturned


@dataclass(frozen=True, slots=True)
class SubAgents:
    """Starts, resumes and stops the sessions of sub-agents. `shutting_down` says whether Journeyman is exiting.

    `preferred_model` returns the model or tier that an agent profile prefers; empty if it has no preference.
    `check_model` receives the model of the calling agent and the model that it requests for the sub-agent, and raises
    Problem if the agent may not choose that model. `stop` receives a session and the reason.
    """

    journal: Journal
    reader: Reader
    check: Callable[[RunStarted], object]
    start_child: StartChild
    resume: Callable[[str, Resolution], Awaitable[None]]
    stop: Callable[[str, str], Awaitable[None]]
    is_active: Callable[[str], bool]
    shutting_down: Callable[[], bool]
    preferred_model: Callable[[str], str]
    check_model: Callable[[str, str], None]
    send: Callable[[str, str, tuple[str, ...]], Awaitable[None]]
    pause: Callable[[str], Awaitable[None]]

    async def delegate(self, run: RunContext, call: ToolCall, request: DelegateArguments) -> None:
        """Execute a `delegate` call and record its result. After a restart, resume the child session it started."""
        child = run.conversation.children.get(call.id, "")
        try:
            run_start = await self._plan(run, request) if not self._exists(child) else None
        except Problem as problem:
            await run.record(CallRefused(call.id, NAME, Text(str(problem))))
            return
        events: list[SessionEvent] = [CallStarted(call.id, NAME, NAME, timeline_text(request))]
        if not child:
            child = session_id()
            events.append(
                SubagentStarted(call.id, child, subagent_name(request), Text(request.task), request.background)
            )
        if request.background:
            started = f"[{subagent_name(request)} works in the background. Its id is {call.id}.]"
            await run.record(*events, ToolReturned(call.id, Text(started)))
            run.agents.follow(call.id, self._follow(run, call, request, child, run_start))
            return
        await run.record(*events)
        async with run.delegate_slots:
            try:
                await self._run_child(run, call, request, child, run_start)
                events = await self._result_events(run, call, child)
            except asyncio.CancelledError:
                if not self.shutting_down():
                    await self._stop_child(child)
                    cut = ToolReturned(call.id, Text("[stopped before it finished]"), failed=True)
                    await run.record(*await self._taint_events(call, child), cut)
                raise
            except Problem as problem:  # The child could not be started or resumed.
                events = [*await self._taint_events(call, child), _failed_result(call.id, problem)]
        await run.record(*events)

    async def _follow(
        self, run: RunContext, call: ToolCall, request: DelegateArguments, child: str, run_start: RunStarted | None
    ) -> None:
        """Wait until a background sub-agent has ended. Record its end, and queue a message with its result.

        If this task is canceled, stop the sub-agent, unless sub-agents have to survive (`BackgroundAgents.keeps`).
        """
        try:
            async with run.delegate_slots:
                await self._run_child(run, call, request, child, run_start)
                result = await self._child_result(run, call.id, child)
        except asyncio.CancelledError:
            if not run.agents.keeps:
                await self._stop_child(child)
                if call.id in run.conversation.background:
                    stopped = await self._child_result(run, call.id, child)
                    await run.record(*await self._taint_events(call, child), stopped.ended)
            raise
        except Problem as problem:  # The child could not be started or resumed.
            result = _ChildResult(SubagentEnded(call.id, child, "failed"), _failed_result(call.id, problem))
        taints = await self._taint_events(call, child)
        reply = result.returned.output.head
        text = _end_message(call.id, subagent_name(request), result.ended.status, reply, untrusted=bool(taints))
        await run.record(*taints, result.ended, HarnessMessage(Text(text), AGENT_REASON))

    async def follow_again(self, run: RunContext) -> None:
        """Go on with the sub-agents in the background of a run that is resumed after a pause or a crash."""
        for call in tuple(run.conversation.background.values()):
            request = read_arguments(NAME, run.full_text(call.arguments))
            child = run.conversation.children[call.id]
            try:
                run_start = await self._plan(run, request) if not self._exists(child) else None
            except Problem as problem:
                await run.record(
                    SubagentEnded(call.id, child, "failed"), HarnessMessage(Text(f"[{problem}]"), AGENT_REASON)
                )
                continue
            run.agents.follow(call.id, self._follow(run, call, request, child, run_start))

    async def end_background(self, run: RunContext, end: object) -> None:
        """End the tasks that follow background sub-agents when their run has ended with the event `end`.

        If the run was paused, pause the sub-agents too. If it ended, stop them, unless Journeyman exits: then they
        are left interrupted, like the run itself, so that they can be resumed.
        """
        if isinstance(end, RunPaused):
            for call in run.agents.active:
                await self.pause(run.conversation.children[call])
        await run.agents.close(keep=self.shutting_down() or not isinstance(end, RunEnded))

    async def check_agent(self, run: RunContext, call: ToolCall, request: CheckAgentArguments) -> None:
        """Execute a `check_agent` call."""
        child = run.conversation.children.get(request.id, "")
        await run.record(CallStarted(call.id, CHECK_AGENT, CHECK_AGENT, request.message or request.id))
        try:
            result = ToolReturned(call.id, Text(await self._checked(run, request, child)))
        except Problem as problem:
            result = _failed_result(call.id, problem)
        # The result may repeat untrusted content that the sub-agent has read.
        taints = await self._taint_events(call, child) if self._exists(child) else []
        await run.record(*taints, result)

    async def _checked(self, run: RunContext, request: CheckAgentArguments, child: str) -> str:
        """Send a message to the sub-agent, stop it or wait for it, as the call requests. Return its state or result.

        `child` is the session of the sub-agent; "" raises Problem, because the requested ID is unknown.
        """
        if not child:
            ids = ", ".join(run.conversation.children) or "none"
            raise Problem(f"There is no sub-agent {request.id!r}.", f"The ids are: {ids}.", "Start one with delegate.")
        if request.message:
            is_active = request.id in run.agents.active
            if not is_active or self._status(child) not in UNFINISHED:
                why = "It has not started yet." if is_active else "It has ended."
                raise Problem("The message was not sent.", why, "Start another sub-agent, or try again.")
            await self.send(child, request.message, tuple(run.conversation.permissions.untrusted))
        if request.stop:
            await run.agents.stop(request.id)
        elif request.wait_s:
            await run.agents.wait(request.id, request.wait_s)
        if request.id in run.agents.active:
            row = self.reader.session(child)
            activity = f": {row.activity}" if row and row.activity else ""
            return f"[{request.id} is still working{activity}]"
        return (await self._child_result(run, request.id, child)).returned.output.head

    def _exists(self, child: str) -> bool:
        return bool(child) and self.reader.session(child) is not None

    async def _plan(self, run: RunContext, arguments: DelegateArguments) -> RunStarted:
        """Return the configuration of the sub-agent's run. Raise Problem if the arguments are not allowed."""
        start = run.conversation.start
        parent = self.reader.session(run.session)
        assert start is not None and parent is not None
        if parent.depth >= MAX_DEPTH:
            why = f"This sub-agent is already at the maximum depth of {MAX_DEPTH}."
            raise Problem("You cannot start another sub-agent.", why, "Do the task yourself.")
        if arguments.model:
            self.check_model(start.model, arguments.model)
        if arguments.schema is not None and (why := schema_error(arguments.schema)):
            raise Problem("The schema is not valid.", f"{why}.", "Correct it, or leave it out to get a reply in text.")
        own_tools = start.tools
        if unavailable := sorted(set(arguments.tools) - set(own_tools)) if own_tools else []:
            names = ", ".join(unavailable)
            raise Problem(
                f"You cannot give a tool that you do not have: {names}.", "", f"You have: {', '.join(own_tools)}."
            )
        model = arguments.model
        if not model and arguments.agent:
            model = self.preferred_model(arguments.agent)
        schema = "" if arguments.schema is None else json.dumps(arguments.schema, ensure_ascii=False)
        run_start = replace(
            start,
            model=model or start.model,
            profile=arguments.agent or start.profile,
            tools=_tools_at_depth(arguments.tools or own_tools, parent.depth + 1),
            interactive=False,  # At a limit the child ends instead of asking; the parent decides whether to continue.
            system_prompt=Text(),
            session_context=Text(),
            boundary="",
            untrusted_sources=tuple(run.conversation.permissions.untrusted),
            instruction_files=(),
            script_role=subagent_name(arguments),
            output_schema=Text(schema),
            **child_limits(run.conversation, arguments.limits, is_background=arguments.background),
        )
        self.check(run_start)
        return run_start

    async def _run_child(
        self, run: RunContext, call: ToolCall, arguments: DelegateArguments, child: str, run_start: RunStarted | None
    ) -> None:
        """Start or resume the child and wait until it ends, even if the user pauses and resumes it in between."""
        ended = asyncio.Event()

        def on_update(update: JournalUpdate) -> None:
            if update.entry.session == child and isinstance(update.entry.event, RunEnded):
                ended.set()

        forget = self.journal.listen(on_update)
        try:
            if run_start is not None:
                parent = self.reader.session(run.session)
                assert parent is not None
                opened = SessionCreated(
                    session_id=child,
                    folder=parent.folder,
                    title=first_line(arguments.task),
                    parent=run.session,
                    parent_call=call.id,
                    subagent=subagent_name(arguments),
                    depth=parent.depth + 1,
                )
                await self.start_child(opened, arguments.task, run_start)
            elif self._status(child) in UNFINISHED and not self.is_active(child):
                await self.resume(child, run.resolution)
            if self._status(child) in UNFINISHED:
                await ended.wait()
        finally:
            forget()

    def _status(self, child: str) -> str:
        row = self.reader.session(child)
        return row.status if row else ""

    async def _stop_child(self, child: str) -> None:
        """Stop the child if it has not ended, because it must not outlive its parent."""
        if self._exists(child) and self._status(child) in UNFINISHED:
            await self.stop(child, STOPPED_WITH_PARENT)

    async def _result_events(self, run: RunContext, call: ToolCall, child: str) -> list[SessionEvent]:
        """Return the events for the child's usage, the untrusted content that it read, and its reply."""
        result = await self._child_result(run, call.id, child)
        return [result.ended, *await self._taint_events(call, child), result.returned]

    async def _child_result(self, run: RunContext, call: str, child: str) -> _ChildResult:
        """Return how a child that `call` started has ended."""
        conversation = Conversation()
        last = RunEnded("stopped", "it had not started")
        async for entry in self.journal.read(child):
            conversation.apply(entry)
            if isinstance(entry.event, RunEnded):
                last = entry.event
        spent = conversation.spent
        ended = SubagentEnded(
            call_id=call,
            child_session=child,
            status=last.status,
            turns=int(spent.get("turns", 0)),
            tokens=int(spent.get("tokens", 0)),
            cost=spent.get("cost", 0.0),
            minutes=spent.get("minutes", 0.0),
        )
        text = _result_text(run, conversation, last)
        return _ChildResult(ended, ToolReturned(call, Text(text), failed=last.status != "completed"))

    async def _taint_events(self, call: ToolCall, child: str) -> list[SessionEvent]:
        """Return an event for each untrusted source that the child read, because its reply may repeat the content."""
        entries = [entry async for entry in self.journal.read(child)]
        sources = dict.fromkeys(
            entry.event.source for entry in entries if isinstance(entry.event, UntrustedContentRead)
        )
        return [UntrustedContentRead(call.id, source) for source in sources]


def child_limits(
    conversation: Conversation, requested: SubagentLimits, *, is_background: bool = False
) -> dict[str, Any]:
    """Compute the limits of a child: the requested limits, capped by its share of what the parent has left.

    The share is divided by the number of pending `delegate` calls. For a background child it is divided by at least
    MAX_PARALLEL, because more sub-agents may start while it works. Raise Problem if a limit is used up.
    """
    sharing_calls = max(1, sum(call.tool == NAME for call in conversation.pending.values()))
    if is_background or conversation.background:
        sharing_calls = max(sharing_calls, MAX_PARALLEL)
    limits: dict[str, Any] = {}
    for limit, name in LIMIT_FIELDS.items():
        granted = getattr(requested, limit)
        if allowance := conversation.allowed.get(limit, 0.0):
            left = allowance - conversation.spent.get(limit, 0.0)
            available = allowance if limit == "turns" else left / sharing_calls
            if available <= 0:
                raise Problem(f"The limit of {allowance:g} {limit} is used up.", "", "Finish with what you have.")
            granted = min(granted or available, available)
        limits[name] = max(1, int(granted)) if granted and limit in ("turns", "tokens") else granted
    return limits


def _failed_result(call: str, problem: Problem) -> ToolReturned:
    return ToolReturned(call, Text(str(problem)), failed=True)


def _tools_at_depth(names: tuple[str, ...], depth: int) -> tuple[str, ...]:
    """Return the tools of a sub-agent at this depth. At MAX_DEPTH `delegate` is removed, with `check_agent`."""
    return tuple(name for name in names if name not in (NAME, CHECK_AGENT) or depth < MAX_DEPTH)


def _result_text(run: RunContext, conversation: Conversation, last: RunEnded) -> str:
    """Return the child's last reply. If the child did not complete, the reason comes first."""
    replies = (message.text for message in reversed(conversation.messages) if message.role == "assistant")
    text = run.full_text(next((reply for reply in replies if reply.head), Text()))
    if last.status == "completed":
        return text or "[The sub-agent ended without a reply.]"
    why = f"[The sub-agent did not finish: {last.status}{': ' + last.reason if last.reason else ''}.]"
    return f"{why}\n{text}" if text else why


def _end_message(call: str, name: str, status: str, reply: str, *, untrusted: bool) -> str:
    """Return the message to an agent about the end of its sub-agent. An `untrusted` reply is left out of it."""
    announcement = f"[The sub-agent {name} ({call}) has ended: {status}.]"
    if untrusted:
        return f"{announcement} It read untrusted content. Call check_agent with this id to read its result."
    return f"{announcement}\n{reply}"


async def check_output_schema(run: RunContext) -> RunEnded | None:
    """Check the final reply against the output schema, if there is one.

    The first time a reply does not match, queue a message that asks the model to correct it. The second time, return a
    failed end. Otherwise return None.
    """
    conversation = run.conversation
    start = conversation.start
    if start is None or not start.output_schema.head:
        return None
    schema = json.loads(run.full_text(start.output_schema))
    replies = (message.text for message in reversed(conversation.messages) if message.role == "assistant")
    reply = next(replies, Text())
    try:
        errors = validation_errors(extract_json(run.full_text(reply)), schema, formats=True)
    except ValueError as error:
        errors = [f"it is not valid JSON: {error}"]
    if not errors:
        return None
    if any(message.expected_reply == MATCHING_REPLY for message in conversation.messages):
        return RunEnded("failed", f"{SCHEMA_MISMATCH}: {errors[0]}", summary=Text(run.last_reply_text()))
    details = "; ".join(errors[:5])
    text = f"[Your reply does not fit the schema: {details}. Reply again with only the JSON.]"
    await run.record(HarnessMessage(Text(text), SCHEMA_MISMATCH, MATCHING_REPLY))
    return None
