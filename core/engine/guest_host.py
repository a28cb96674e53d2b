"""What an agent of others asks of us in the middle of its work: a person's word, files of the folder, commands."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.agents.peer import NO_METHOD, Params, Refused
from core.agents.told import read_call
from core.domain.consent import (
    Allowed,
    Asks,
    CallAllowed,
    ConsentGiven,
    ConsentOption,
    ConsentRequest,
    Denied,
    Verdict,
    canonical,
    fingerprint,
)
from core.domain.events import CallRefused
from core.domain.ids import consent_id
from core.domain.problems import Problem
from core.domain.text import Text
from core.domain.visible import visible
from core.engine.guest_calls import LOOKS, GuestCall, GuestCalls, inside
from core.engine.loop import perform
from core.engine.permission import word
from core.engine.work import Judge, Work
from core.tools.commands import Background
from core.tools.read import READ, Read
from core.tools.run import RUN, Run
from core.tools.tool import Tool
from core.tools.write import WRITE, Write
from core.workspace.thread import to_its_end

WHY = "{} asks. What it does itself is not confined by Journeyman."
PLAN = "Plan mode only reads. Describe what you would do instead."
TOUCHES = {
    "execute": "runs", "edit": "writes", "delete": "writes", "move": "writes", "read": "reads", "fetch": "network",
}  # fmt: skip
MOST = 20  # options of a request
CANCELLED: Params = {"outcome": {"outcome": "cancelled"}}


@dataclass(slots=True)
class Terminal:
    """A command that an agent had us run, by the name of its call."""

    call: str
    background: Background


class GuestHost:
    """Answers for one turn; `hear` takes what the agent tells."""

    def __init__(self, run: Work, calls: GuestCalls, hear: Callable[[Params], Awaitable[None]] | None) -> None:
        self._run = run
        self._calls = calls
        self._hear = hear
        self._terminals: dict[str, Terminal] = {}
        self._judge: Judge = run.judge
        run.judge = self._judged

    async def close(self) -> None:
        """The turn is over, and so are its commands."""
        self._run.judge = self._judge
        for terminal in self._terminals.values():
            terminal.background.running.kill("ended with the turn of the agent")
        self._terminals.clear()

    async def told(self, method: str, params: Params) -> None:
        update = params.get("update")
        if method == "session/update" and isinstance(update, dict) and self._hear:
            await self._hear(update)

    async def asked(self, method: str, params: Params) -> object:
        answers = {
            "session/request_permission": self._permit,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._exit,
            "terminal/kill": self._end,
            "terminal/release": self._end,
        }
        if method not in answers:
            raise Refused(NO_METHOD, f"There is no method {method[:80]}.")
        return await answers[method](params)

    # A person's word

    async def _permit(self, params: Params) -> Params:
        told = read_call(params["toolCall"])
        options = _options(params["options"])
        if told is None or not options:
            raise Refused(-32602, "A request names its call and its options.")
        call = await self._calls.hear(replace(told, status=None))
        name = await self._calls.name(call)
        try:
            given = await self._decided(call, name, options)
        except asyncio.CancelledError:  # the turn is cut; that is an answer too
            return CANCELLED
        chosen = _chosen(given, options)
        call.allowed = chosen is not None and chosen.allows
        return {"outcome": {"outcome": "selected", "optionId": chosen.id}} if chosen else CANCELLED

    async def _decided(self, call: GuestCall, name: str, options: tuple[ConsentOption, ...]) -> ConsentGiven:
        """By a person, unless a rule or the mode speaks."""
        run = self._run
        if why := await run.hooked("before call", call.kind, call={"id": name, "tool": call.kind, "title": call.title}):
            verdict: Verdict = Denied(f"A hook of the person refused this call: {why}")
        else:
            verdict = await self._verdict(call, name, options)
        match verdict:
            case Allowed(cause=cause, rule=rule):
                await run.record(CallAllowed(name, cause, rule))
                return ConsentGiven(name, True, by=cause)
            case Denied(reason=reason, rule=rule):
                await run.record(CallRefused(name, call.kind, Text(reason), rule))
                return ConsentGiven(name, False, by="Journeyman")
            case Asks():
                return await word(run, verdict.request.id, verdict, lambda: self._verdict(call, name, options))

    async def _verdict(self, call: GuestCall, name: str, options: tuple[ConsentOption, ...]) -> Verdict:
        """As our own tools would be judged: by the files, or the command. What an agent runs itself is always asked."""
        run = self._run
        mode = run.talk.start.mode if run.talk.start else "edits"
        if mode == "plan" and call.kind not in LOOKS - {"fetch"}:
            return Denied(PLAN)
        verdicts = [await self._judge(run, tool, name, given) for tool, given in self._acts(call)]
        if denied := next((one for one in verdicts if isinstance(one, Denied)), None):
            return denied
        allowed = [one for one in verdicts if isinstance(one, Allowed)]
        if verdicts and len(allowed) == len(verdicts) and call.kind != "execute":
            return allowed[0]
        return Asks(self._request(call, name, options), self._arguments(call))

    def _acts(self, call: GuestCall) -> list[tuple[Tool, Any]]:
        """What it would be if it were a call of ours; nothing where that cannot be told."""
        folder = self._run.place.folder
        if call.kind == "execute":
            return [(RUN, Run(command))] if (command := call.command()) else []
        if call.kind == "read":
            return [(READ, Read(inside(path, folder))) for path in call.files()]
        if call.kind in ("edit", "delete", "move"):
            return [(WRITE, Write(inside(path, folder), "")) for path in call.files()]
        return []

    def _request(self, call: GuestCall, name: str, options: tuple[ConsentOption, ...]) -> ConsentRequest:
        run, arguments = self._run, self._arguments(call)
        folder, taint = str(run.place.folder), tuple(sorted(run.talk.rights.taint))
        touches = TOUCHES.get(call.kind, "")
        who = run.model_name.partition("/")[2]
        return ConsentRequest(
            consent_id(run.session, name), name, call.kind, visible(call.object(run.place.folder)), folder, "none",
            fingerprint(call.kind, arguments, folder, "none", taint), WHY.format(who), touches=touches, taint=taint,
            options=options,
        )  # fmt: skip

    def _arguments(self, call: GuestCall) -> str:
        folder, arguments = self._run.place.folder, call.arguments()
        if call.differences:
            names = {inside(one.path, folder): one for one in call.differences}
            given = {name: value for name, value in arguments.items() if value not in call.files()}
            changes = [{"path": name, "old": one.before or "", "new": one.after} for name, one in names.items()]
            return canonical({**given, "changes": changes})
        title = {"title": call.title} if call.title and call.title != call.command() else {}
        return canonical({**title, **arguments})

    # Files

    async def _read(self, params: Params) -> Params:
        run, name = self._run, inside(str(params["path"]), self._run.place.folder)
        verdict = await self._judged(run, READ, "", Read(name))
        if isinstance(verdict, Denied):
            raise Problem(verdict.reason)
        if isinstance(verdict, Asks):  # then it is a call of its own, with a person's word
            await self._perform("read", {"path": name})
        body = (await to_its_end(run.place.broker.read, name, keys=False)).decode("utf-8", "replace")
        first, limit = params.get("line"), params.get("limit")
        if isinstance(first, int) or isinstance(limit, int):
            start = max(0, first - 1) if isinstance(first, int) else 0
            end = start + limit if isinstance(limit, int) else None
            body = "".join(body.splitlines(keepends=True)[start:end])
        return {"content": body}

    async def _write(self, params: Params) -> Params:
        path = inside(str(params["path"]), self._run.place.folder)
        await self._perform("write", {"path": path, "content": str(params["content"])})
        return {}

    async def _perform(self, tool: str, arguments: Params) -> str:
        """As a call of ours, with its consent and its facts; its name. Raises Problem with what went wrong."""
        call = await self._calls.announce(tool, arguments)
        await perform(self._run, call)
        result = next((one for one in reversed(self._run.talk.messages) if one.call_id == call.id), None)
        if result is None or result.failed:
            raise Problem(self._run.whole(result.text) if result else "It was not done.")
        return call.id

    async def _judged(self, run: Work, tool: Tool, call: str, parameters: Any) -> Verdict | None:
        """What a person allowed the agent to do they need not allow once more when it has us do it."""
        verdict = await self._judge(run, tool, call, parameters)
        if isinstance(verdict, Asks):
            for one in self._calls.open.values():
                if one.allowed and self._covers(one, tool, parameters):
                    return Allowed(f"you allowed it: {visible(one.title)}")
        return verdict

    def _covers(self, call: GuestCall, tool: Tool, parameters: Any) -> bool:
        folder = self._run.place.folder
        if tool is WRITE:
            return any(inside(path, folder) == parameters.path for path in call.files())
        return tool is RUN and bool(call.command()) and parameters.command == call.command()

    # Commands

    async def _create(self, params: Params) -> Params:
        words = [str(params["command"]), *map(str, params.get("args") or ())]
        command = words[0] if len(words) == 1 else shlex.join(words)
        given = [f"{one['name']}={one['value']}" for one in params.get("env") or ()]
        if given:
            command = f"env {shlex.join(given)} {command}"
        cwd = inside(str(params.get("cwd") or "."), self._run.place.folder)
        if Path(cwd).is_absolute():
            raise Problem("The folder of the command is outside of the folder of the session.", "", "Run it inside.")
        if Path(cwd) != Path():
            command = f"cd {shlex.quote(cwd)} && {command}"
        call = await self._perform("run", {"command": command, "background": True})
        self._terminals[call] = Terminal(call, self._run.place.commands.named(call))
        return {"terminalId": call}

    async def _output(self, params: Params) -> Params:
        terminal = self._terminal(params)
        running = terminal.background.running
        output, done = running.output(), running.finished
        self._calls.outputs[terminal.call] = output
        exit = {"exitStatus": {"exitCode": done.exit_code}} if done else {}
        return {"output": output, "truncated": False, **exit}

    async def _exit(self, params: Params) -> Params:
        terminal = self._terminal(params)
        done = await terminal.background.running.wait()
        self._calls.outputs[terminal.call] = done.output
        return {"exitCode": done.exit_code}

    async def _end(self, params: Params) -> Params:
        self._terminal(params).background.running.kill("ended by the agent")
        return {}

    def _terminal(self, params: Params) -> Terminal:
        if terminal := self._terminals.get(str(params["terminalId"])):
            return terminal
        raise Problem("There is no such terminal.")


async def word_from_before(run: Work, call: str) -> str:
    """What a person says to a request of this call that a restart left open; empty where there was none."""
    name = consent_id(run.session, call)
    asked = run.talk.rights.requests.get(name)
    if asked is None:
        return ""

    async def unchanged() -> Verdict:
        return Asks(asked, "")

    chosen = _chosen(await word(run, name, None, unchanged), asked.options)
    return chosen.name if chosen else "no"


def _options(told: Any) -> tuple[ConsentOption, ...]:
    """What the agent offers, in its words."""
    found = []
    for one in told[:MOST]:
        kind = str(one.get("kind", ""))
        name = visible(str(one.get("name") or one["optionId"]))[:200]
        found.append(ConsentOption(str(one["optionId"]), name, kind.startswith("allow"), kind.endswith("always")))
    return tuple(found)


def _chosen(given: ConsentGiven, options: tuple[ConsentOption, ...]) -> ConsentOption | None:
    """The option that was chosen; of a word without one the least that says it. None: no option says it."""
    if named := next((one for one in options if one.id == given.option), None):
        return named
    fitting = [one for one in options if one.allows is given.allowed]
    once = [one for one in fitting if not one.lasts]
    return next(iter(once or ([] if given.allowed else fitting)), None)
