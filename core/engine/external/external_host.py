"""Answers the requests of an external agent during its turn: permissions, files and terminals."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.agents.json_rpc import METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, Params, RpcError
from core.agents.known_agents import CANNOT_RECOGNIZE_NEW_FILES
from core.agents.session_updates import parse_call
from core.domain.events import CallRefused, CallStarted, ToolCall, ToolReturned
from core.domain.ids import permission_id
from core.domain.permissions import (
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
DECLARED_DIFFERENTLY = "The agent calls it `{}`, which does not describe all that it contains."
ALLOWED_BY_USER = "you allowed it"
APPROVED_BEFORE_RESTART = "you allowed this request before the agent was restarted"
PLAN_MODE_REFUSAL = "Plan mode is read-only. Describe what you would do instead."
ACCESS_BY_KIND = {
    "execute": "execute", "edit": "write", "delete": "write", "move": "write", "read": "read", "fetch": "network",
}  # fmt: skip
MAX_OPTIONS = 20  # Maximum number of options of a permission request.
CANCELLED: Params = {"outcome": {"outcome": "cancelled"}}


@dataclass(slots=True)
class AgentTerminal:
    """A command that Journeyman runs for the agent. Its terminal ID is the ID of the call."""

    call: str
    background: BackgroundCommand


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
        name = shown.call_id = await self._calls.recorded_id(call)
        try:
            decision = await self._decide(call, shown, name, options)
        except asyncio.CancelledError:  # The turn was interrupted. ACP defines an outcome for this case.
            return CANCELLED
        chosen = _chosen(decision, options)
        if chosen and chosen.allows:
            await self._calls.start(call)  # Recorded before the agent can act on the answer.
            if name in self._asked:
                self._approvals.append(_Approval(call, shown))
        return {"outcome": {"outcome": "selected", "optionId": chosen.id}} if chosen else CANCELLED

    async def _decide(
        self, call: ExternalCall, shown: ExternalCall, name: str, options: tuple[PermissionOption, ...]
    ) -> PermissionDecided:
        """Decide a request by the user's hooks, the rules and the mode. Ask the user if none of them decides."""
        run = self._run
        kind = shown.actual_kind()
        details = {"id": name, "tool": kind, "title": shown.title}
        if why := (await run.run_hooks("before_call", kind, call=details)).refusal:
            verdict: PolicyDecision = Denied(f"A hook of the user refused this call: {why}")
        else:
            verdict = await self._check_call(shown, name, options)
        match verdict:
            case Allowed(reason=cause, rule_id=rule):
                await run.record(CallAllowed(name, cause, rule))
                return PermissionDecided(name, True, decided_by=cause)
            case Denied(reason=reason, rule_id=rule):
                await self._calls.refuse(call, reason, rule)
                return PermissionDecided(name, False, decided_by="Journeyman")
            case NeedsApproval():
                self._asked.add(name)
                decision = await await_approval(
                    run, verdict.request.id, verdict, lambda: self._check_call(shown, name, options)
                )
                if decision.allowed:
                    by = ALLOWED_BY_USER if decision.decided_by == "user" else decision.decided_by
                    await run.record(CallAllowed(name, by))
                else:
                    await self._calls.refuse(call, refusal_text(decision))
                return decision

    async def _check_call(self, call: ExternalCall, name: str, options: tuple[PermissionOption, ...]) -> PolicyDecision:
        """Check the call as if Journeyman's own tools accessed its files or ran its command.

        Commands that the agent runs itself always need the user's approval, because they are not sandboxed.
        """
        run = self._run
        mode = run.conversation.start.mode if run.conversation.start else "ask"
        if mode == "plan" and call.actual_kind() not in READ_ONLY_KINDS - {"fetch"}:
            return Denied(PLAN_MODE_REFUSAL)
        verdicts = [
            await self._evaluate(run, tool, name, arguments) for tool, arguments in self._equivalent_calls(call)
        ]
        if denied := next((verdict for verdict in verdicts if isinstance(verdict, Denied)), None):
            return denied
        allowed = [verdict for verdict in verdicts if isinstance(verdict, Allowed)]
        if verdicts and len(allowed) == len(verdicts) and call.actual_kind() != "execute":
            return allowed[0]
        request = self._request(call, name, options)
        if request.fingerprint in self._approved_before_restart:
            self._approved_before_restart.discard(request.fingerprint)
            self._asked.add(name)
            return Allowed(APPROVED_BEFORE_RESTART)
        return NeedsApproval(request, self._arguments(call))

    def _equivalent_calls(self, call: ExternalCall) -> list[tuple[Tool, Any]]:
        """Return the equivalent calls of Journeyman's own tools, or an empty list if there is no equivalent."""
        folder, kind = self._run.tool_context.folder, call.actual_kind()
        if kind == "execute":
            return [(RUN, RunArguments(command))] if (command := call.command()) else []
        if kind == "read":
            return [(READ, ReadArguments(relative_path(path, folder))) for path in call.files()]
        if kind in ("edit", "delete", "move"):
            return [(WRITE, WriteArguments(relative_path(path, folder), "")) for path in call.files()]
        return []

    def _request(self, call: ExternalCall, name: str, options: tuple[PermissionOption, ...]) -> PermissionRequest:
        run, arguments = self._run, self._arguments(call)
        folder, untrusted_sources = str(run.tool_context.folder), tuple(sorted(run.conversation.permissions.untrusted))
        kind, agent_name = call.actual_kind(), run.model_name.partition("/")[2]
        reason = REQUEST_REASON.format(agent_name)
        if kind != call.kind and call.kind != "other":
            reason = f"{reason} {DECLARED_DIFFERENTLY.format(visible(call.kind)[:40])}"
        return PermissionRequest(
            id=permission_id(run.session, name),
            call_id=name,
            tool=kind,
            object=call.target(run.tool_context.folder),
            cwd=folder,
            sandbox_level="none",
            fingerprint=fingerprint(kind, arguments, folder, "none", untrusted_sources),
            reason=reason,
            access=ACCESS_BY_KIND.get(kind, ""),
            untrusted_sources=untrusted_sources,
            options=options,
        )

    def _arguments(self, call: ExternalCall) -> str:
        folder, arguments = self._run.tool_context.folder, call.arguments()
        if call.diffs:
            diffs = {relative_path(diff.path, folder): diff for diff in call.diffs}
            other_arguments = {name: value for name, value in arguments.items() if value not in call.files()}
            shown = set(diffs)
            hidden = [name for path in call.files() if (name := relative_path(path, folder)) not in shown]
            other_arguments |= {"other_files": hidden} if hidden else {}
            changes = [{"path": name, "old": diff.before or "", "new": diff.after} for name, diff in diffs.items()]
            return canonical_json({**other_arguments, "changes": changes})
        title = {"title": call.title} if call.title and call.title != call.command() else {}
        return canonical_json({**title, **arguments})

    # Files

    async def _read_file(self, params: Params) -> Params:
        """Read a file for the agent, with the same hooks, permissions and events as the `read` tool.

        Unlike that tool, return the lines unnumbered and without a limit.
        """
        run, path = self._run, relative_path(str(params["path"]), self._run.tool_context.folder)
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
        output, error = "", None
        try:
            output = await self._contents(permitted.parameters.path, params)
        except (Problem, RpcError) as problem:
            error = problem
        result = ToolReturned(call.id, Text(str(error) if error else output), failed=error is not None)
        events = result_events(run, READ, call.id, started.object, [result])
        with_untrusted_files(run, READ, call.id, permitted.parameters, events)
        await run.record(*events)
        await hooks_after_call(run, call, {"failed": result.failed, "output": str(error) if error else output})
        if error and not (isinstance(error, RpcError) and self._agent in CANNOT_RECOGNIZE_NEW_FILES):
            raise error
        return {"content": output}

    async def _contents(self, path: str, params: Params) -> str:
        """Return the lines of a file that the agent requested."""
        try:
            contents = await run_to_completion(self._run.tool_context.broker.read, path, allow_secrets=False)
        except Problem as problem:
            if isinstance(problem.__cause__, FileNotFoundError):  # Agents recognize a new file by this code and text.
                path = str(params["path"])
                raise RpcError(RESOURCE_NOT_FOUND, f"Resource not found: {path}", {"uri": path}) from problem
            raise
        body = contents.decode("utf-8", "replace")
        first, limit = params.get("line"), params.get("limit")
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
        verdict = await self._evaluate(run, tool, call, parameters)
        if isinstance(verdict, NeedsApproval):
            if verdict.request.fingerprint in self._approved_before_restart:
                self._approved_before_restart.discard(verdict.request.fingerprint)
                return Allowed(APPROVED_BEFORE_RESTART)
            for approval in self._approvals:
                is_usable = approval.used_by in ("", call) and approval.agent_call in self._calls.open_calls.values()
                if is_usable and await self._covers(approval.shown, tool, parameters):
                    approval.used_by = call
                    return Allowed(f"you allowed it: {visible(approval.shown.title)}")
        return verdict

    async def _covers(self, shown: ExternalCall, tool: Tool, parameters: Any) -> bool:
        """Return whether the approved call equals this one: the same command or path, and the same new contents."""
        if not any(
            own is tool and _subject(own, arguments) == _subject(tool, parameters)
            for own, arguments in self._equivalent_calls(shown)
        ):
            return False
        folder = self._run.tool_context.folder
        diffs = [diff for diff in shown.diffs if relative_path(diff.path, folder) == _subject(tool, parameters)]
        if tool is not WRITE:
            return True
        if not diffs:
            contents = shown.input.values() if isinstance(shown.input, dict) else ()
            return len(shown.files()) == 1 and str(parameters.content) in contents
        if diffs[-1].after == str(parameters.content):
            return True
        body = ""  # The diffs may contain only the changed parts, so apply them to the current contents.
        with suppress(Problem, RpcError):
            body = await self._contents(parameters.path, {"path": parameters.path})
        for diff in diffs:
            body = body.replace(diff.before, diff.after, 1) if diff.before else diff.after
        return body == str(parameters.content)

    # Commands

    async def _create_terminal(self, params: Params) -> Params:
        argv = [str(params["command"]), *map(str, params.get("args") or ())]
        command = argv[0] if len(argv) == 1 else shlex.join(argv)
        assignments = [f"{variable['name']}={variable['value']}" for variable in params.get("env") or ()]
        if assignments:
            command = f"env {shlex.join(assignments)} {command}"
        cwd = relative_path(str(params.get("cwd") or "."), self._run.tool_context.folder)
        if Path(cwd).is_absolute():
            do = "Use a folder inside it."
            raise Problem("The command's working folder is outside the session's folder.", "", do)
        if Path(cwd) != Path():
            command = f"cd {shlex.quote(cwd)} && {command}"
        call = await self._perform("run", {"command": command, "background": True})
        self._terminals[call] = AgentTerminal(call, self._run.tool_context.commands.get(call))
        return {"terminalId": call}

    async def _terminal_output(self, params: Params) -> Params:
        terminal = self._terminal(params)
        running = terminal.background.running
        output, result = running.output(), running.finished
        self._calls.terminal_outputs[terminal.call] = output
        exit = {"exitStatus": {"exitCode": result.exit_code}} if result else {}
        return {"output": output, "truncated": False, **exit}

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


async def answer_from_before_restart(run: RunContext, call: str) -> tuple[str, str]:
    """Return the user's answer to a permission request that was open when Journeyman exited, and its fingerprint.

    Wait for the answer if the request is still open. The fingerprint is empty unless the request was allowed. Both are
    empty if the call had no request.
    """
    name = permission_id(run.session, call)
    request = run.conversation.permissions.requests.get(name)
    if request is None:
        return "", ""

    async def unchanged() -> PolicyDecision:
        return NeedsApproval(request, "")

    decision = await await_approval(run, name, None, unchanged)
    chosen = _chosen(decision, request.options)
    return chosen.name if chosen else "no", request.fingerprint if decision.allowed else ""


def _subject(tool: Tool, parameters: Any) -> str:
    """Return the command or the path of a call that is equivalent to one of the agent's."""
    return str(parameters.command if tool is RUN else parameters.path)


def _options(items: Any) -> tuple[PermissionOption, ...]:
    """Parse the options of a permission request, with the agent's labels."""
    options = []
    for item in items[:MAX_OPTIONS]:
        kind = str(item.get("kind", ""))
        name = visible(str(item.get("name") or item["optionId"]))[:200]
        options.append(PermissionOption(str(item["optionId"]), name, kind.startswith("allow"), kind.endswith("always")))
    return tuple(options)


def _chosen(decision: PermissionDecided, options: tuple[PermissionOption, ...]) -> PermissionOption | None:
    """Return the option that the user chose, or the narrowest option with the same effect, or None if none fits."""
    if match := next((option for option in options if option.id == decision.option_id), None):
        return match
    fitting = [option for option in options if option.allows is decision.allowed]
    once = [option for option in fitting if not option.persistent]
    return next(iter(once or ([] if decision.allowed else fitting)), None)
