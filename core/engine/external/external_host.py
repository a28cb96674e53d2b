"""Answers the requests of an external agent during its turn: permissions, files and terminals."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from core.agents.json_rpc import METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, Params, RpcError
from core.agents.known_agents import CANNOT_RECOGNIZE_NEW_FILES
from core.agents.session_updates import parse_call
from core.domain.events import CallRefused, CallStarted, ToolCall, ToolReturned
from core.domain.ids import permission_id
from core.domain.permissions import (
    Access,
    Allowed,
    CallAllowed,
    Denied,
    NeedsApproval,
    PermissionDecided,
    PermissionOption,
    PermissionRequest,
    PolicyDecision,
    canonical_json,
    fingerprint,
)
from core.domain.problems import Problem
from core.domain.refusals import DENIED_BY_HOOK, PLAN_MODE
from core.domain.text import Text
from core.domain.visible import visible
from core.engine.external.external_calls import READ_ONLY_KINDS, ExternalCall, ExternalCalls, relative_path
from core.engine.run.call_execution import handle_call
from core.engine.run.call_hooks import hooks_after_call, run_call_hooks
from core.engine.run.context_budget import result_events
from core.engine.run.permission import await_approval, obtain_permission, refusal_text
from core.engine.run.run_context import PolicyEvaluator, RunContext
from core.engine.run.untrusted_files import with_untrusted_files
from core.tools.background import BackgroundCommand
from core.tools.read import READ, ReadArguments
from core.tools.run import RUN, RunArguments
from core.tools.tool import Tool
from core.tools.write import WRITE, WriteArguments
from core.workspace.threads import run_to_completion

REQUEST_REASON = "{} requests this. Journeyman does not sandbox what the agent does itself."
DECLARED_DIFFERENTLY = "The agent calls it “{}”, which does not describe all that it contains."
ALLOWED_BY_USER = "you allowed it"
APPROVED_BEFORE_RESTART = "you allowed this request before the agent was restarted"
ACCESS_BY_KIND: dict[str, Access] = {
    "execute": "execute",
    "edit": "write",
    "delete": "write",
    "move": "write",
    "read": "read",
    "fetch": "network",
}
MAX_OPTIONS = 20  # Maximum number of options of a permission request.
CANCELLED: Params = {"outcome": {"outcome": "cancelled"}}


@dataclass(slots=True)
class AgentTerminal:
    """A command that Journeyman runs for the agent. Its terminal ID is the ID of the call."""

    call: str
    background: BackgroundCommand


class _EquivalentCall(NamedTuple):
    """A call of one of Journeyman's own tools that has the effect of an agent's call."""

    tool: Tool
    arguments: Any

    @property
    def subject(self) -> str:
        """The command or the path that the call acts on."""
        return str(self.arguments.command if self.tool is RUN else self.arguments.path)


@dataclass(slots=True)
class _Approval:
    """A permission that the user gave for a call of the agent. It also allows one equivalent call through Journeyman.

    `shown` is the call as the user saw it. `used_by` is the ID of the equivalent call, or "" before there is one.
    """

    agent_call: ExternalCall
    shown: ExternalCall
    used_by: str = ""


class ExternalAgentHost:
    """Handles the requests and notifications of one turn; `on_update` receives each `session/update`.

    `approved_before_restart` holds the fingerprints of requests that the user allowed but that a restart left without
    effect. Each of them allows one request and is then removed. `agent` is the name that the agent reported.
    """

    def __init__(
        self,
        run: RunContext,
        calls: ExternalCalls,
        on_update: Callable[[Params], Awaitable[None]] | None,
        approved_before_restart: set[str],
        agent: str = "",
    ) -> None:
        self._run = run
        self._agent = agent
        self._approved_before_restart = approved_before_restart
        self._calls = calls
        self._on_update = on_update
        self._terminals: dict[str, AgentTerminal] = {}
        self._asked: set[str] = set()  # IDs of the calls for which the user was asked for permission
        self._approvals: list[_Approval] = []
        self._evaluate: PolicyEvaluator = run.evaluate
        run.evaluate = self._check_own_call

    async def close(self) -> None:
        """Kill the commands started in this turn and restore the permission check of the run."""
        self._run.evaluate = self._evaluate
        for terminal in self._terminals.values():
            terminal.background.running.kill("ended with the agent's turn")
        self._terminals.clear()

    async def on_notification(self, method: str, params: Params) -> None:
        update = params.get("update")
        if method == "session/update" and isinstance(update, dict) and self._on_update:
            await self._on_update(update)

    async def on_request(self, method: str, params: Params) -> object:
        answers = {
            "session/request_permission": self._request_permission,
            "fs/read_text_file": self._read_file,
            "fs/write_text_file": self._write_file,
            "terminal/create": self._create_terminal,
            "terminal/output": self._terminal_output,
            "terminal/wait_for_exit": self._wait_for_exit,
            "terminal/kill": self._kill,
            "terminal/release": self._kill,
        }
        if method not in answers:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]}.")
        return await answers[method](params)

    # Permission requests

    async def _request_permission(self, params: Params) -> Params:
        update = parse_call(params["toolCall"])
        options = _options(params["options"])
        if update is None or not options:
            raise RpcError(-32602, "A permission request needs a tool call and options.")
        call = await self._calls.update_call(replace(update, status=None))
        shown = replace(call)  # A copy: the agent can change its call while the user decides.
        shown.call_id = await self._calls.recorded_id(call)
        try:
            decision = await self._decide(call, shown, options)
        except asyncio.CancelledError:  # The turn was interrupted. ACP defines an outcome for this case.
            return CANCELLED
        chosen = chosen_option(decision, options)
        if chosen is None:
            return CANCELLED
        if chosen.allows:
            await self._calls.start(call)  # Recorded before the agent can act on the answer.
            if shown.call_id in self._asked:
                self._approvals.append(_Approval(call, shown))
        return {"outcome": {"outcome": "selected", "optionId": chosen.id}}

    async def _decide(
        self, call: ExternalCall, shown: ExternalCall, options: tuple[PermissionOption, ...]
    ) -> PermissionDecided:
        """Decide a request by the user's hooks, the rules and the mode. Ask the user if none of them decides.

        `shown` is a copy of the call as it was requested. The outcome is recorded.
        """
        run = self._run
        name = shown.call_id
        policy_decision = await self._check_hooks(shown) or await self._check_call(shown, options)
        match policy_decision:
            case Allowed(reason=cause, rule_id=rule):
                await run.record(CallAllowed(name, cause, rule))
                return PermissionDecided(name, True, decided_by=cause)
            case Denied(reason=reason, rule_id=rule):
                await self._calls.refuse(call, reason, rule)
                return PermissionDecided(name, False, decided_by="Journeyman")
            case NeedsApproval():
                self._asked.add(name)
                decision = await await_approval(
                    run, policy_decision.request.id, policy_decision, lambda: self._check_call(shown, options)
                )
                if decision.allowed:
                    by = ALLOWED_BY_USER if decision.decided_by == "user" else decision.decided_by
                    await run.record(CallAllowed(name, by))
                else:
                    await self._calls.refuse(call, refusal_text(decision))
                return decision

    async def _check_hooks(self, call: ExternalCall) -> Denied | None:
        """Run the user's hooks for the call. Return None unless one of them refuses it."""
        kind = call.actual_kind()
        details = {"id": call.call_id, "tool": kind, "title": call.title}
        refusal = (await self._run.run_hooks("before_call", kind, call=details)).refusal
        return Denied(DENIED_BY_HOOK.text_for_model(refusal)) if refusal else None

    async def _check_call(self, call: ExternalCall, options: tuple[PermissionOption, ...]) -> PolicyDecision:
        """Check the call as if Journeyman's own tools accessed its files or ran its command.

        Commands that the agent runs itself always need the user's approval, because they are not sandboxed.
        """
        run = self._run
        kind = call.actual_kind()
        mode = run.conversation.start.mode if run.conversation.start else "ask"
        if mode == "plan" and kind not in READ_ONLY_KINDS - {"fetch"}:
            return Denied(PLAN_MODE.text_for_model())
        decisions = [
            await self._evaluate(run, own.tool, call.call_id, own.arguments) for own in self._equivalent_calls(call)
        ]
        if denied := next((decision for decision in decisions if isinstance(decision, Denied)), None):
            return denied
        allowed = [decision for decision in decisions if isinstance(decision, Allowed)]
        if allowed and len(allowed) == len(decisions) and kind != "execute":
            return allowed[0]
        request = self._request(call, options)
        if request.fingerprint in self._approved_before_restart:
            self._approved_before_restart.discard(request.fingerprint)
            self._asked.add(call.call_id)
            return Allowed(APPROVED_BEFORE_RESTART)
        return NeedsApproval(request, self._shown_arguments(call))

    def _equivalent_calls(self, call: ExternalCall) -> list[_EquivalentCall]:
        """Return the equivalent calls of Journeyman's own tools, or an empty list if there is no equivalent."""
        paths = [relative_path(path, self._run.tool_context.folder) for path in call.files()]
        match call.actual_kind():
            case "execute":
                command = call.command()
                return [_EquivalentCall(RUN, RunArguments(command))] if command else []
            case "read":
                return [_EquivalentCall(READ, ReadArguments(path)) for path in paths]
            case "edit" | "delete" | "move":
                return [_EquivalentCall(WRITE, WriteArguments(path, "")) for path in paths]
            case _:
                return []

    def _request(self, call: ExternalCall, options: tuple[PermissionOption, ...]) -> PermissionRequest:
        run = self._run
        folder = str(run.tool_context.folder)
        untrusted_sources = tuple(sorted(run.conversation.permissions.untrusted))
        kind = call.actual_kind()
        reason = REQUEST_REASON.format(run.model_name.partition("/")[2])
        if kind != call.kind and call.kind != "other":
            reason = f"{reason} {DECLARED_DIFFERENTLY.format(visible(call.kind)[:40])}"
        return PermissionRequest(
            id=permission_id(run.session, call.call_id),
            call_id=call.call_id,
            tool=kind,
            object=call.target(run.tool_context.folder),
            cwd=folder,
            sandbox_level="none",
            fingerprint=fingerprint(kind, self._shown_arguments(call), folder, "none", untrusted_sources),
            reason=reason,
            access=ACCESS_BY_KIND.get(kind, ""),
            untrusted_sources=untrusted_sources,
            options=options,
        )

    def _shown_arguments(self, call: ExternalCall) -> str:
        """Return the arguments of a call as JSON, as a permission request shows them.

        The file changes are listed under `changes`, and the files that have none under `other_files`.
        """
        arguments = call.arguments()
        if not call.diffs:
            title = {"title": call.title} if call.title and call.title != call.command() else {}
            return canonical_json({**title, **arguments})
        folder = self._run.tool_context.folder
        diffs = {relative_path(diff.path, folder): diff for diff in call.diffs}
        shown = {name: value for name, value in arguments.items() if value not in call.files()}
        paths = [relative_path(path, folder) for path in call.files()]
        if unchanged := [path for path in paths if path not in diffs]:
            shown["other_files"] = unchanged
        shown["changes"] = [{"path": path, "old": diff.before or "", "new": diff.after} for path, diff in diffs.items()]
        return canonical_json(shown)

    # Files

    async def _read_file(self, params: Params) -> Params:
        """Read a file for the agent, with the same hooks, permissions and events as the `read` tool.

        Unlike that tool, return the lines unnumbered and without a limit.
        """
        run = self._run
        path = relative_path(str(params["path"]), run.tool_context.folder)
        call = await self._calls.record_call("read", {"path": path})
        checked = await run_call_hooks(run, call, ReadArguments(path))
        if checked is None:
            return {"content": self._result_of(call)}
        call, parameters = checked
        try:
            permitted = await obtain_permission(run, READ, call, parameters)
        except Problem as problem:  # The path cannot be examined.
            permitted = CallRefused(call.id, READ.name, Text(str(problem)))
        if isinstance(permitted, CallRefused):
            await run.record(permitted)
            raise Problem(run.full_text(permitted.reason))
        started = CallStarted(call.id, READ.name, READ.kind, READ.describe(permitted.parameters))
        await run.record(*permitted.events, started)
        contents = ""
        error: Problem | RpcError | None = None
        try:
            contents = await self._contents(permitted.parameters.path, params)
        except (Problem, RpcError) as problem:
            error = problem
        output = str(error) if error else contents
        result = ToolReturned(call.id, Text(output), failed=error is not None)
        events = result_events(run, READ, call.id, started.object, [result])
        with_untrusted_files(run, READ, call.id, permitted.parameters, events)
        await run.record(*events)
        await hooks_after_call(run, call, {"failed": result.failed, "output": output})
        reads_missing_as_empty = isinstance(error, RpcError) and self._agent in CANNOT_RECOGNIZE_NEW_FILES
        if error and not reads_missing_as_empty:
            raise error
        return {"content": contents}

    async def _contents(self, path: str, params: Params) -> str:
        """Return the contents of the file, limited to the lines that `params` asks for.

        Raise RpcError if there is no such file.
        """
        try:
            contents = await run_to_completion(self._run.tool_context.broker.read, path, allow_secrets=False)
        except Problem as problem:
            if isinstance(problem.__cause__, FileNotFoundError):  # Agents recognize a new file by this code and text.
                requested = str(params["path"])
                raise RpcError(RESOURCE_NOT_FOUND, f"Resource not found: {requested}", {"uri": requested}) from problem
            raise
        body = contents.decode("utf-8", "replace")
        first = params.get("line")
        limit = params.get("limit")
        if isinstance(first, int) or isinstance(limit, int):
            start = max(0, first - 1) if isinstance(first, int) else 0
            end = start + limit if isinstance(limit, int) else None
            body = "".join(body.splitlines(keepends=True)[start:end])
        return body

    async def _write_file(self, params: Params) -> Params:
        path = relative_path(str(params["path"]), self._run.tool_context.folder)
        await self._perform("write", {"path": path, "content": str(params["content"])})
        return {}

    async def _perform(self, tool: str, arguments: Params) -> str:
        """Execute one of Journeyman's own tools, with permission check and events, and return the call ID.

        Raise Problem if the call fails or is refused.
        """
        call = await self._calls.record_call(tool, arguments)
        await handle_call(self._run, call)
        self._result_of(call)
        return call.id

    def _result_of(self, call: ToolCall) -> str:
        """Return the recorded result of a call. Raise Problem if it failed or was refused."""
        messages = reversed(self._run.conversation.messages)
        result = next((message for message in messages if message.call_id == call.id), None)
        if result is None or result.failed:
            raise Problem(self._run.full_text(result.text) if result else "The call was not executed.")
        return self._run.full_text(result.text)

    async def _check_own_call(self, run: RunContext, tool: Tool, call: str, parameters: Any) -> PolicyDecision | None:
        """Check a call that Journeyman executes for the agent. Allow it if the user approved the equivalent call."""
        decision = await self._evaluate(run, tool, call, parameters)
        if not isinstance(decision, NeedsApproval):
            return decision
        if decision.request.fingerprint in self._approved_before_restart:
            self._approved_before_restart.discard(decision.request.fingerprint)
            return Allowed(APPROVED_BEFORE_RESTART)
        own_call = _EquivalentCall(tool, parameters)
        for approval in self._approvals:
            is_usable = approval.used_by in ("", call) and approval.agent_call in self._calls.open_calls.values()
            if is_usable and await self._covers(approval.shown, own_call):
                approval.used_by = call
                return Allowed(f"you allowed it: {visible(approval.shown.title)}")
        return decision

    async def _covers(self, approved: ExternalCall, call: _EquivalentCall) -> bool:
        """Return whether the approved call equals `call`: the same command or path, and the same new contents."""
        equivalent = self._equivalent_calls(approved)
        if not any(own.tool is call.tool and own.subject == call.subject for own in equivalent):
            return False
        return call.tool is not WRITE or await self._writes_the_same(approved, call.arguments)

    async def _writes_the_same(self, approved: ExternalCall, written: WriteArguments) -> bool:
        """Return whether the approved call gives the file the contents that are to be written to it."""
        folder = self._run.tool_context.folder
        diffs = [diff for diff in approved.diffs if relative_path(diff.path, folder) == written.path]
        if not diffs:
            arguments = approved.input.values() if isinstance(approved.input, dict) else ()
            return len(approved.files()) == 1 and written.content in arguments
        if diffs[-1].after == written.content:
            return True
        body = ""  # The diffs may contain only the changed parts, so apply them to the current contents.
        with suppress(Problem, RpcError):
            body = await self._contents(written.path, {"path": written.path})
        for diff in diffs:
            body = body.replace(diff.before, diff.after, 1) if diff.before else diff.after
        return body == written.content

    # Commands

    async def _create_terminal(self, params: Params) -> Params:
        argv = [str(params["command"]), *map(str, params.get("args") or ())]
        command = argv[0] if len(argv) == 1 else shlex.join(argv)
        assignments = [f"{variable['name']}={variable['value']}" for variable in params.get("env") or ()]
        if assignments:
            command = f"env {shlex.join(assignments)} {command}"
        cwd = relative_path(str(params.get("cwd") or "."), self._run.tool_context.folder)
        if Path(cwd).is_absolute():
            fix = "Use a folder inside it."
            raise Problem("The command's working folder is outside the session's folder.", "", fix)
        if Path(cwd) != Path():
            command = f"cd {shlex.quote(cwd)} && {command}"
        call = await self._perform("run", {"command": command, "background": True})
        self._terminals[call] = AgentTerminal(call, self._run.tool_context.commands.get(call))
        return {"terminalId": call}

    async def _terminal_output(self, params: Params) -> Params:
        terminal = self._terminal(params)
        running = terminal.background.running
        output = running.output()
        self._calls.terminal_outputs[terminal.call] = output
        answer = {"output": output, "truncated": False}
        if running.finished:
            answer["exitStatus"] = {"exitCode": running.finished.exit_code}
        return answer

    async def _wait_for_exit(self, params: Params) -> Params:
        terminal = self._terminal(params)
        result = await terminal.background.running.wait()
        self._calls.terminal_outputs[terminal.call] = result.output
        return {"exitCode": result.exit_code}

    async def _kill(self, params: Params) -> Params:
        self._terminal(params).background.running.kill("ended by the agent")
        return {}

    def _terminal(self, params: Params) -> AgentTerminal:
        if terminal := self._terminals.get(str(params["terminalId"])):
            return terminal
        raise Problem("There is no terminal with this ID.")


def _options(items: Any) -> tuple[PermissionOption, ...]:
    """Parse the options of a permission request, with the agent's labels."""
    options = []
    for item in items[:MAX_OPTIONS]:
        kind = str(item.get("kind", ""))
        options.append(
            PermissionOption(
                id=str(item["optionId"]),
                name=visible(str(item.get("name") or item["optionId"]))[:200],
                allows=kind.startswith("allow"),
                persistent=kind.endswith("always"),
            )
        )
    return tuple(options)


def chosen_option(decision: PermissionDecided, options: tuple[PermissionOption, ...]) -> PermissionOption | None:
    """Return the option that the user chose, or else one with the same effect; None if there is no such option.

    An option that also applies to later calls is used only to deny.
    """
    if match := next((option for option in options if option.id == decision.option_id), None):
        return match
    candidates = [option for option in options if option.allows is decision.allowed]
    once = [option for option in candidates if not option.persistent]
    if once:
        return once[0]
    return candidates[0] if candidates and not decision.allowed else None
