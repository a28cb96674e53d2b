"""Executes a run with an external agent: sends the user's messages, records updates and answers requests."""

import asyncio
import base64
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from core.agents.agent_pool import AgentPool
from core.agents.connection import STOP_S, AgentConnection
from core.agents.json_rpc import Params
from core.agents.session_updates import (
    AgentUsage,
    MessageChunk,
    PlanUpdate,
    SettingChanged,
    SettingsListed,
    ToolCallUpdate,
    as_count,
    parse_update,
)
from core.domain.events import HarnessMessage, RequestSent, RunEnded, RunPaused, ToolReturned, Usage
from core.domain.external_agents import ExternalAgentSetting, ExternalAgentSettingChanged, ExternalAgentStarted
from core.domain.ids import permission_id
from core.domain.import_events import UnrecognizedRecordsKept
from core.domain.messages import Message
from core.domain.permissions import NeedsApproval, PolicyDecision
from core.domain.problems import ErrorDetails, Problem, StorageProblem
from core.domain.text import Attachment, Text
from core.engine.external.external_calls import NO_RESULT, ExternalCalls
from core.engine.external.external_files import ExternalFileChanges
from core.engine.external.external_host import ExternalAgentHost, chosen_option
from core.engine.run.completion import check_completion
from core.engine.run.guards import check_limits, complete_run, run_timeout
from core.engine.run.permission import await_approval
from core.engine.run.run_context import RunContext
from core.engine.state.limits import limits_near
from core.settings.schema import ExternalAgentSettings

MAX_UNKNOWN_UPDATES = 100  # Maximum number of unrecognized updates recorded per run.
MAX_UPDATE_CHARS = 20_000
UNKNOWN_RESULT = "Journeyman was closed while this call was running, so its result is unknown."
RESUMED = HarnessMessage(
    Text("[Journeyman was closed while you were working. Continue with the task.]"), "the run was resumed"
)
LIMIT_EXTENDED = HarnessMessage(
    Text("[The user extended your limit. Continue with the task.]"), "the limit was extended"
)
LIMIT_REASONS = {
    "max_tokens": "the agent's model reached its token limit",
    "max_turn_requests": "the agent reached its own limit of requests per turn",
}


async def run_external_agent(run: RunContext, pool: AgentPool) -> RunEnded | RunPaused:
    """Run until no message is queued, a limit is reached or the agent fails.

    If the run fails or is stopped, the agent's process is ended. Otherwise the process is kept for the next run.
    """
    agent_run = ExternalRun(run, pool)
    keep_process = False
    try:
        end = await agent_run.run()
        keep_process = not (isinstance(end, RunEnded) and end.status == "failed")
        return end
    finally:
        agent_run.close()
        if keep_process:
            pool.mark_idle(run.session)
        else:
            await pool.end(run.session)


@dataclass(slots=True)
class _EarlierSession:
    """The ACP session that the external agent used before its process ended.

    `id` is empty if there was none. `settings` are those that the agent listed when it started. `changed` contains the
    values to which they were changed later, by setting ID or category.
    """

    id: str = ""
    settings: tuple[ExternalAgentSetting, ...] = ()
    changed: dict[str, str] = field(default_factory=dict)


class _RestartAnswer(NamedTuple):
    """The user's answer to a permission request that was open when Journeyman exited.

    `approved_fingerprint` is the fingerprint of the request if it was allowed, otherwise "".
    """

    text: str
    approved_fingerprint: str


class ExternalRun:
    """One run of an external agent."""

    def __init__(self, run: RunContext, pool: AgentPool) -> None:
        self._run = run
        self._pool = pool
        self._files = ExternalFileChanges(run)
        self._calls = ExternalCalls(run, self._files)
        self._unknown_updates = 0
        self._used = AgentUsage(0, 0)
        self._recorded_cost = 0.0  # How much of the session cost reported by the agent is recorded already.
        self._limit_reached = False
        self._approved_before_restart: set[str] = set()  # See ExternalAgentHost.

    def close(self) -> None:
        self._files.close()

    async def run(self) -> RunEnded | RunPaused:
        run = self._run
        if not run.conversation.attempts:
            await run.run_hooks("run_start")
        await self._resolve_open_calls()
        while True:
            if run.pause_requested:
                return RunPaused(run.pause_reason)
            if ended := await check_limits(run):
                return ended
            if not run.conversation.queued:
                await run.record(LIMIT_EXTENDED if self._limit_reached else RESUMED)
            self._limit_reached = False
            if ended := await self._turn():
                return ended
            if not run.conversation.queued and not self._limit_reached:
                ended = await check_completion(run)
                if ended or not run.conversation.queued:
                    return ended or await complete_run(run)

    async def _resolve_open_calls(self) -> None:
        """Record the calls that were open when Journeyman exited as failed, with the user's answer to each request."""
        run = self._run
        for name, call in list(run.conversation.pending.items()):
            answer = await _answer_from_before_restart(run, name)
            may_repeat = run.resolution != "skip"
            if answer and answer.approved_fingerprint and may_repeat:
                self._approved_before_restart.add(answer.approved_fingerprint)
            description = run.conversation.started.get(name, "") or run.full_text(call.arguments)[:500]
            note = f" The user was asked about it and answered: {answer.text}." if answer else ""
            await run.record(ToolReturned(name, Text(f"[{UNKNOWN_RESULT}]{note}"), failed=True))
            hint = " Repeat it if it is still needed." if may_repeat else " Do not repeat it."
            text = f"{UNKNOWN_RESULT} The call was: {description}.{note}{hint}"
            await run.record(HarnessMessage(Text(f"[{text}]"), "an open call was resolved"))

    async def _turn(self) -> RunEnded | None:
        """Send the queued messages and record updates until the turn ends. Return an event if the run ends with it."""
        run = self._run
        connection = await self._connect()
        await self._files.take_snapshot()
        sent_count = len(run.conversation.messages)
        await run.record(
            RequestSent(run.model_name, run.conversation.turns + 1, context_window=self._used.context_window)
        )
        self._calls.awaiting_reply = True
        messages = [message for message in run.conversation.messages[sent_count:] if message.role == "user"]
        blocks = [block for message in messages for block in self._blocks(message, connection)]
        connection.host = host = ExternalAgentHost(
            run, self._calls, self._handle_update, self._approved_before_restart, connection.name
        )
        try:
            answer = await self._send_prompt(connection, blocks)
            await host.close()
            await self._calls.finish_all(NO_RESULT)
            return await self._finish_turn(answer)
        except asyncio.CancelledError:
            await connection.cancel(STOP_S)
            await self._pool.end(run.session)
            await host.close()
            await self._calls.interrupt("stopped")
            raise
        except Problem as problem:
            await self._pool.end(run.session)
            await host.close()
            await self._calls.interrupt("the external agent failed")
            if isinstance(problem, StorageProblem):  # Raise it, so that the run is only paused and can be resumed.
                raise
            return RunEnded("failed", problem.details.message, problem.details, Text(run.last_reply_text()))
        finally:
            connection.host = None

    async def _send_prompt(self, connection: AgentConnection, blocks: list[Params]) -> Params | None:
        """Send the prompt and return the agent's response.

        Return None if the turn was interrupted by an urgent message or by a limit.
        """
        run = self._run
        timeout = run_timeout(run)
        try:
            async with timeout as run.reading:
                return await connection.prompt(blocks)
        except TimeoutError:
            if not timeout.expired():  # It comes from a hook or the disk.
                raise
            self._limit_reached = self._limit_reached or not run.conversation.queued
        finally:
            run.reading = None
        if not await connection.cancel():
            why = "It was asked to cancel the turn and did not respond."
            raise Problem(f"{connection.name} did not end its turn.", why, "Send a message to continue.")
        return None

    async def _finish_turn(self, answer: Params | None) -> RunEnded | None:
        """Record the rest of the reply with its usage. Return an event if the run ends, or None if it continues."""
        result = answer or {}
        stop = str(result.get("stopReason", "cancelled"))
        cost = None if self._used.cost is None else max(0.0, self._used.cost - self._recorded_cost)
        self._recorded_cost += cost or 0.0
        stop_text = "" if stop == "end_turn" else stop
        await self._calls.flush(usage=_usage(result.get("usage")), stop=stop_text, cost=cost)
        if answer is None:
            return None
        if stop in LIMIT_REASONS:
            return RunEnded("limit", LIMIT_REASONS[stop], summary=Text(self._run.last_reply_text()))
        if stop == "refusal":
            details = ErrorDetails("The agent refused to continue.", "It gave no reason.", "Rephrase the task.")
            return RunEnded("failed", details.message, details, Text(self._run.last_reply_text()))
        if stop == "cancelled" and not self._run.conversation.queued:
            return RunEnded("stopped", "the agent canceled its turn")
        return None

    async def _connect(self) -> AgentConnection:
        """Return the connection to the agent. If there is none, start the agent's process and record that."""
        run = self._run
        existing = self._pool.get(run.session)
        earlier = _EarlierSession() if existing else await self._earlier_session()
        connection = await self._pool.connect(run.session, self._agent(), run.tool_context.folder, earlier.id)
        if connection is not existing:
            await _restore_settings(connection, earlier)
            command = " ".join(connection.agent.argv())
            await run.record(
                ExternalAgentStarted(
                    agent=connection.name,
                    version=connection.version,
                    command=command,
                    agent_session_id=connection.agent_session_id,
                    settings=connection.settings,
                    has_history=connection.has_history,
                )
            )
        return connection

    def _agent(self) -> ExternalAgentSettings:
        start = self._run.conversation.start
        return self._pool.find_agent(self._run.model_name, start.agent_command if start else "")

    async def _earlier_session(self) -> _EarlierSession:
        """Return the ACP session that the agent used in this session before, so that ACP can load it again."""
        earlier = _EarlierSession()
        command = " ".join(self._agent().argv())
        is_same_agent = False  # Whether the events that are being read are about this agent.
        async for entry in self._run.journal.read(self._run.session):
            match entry.event:
                case ExternalAgentStarted() as started:
                    is_same_agent = started.command == command
                    if is_same_agent:
                        earlier.id = started.agent_session_id
                        earlier.settings = started.settings or earlier.settings
                case ExternalAgentSettingChanged(setting_id=setting, value=value) if is_same_agent:
                    earlier.changed.pop(setting, None)  # Insert it at the end, so that the last changes are in order.
                    earlier.changed[setting] = value
                case _:
                    pass
        return earlier

    async def _handle_update(self, update: Params) -> None:
        """Handle one `session/update` notification."""
        parsed = parse_update(update)
        match parsed:
            case MessageChunk():
                await self._calls.add_text(parsed)
            case ToolCallUpdate():
                await self._calls.update_call(parsed)
                self._check_limits()
            case PlanUpdate():
                await self._calls.record_plan(parsed)
            case AgentUsage():
                self._used = parsed
            case SettingChanged(setting=setting, value=value):
                await self._record_setting(setting, value)
            case SettingsListed(settings=settings):
                for listed in settings:
                    await self._record_setting(listed.id, listed.value)
            case None if self._unknown_updates < MAX_UNKNOWN_UPDATES:
                self._unknown_updates += 1
                await self._run.record(
                    UnrecognizedRecordsKept(
                        f"acp {str(update.get('sessionUpdate'))[:40]}", Text(str(update)[:MAX_UPDATE_CHARS])
                    )
                )
            case _:
                pass

    async def _record_setting(self, setting: str, value: str) -> None:
        connection = self._pool.get(self._run.session)
        if connection and (changed := with_setting(connection.settings, setting, value)) is not None:
            connection.settings = changed
            await self._run.record(ExternalAgentSettingChanged(setting, value, "agent"))

    def _check_limits(self) -> None:
        """Interrupt the turn once a limit is reached. Before the next turn the user decides whether to continue."""
        if self._limit_reached:
            return
        conversation = self._run.conversation
        if any(limit.share >= 1 for limit in limits_near(conversation.spent, conversation.allowed)):
            self._limit_reached = True
            self._run.interrupt_reply()

    def _blocks(self, message: Message, connection: AgentConnection) -> list[Params]:
        """Convert a message and its attachments to ACP content blocks of the types that the agent accepts."""
        blocks: list[Params] = [{"type": "text", "text": self._run.full_text(message.text)}]
        return blocks + [self._block(attachment, connection.prompt_capabilities) for attachment in message.attachments]

    def _block(self, attachment: Attachment, capabilities: Params) -> Params:
        body = self._run.attachment_bytes(attachment)
        if attachment.media_type.startswith("image/") and capabilities.get("image"):
            return {"type": "image", "mimeType": attachment.media_type, "data": base64.b64encode(body).decode()}
        if capabilities.get("embeddedContext") and not attachment.media_type.startswith("image/"):
            resource: dict[str, Any] = {"uri": f"attachment:///{attachment.name}", "mimeType": attachment.media_type}
            try:
                return {"type": "resource", "resource": {**resource, "text": body.decode()}}
            except UnicodeDecodeError:
                return {"type": "resource", "resource": {**resource, "blob": base64.b64encode(body).decode()}}
        return {"type": "text", "text": f"[The user attached the file {attachment.name}, which you do not support.]"}


async def change_setting(connection: AgentConnection, setting: ExternalAgentSetting, value: str) -> None:
    """Change a setting of an agent. Raise Problem if the agent does not accept the value."""
    await connection.change_setting(setting, value)
    if (changed := with_setting(connection.settings, setting.id, value)) is not None:
        connection.settings = changed


async def _restore_settings(connection: AgentConnection, earlier: _EarlierSession) -> None:
    """Set the settings again that were changed before the agent's process ended, because agents do not store them.

    A value that the agent no longer accepts is left out; the event of its start lists the values in effect.
    """
    connection.settings = connection.settings or earlier.settings
    for name, value in earlier.changed.items():
        setting = next((setting for setting in connection.settings if name in (setting.id, setting.category)), None)
        if setting and setting.value != value and value in {option.value for option in setting.options}:
            with suppress(Problem):
                await change_setting(connection, setting, value)


def with_setting(
    settings: tuple[ExternalAgentSetting, ...], name: str, value: str
) -> tuple[ExternalAgentSetting, ...] | None:
    """Return the settings with the value of one setting changed, or None if the setting is unknown or unchanged.

    `name` is the ID or the category of the setting.
    """
    matches = [setting for setting in settings if name in (setting.id, setting.category)]
    if not matches or matches[0].value == value:
        return None
    return tuple(replace(setting, value=value) if setting is matches[0] else setting for setting in settings)


async def _answer_from_before_restart(run: RunContext, call: str) -> _RestartAnswer | None:
    """Return the user's answer to the permission request of a call that was open when Journeyman exited.

    Wait for the answer if the request is still open. Return None if the call had no request.
    """
    name = permission_id(run.session, call)
    request = run.conversation.permissions.requests.get(name)
    if request is None:
        return None

    async def unchanged() -> PolicyDecision:
        return NeedsApproval(request, "")

    decision = await await_approval(run, name, None, unchanged)
    chosen = chosen_option(decision, request.options)
    return _RestartAnswer(chosen.name if chosen else "no", request.fingerprint if decision.allowed else "")


def _usage(counts: Any) -> Usage | None:
    if not isinstance(counts, dict):
        return None
    cache_read = as_count(counts.get("cachedReadTokens"))
    cache_write = as_count(counts.get("cachedWriteTokens"))
    return Usage(
        input=as_count(counts.get("inputTokens")) + cache_read + cache_write,
        output=as_count(counts.get("outputTokens")),
        cache_read=cache_read,
        cache_write=cache_write,
        reasoning=as_count(counts.get("thoughtTokens")),
    )
