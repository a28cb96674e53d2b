"""Records an external agent's replies and tool calls as the same events that our own agents produce."""

import asyncio
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from os.path import realpath, relpath
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.agents.session_updates import AgentFileDiff, MessageChunk, PlanUpdate, ToolCallUpdate
from core.domain.events import (
    CallRefused,
    CallStarted,
    FileChanged,
    Replied,
    ReplyInterrupted,
    RequestSent,
    ToolCall,
    ToolReturned,
    UntrustedContentRead,
    Usage,
)
from core.domain.ids import call_id, permission_id
from core.domain.line_matching import is_quickly_matched
from core.domain.provenance import ContentSource, is_untrusted, source_label
from core.domain.steps import first_line
from core.domain.text import Text
from core.engine.external.external_files import ExternalFileChanges, RestorableChanges
from core.engine.run.run_context import RunContext
from core.engine.run.untrusted_files import folder_label, paths_label
from core.engine.state.live_updates import LiveUpdate
from core.store.partial_reply import PartialReply

STEP_KINDS: Mapping[str, str] = MappingProxyType(
    {"read": "read", "edit": "edit", "search": "search", "execute": "command", "fetch": "fetch"}
)
PATH_KINDS = frozenset({"read", "edit", "delete", "move"})  # Kinds of calls that only act on the files they name.
COMMAND_ARGUMENTS = ("command", "cmd", "commandLine", "command_line", "shell_command", "script", "argv")
URL = re.compile(r"\bhttps?://", re.IGNORECASE)
READ_ONLY_KINDS = frozenset({"read", "search", "think", "fetch", "switch_mode"})  # Kinds of calls that change no file.
FLUSH_CHARS = 1 << 20  # When so many characters of a reply are buffered, they are recorded as an event.
MAX_OPEN_CALLS = 200  # Maximum number of calls that are open at the same time.
OTHER_CALLS = "calls of the external agent"  # names the untrusted source of calls that name neither a file nor a URL
NO_RESULT = "[The agent reported no result for this call.]"
STOPPED = "[stopped before it finished]"
CHECKBOXES = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}  # by status of a plan entry


@dataclass(slots=True)
class ExternalCall:
    """A tool call of an external agent, as reported so far. The agent sends it in pieces with `update`.

    `id` is the agent's ID of the call; `call_id` is the ID in the event log, empty until the call is recorded.
    `refusal` says why the call was not permitted.
    """

    id: str
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    text: str = ""
    diffs: tuple[AgentFileDiff, ...] = ()
    terminals: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    input: Any = None
    output: Any = None
    call_id: str = ""
    started: bool = False
    refusal: str = ""

    def update(self, update: ToolCallUpdate) -> None:
        """Copy the fields that the update sets. Fields that are None in the update keep their values."""
        for field in fields(update):
            value = getattr(update, field.name)
            if value is not None:
                setattr(self, field.name, value)

    def files(self) -> tuple[str, ...]:
        """Return the paths of the call's diffs, then its other paths, without duplicates."""
        return tuple(dict.fromkeys((*(diff.path for diff in self.diffs), *self.paths)))

    def command(self) -> str:
        """Return the shell command that the call runs; empty if unknown."""
        arguments = self.input if isinstance(self.input, dict) else {}
        command = next((arguments[name] for name in COMMAND_ARGUMENTS if arguments.get(name)), None)
        if isinstance(command, list):
            command = " ".join(map(str, command))
        return command if isinstance(command, str) else ""

    def actual_kind(self) -> str:
        """Return the kind of the call as derived from its contents: the kind that the agent declares may be wrong.

        A call with a command is "execute", and one with diffs is an edit. A call counts as "read" only if its input
        contains no text other than the paths of its files.
        """
        if self.command() or self.terminals:
            return "execute"
        if self.diffs and self.kind not in ("delete", "move"):
            return "edit"
        if self.kind == "read" and not set(_strings(self.input)) <= set(self.files()):
            return "other"
        return self.kind

    def names_url(self) -> bool:
        return any(URL.search(text) for text in (self.title, *_strings(self.input)))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments to record and show. If the agent sent none, return the title and the paths instead."""
        if self.input is None or self.input == {}:
            title: dict[str, Any] = {"title": self.title}
            return title | {"paths": list(self.paths)} if self.paths else title
        return dict(self.input) if isinstance(self.input, dict) else {"input": self.input}

    def target(self, folder: Path) -> str:
        """Return what the call acts on, in one line for the timeline: its command, its files or its title."""
        kind = self.actual_kind()
        if kind == "execute" and (command := self.command()):
            return first_line(command)
        if kind in PATH_KINDS and self.files():
            return first_line(", ".join(dict.fromkeys(relative_path(path, folder) for path in self.files())))
        return first_line(self.title) or kind


class ExternalCalls:
    """Buffers reply text, tracks open calls and records both as events. Its lock serializes concurrent updates."""

    def __init__(self, run: RunContext, files: ExternalFileChanges) -> None:
        self._run = run
        self._files = files
        self._reply_pieces: list[str] = []
        self._saved = PartialReply(run.tool_context.data, run.session)
        self._saved.clear()
        self._reasoning_pieces: list[str] = []
        self._buffered_chars = 0
        self._message_id = ""  # ACP message ID of the last text chunk that had one.
        self._lock = asyncio.Lock()
        self._plan = PlanUpdate(())
        self.open_calls: dict[str, ExternalCall] = {}
        self.terminal_outputs: dict[str, str] = {}  # Terminal output by terminal ID.
        self.awaiting_reply = False  # Whether a request is recorded whose reply is not recorded yet.

    async def add_text(self, chunk: MessageChunk) -> None:
        """Buffer a piece of the reply or of the reasoning, and publish it as a live update.

        A chunk with another message ID than the previous chunk begins a new paragraph.
        """
        await self._record_request()
        pieces = self._reasoning_pieces if chunk.is_reasoning else self._reply_pieces
        previous_id = self._message_id
        self._message_id = chunk.message_id or previous_id
        begins_message = previous_id not in ("", self._message_id)
        text = f"\n\n{chunk.text}" if begins_message and pieces else chunk.text
        pieces.append(text)
        if chunk.is_reasoning:
            update = LiveUpdate(self._run.session, reasoning=text)
        else:
            self._saved.add(text)
            update = LiveUpdate(self._run.session, text)
        self._buffered_chars += len(text)
        self._run.live_updates.publish(update)
        if self._buffered_chars > FLUSH_CHARS:
            await self.flush()

    async def flush(self, *, usage: Usage | None = None, stop: str = "", cost: float | None = None) -> None:
        """Record the buffered text as a reply. Pass the usage, the stop reason and the cost when the turn has ended."""
        async with self._lock:
            if self._buffered_chars or self.awaiting_reply or usage or stop or cost:
                await self._record_reply((), usage, stop, cost)
            self._run.live_updates.publish(LiveUpdate(self._run.session, ended=True))

    async def update_call(self, update: ToolCallUpdate) -> ExternalCall:
        """Apply an update to its call, creating the call if its ID is new or belonged to a finished call."""
        call = self.open_calls.get(update.id)
        if call is None:
            if len(self.open_calls) >= MAX_OPEN_CALLS:
                await self.finish(next(iter(self.open_calls.values())), NO_RESULT, failed=True)
            call = self.open_calls[update.id] = ExternalCall(update.id)
        call.update(update)
        if self._stays_open(call):
            return call
        if call.status in ("completed", "failed"):
            await self.finish(call)
            if not self.open_calls:
                await self._record_request()
        elif call.status == "in_progress":
            await self.start(call)
        return call

    async def record_call(self, tool: str, arguments: Mapping[str, Any]) -> ToolCall:
        """Record a new call under an ID that Journeyman generates, together with the buffered reply text."""
        async with self._lock:
            name = call_id(self._run.conversation.total_turns + 1, 1)
            call = ToolCall(name, tool, Text(json.dumps(arguments, ensure_ascii=False, default=str)))
            await self._record_reply((call,))
            self._run.live_updates.publish(LiveUpdate(self._run.session, ended=True))
        return call

    async def recorded_id(self, call: ExternalCall) -> str:
        """Return the call's ID in the event log, recording the call if that has not happened yet."""
        if not call.call_id:
            call.call_id = (await self.record_call(call.actual_kind(), call.arguments())).id
        return call.call_id

    async def start(self, call: ExternalCall) -> None:
        """Record the start of the call, once."""
        name = await self.recorded_id(call)
        if not call.started:
            call.started = True
            kind = call.actual_kind()
            step = STEP_KINDS.get(kind, "tool")
            await self._run.record(CallStarted(name, kind, step, call.target(self._run.tool_context.folder)))

    async def refuse(self, call: ExternalCall, reason: str, rule: str = "") -> None:
        """Record that the call is not permitted. If its start is recorded already, its result says so."""
        call.refusal = reason
        if not call.started:
            await self._run.record(CallRefused(call.call_id, call.actual_kind(), Text(reason), rule))

    async def finish(self, call: ExternalCall, instead: str = "", *, failed: bool = False) -> None:
        """Record the result of the call, with the files it changed and the untrusted content it read.

        `instead` replaces the output that the agent reported. The result of a refused call is its refusal, unless the
        agent reports that it completed the call.
        """
        self.open_calls.pop(call.id, None)
        refused = bool(call.refusal) and call.status != "completed"
        if refused and not call.started:
            return  # The refusal is already recorded. `finish_all` records files changed nevertheless.
        await self.start(call)
        changes = RestorableChanges()
        history: tuple[str, ...] = ()
        if call.actual_kind() not in READ_ONLY_KINDS:
            changes = await self._files.changes_since_snapshot(call.call_id)
            history = await self._files.changed_history()
        sources = (self._untrusted_files_label(call), self._new_source(call))
        changed_paths = {event.path for event in changes.events if isinstance(event, FileChanged)}
        text = (call.refusal if refused else instead) or self._output(call, changed_paths)
        if changes.unsaved:
            text += f"\n[also changed, but not saved, so it cannot be reverted: {', '.join(changes.unsaved)}]"
        returned = ToolReturned(
            call.call_id,
            Text(text),
            failed=failed or refused or call.status == "failed",
            exit_code=exit_code(call.output),
            unrestorable=changes.unsaved,
            changed_history=history,
        )
        untrusted = [UntrustedContentRead(call.call_id, source) for source in sources if source]
        await self._run.record(*untrusted, *changes.events, returned, blobs=changes.blobs)

    def _new_source(self, call: ExternalCall) -> str:
        """Return the label of the untrusted source that a call has read; "" if none, or if the run has recorded it.

        A call that names neither a command nor files of the folder may have read anything, so it counts as untrusted.
        """
        run = self._run
        kind = call.actual_kind()
        if call.kind == "fetch" or (kind != "edit" and call.names_url()):
            source = ContentSource("web", first_line(call.title))
        elif kind == "execute":
            source = ContentSource("command")
        elif kind in PATH_KINDS and call.files() and self._are_inside(call.files()):
            source = ContentSource("folder")
        else:
            source = ContentSource("web", OTHER_CALLS)
        is_known = source_label(source) in run.conversation.permissions.untrusted
        return "" if is_known or not is_untrusted(source, trusted=run.trusted) else source_label(source)

    def _are_inside(self, paths: Iterable[str]) -> bool:
        root = Path(realpath(self._run.tool_context.folder))
        return all(Path(realpath(root / path)).is_relative_to(root) for path in paths)

    def _untrusted_files_label(self, call: ExternalCall) -> str:
        """Return the label of the untrusted files that a call may have read, or "".

        A call for which the agent names no files may have read every file in the folder.
        """
        names_files = call.paths and call.actual_kind() in PATH_KINDS
        return paths_label(self._run, call.paths) if names_files else folder_label(self._run)

    async def finish_all(self, instead: str) -> None:
        """Fail the open calls at the end of a turn, and record file changes that belong to no call."""
        for call in list(self.open_calls.values()):
            await self.finish(call, instead, failed=True)
        changes = await self._files.changes_since_snapshot("")
        if changes.events:
            await self._run.record(*changes.events, blobs=changes.blobs)

    async def record_plan(self, plan: PlanUpdate) -> None:
        """Record the agent's plan as a todo list, if it changed."""
        if plan == self._plan:
            return
        self._plan = plan
        items = [
            {"text": entry.text, "status": entry.status if entry.status in CHECKBOXES else "pending"}
            for entry in plan.entries
        ]
        completed = sum(item["status"] == "completed" for item in items)
        current = next((item["text"] for item in items if item["status"] == "in_progress"), "")
        title = f"{completed} of {len(items)} done" + (f": {current}" if current else "")
        checklist = "\n".join(f"{CHECKBOXES[item['status']]} {item['text']}" for item in items)
        name = (await self.record_call("todo", {"items": items})).id
        await self._run.record(
            CallStarted(name, "todo", "todo", first_line(title)), ToolReturned(name, Text(checklist))
        )

    async def interrupt(self, why: str) -> None:
        """Record the partial reply of an interrupted turn, and record the open calls as failed.

        If Journeyman is exiting, a call that waits for permission stays open, so that its request can still be decided.
        """
        async with self._lock:
            if self._reply_pieces or self.awaiting_reply:
                await self._run.record(ReplyInterrupted(Text("".join(self._reply_pieces)), why))
                self._saved.clear()
            self._clear_buffer()
            self._run.live_updates.publish(LiveUpdate(self._run.session, ended=True))
        for call in list(self.open_calls.values()):
            if (call.started or call.call_id) and not self._stays_open(call):
                await self.finish(call, STOPPED, failed=True)
        self.open_calls.clear()

    def _stays_open(self, call: ExternalCall) -> bool:
        """Return whether Journeyman exits while the call waits for permission. Its cancellation is then ignored."""
        permissions = self._run.conversation.permissions
        request = permission_id(self._run.session, call.call_id)
        return self._run.closing and request in permissions.requests and request not in permissions.decisions

    async def _record_request(self) -> None:
        """Record a request, once per reply.

        Journeyman does not see the agent's requests to its own model, but the timeline should show that one is pending.
        """
        async with self._lock:
            if not self.awaiting_reply:
                self.awaiting_reply = True
                await self._run.record(
                    RequestSent(self._run.model_name, self._run.conversation.turns + 1, purpose="external_agent")
                )

    def _clear_buffer(self) -> None:
        self.awaiting_reply = False
        self._reply_pieces.clear()
        self._reasoning_pieces.clear()
        self._buffered_chars = 0

    async def _record_reply(
        self, calls: tuple[ToolCall, ...], usage: Usage | None = None, stop: str = "", cost: float | None = None
    ) -> None:
        """Record the buffered text as a reply, and only then delete its copy on disk."""
        text = Text("".join(self._reply_pieces))
        reasoning = Text("".join(self._reasoning_pieces))
        self._clear_buffer()
        await self._run.record(Replied(text, reasoning, calls, usage or Usage(), stop, cost=cost))
        self._saved.clear()

    def _output(self, call: ExternalCall, changed_paths: set[str]) -> str:
        """Return the call's text, its terminal output and its diffs, without diffs of files in `changed_paths`."""
        folder = self._run.tool_context.folder
        parts = [call.text, *(self.terminal_outputs.get(name, "") for name in call.terminals)]
        parts += [unified_diff(diff) for diff in call.diffs if relative_path(diff.path, folder) not in changed_paths]
        return "\n".join(filter(None, parts)) or plain_output(call.output)


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, at any depth."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:  # a number, a boolean or null
            pass


def relative_path(path: str, folder: Path) -> str:
    """Return the path relative to the folder, or unchanged if it is outside."""
    for root in (folder, Path(realpath(folder))):
        try:
            relative = relpath(root / path, root)
        except ValueError:  # The path is on another drive.
            continue
        if not relative.startswith(".."):
            return relative
    return path


def unified_diff(diff: AgentFileDiff) -> str:
    """Return a unified diff, or only the new line count if it would take long to compute."""
    before = (diff.before or "").splitlines()
    after = diff.after.splitlines()
    if len(before) + len(after) > 20_000 or not is_quickly_matched(before, after):
        return f"[{diff.path}: {len(after):,} lines]"
    return "\n".join(difflib.unified_diff(before, after, diff.path, diff.path, lineterm="", n=2))


def plain_output(output: Any) -> str:
    """Return the raw output of a call as text. It is used for calls that report no content."""
    match output:
        case None:
            return ""
        case str():
            return output
        case {"output": str(text)} | {"formatted_output": str(text)} | {"stdout": str(text)}:
            return text
        case _:
            return json.dumps(output, ensure_ascii=False, default=str)


def exit_code(output: Any) -> int | None:
    """Return the exit code in the raw output of a command, or None if the output contains no exit code."""
    match output:
        case {"exit_code": int(code)} | {"exitCode": int(code)} | {"metadata": {"exit": int(code)}}:
            return code
        case _:
            return None
