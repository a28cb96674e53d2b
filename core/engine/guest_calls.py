"""What an agent of others says and does, made into the same facts that our own agents leave."""

import asyncio
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os.path import realpath, relpath
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.agents.told import CallTold, Difference, Plan
from core.domain.events import (
    Call,
    CallStarted,
    FileChanged,
    Replied,
    ReplyCut,
    RequestSent,
    RunEvent,
    Tainted,
    ToolReturned,
    Usage,
)
from core.domain.ids import call_id
from core.domain.provenance import Source, taint_name
from core.domain.steps import line
from core.domain.text import Text
from core.engine.drafts import Draft
from core.engine.guest_files import GuestFiles
from core.engine.work import Work

STEPS: Mapping[str, str] = MappingProxyType(
    {"read": "read", "edit": "edit", "search": "search", "execute": "command", "fetch": "fetch"}
)
LOOKS = frozenset({"read", "search", "think", "fetch", "switch_mode"})  # kinds that change no file
PIECE = 1 << 20  # characters of words that are held before they become a fact
OPEN = 200  # calls that may be open at once
NO_RESULT = "[The agent said no more of this call.]"
STOPPED = "[stopped before it was done]"
STATUS = {"completed": "done", "in_progress": "doing"}


@dataclass(slots=True)
class GuestCall:
    """A call of an agent, as far as it has told of it. `ours` is its name in the journal, once it stands there."""

    id: str
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    text: str = ""
    differences: tuple[Difference, ...] = ()
    terminals: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    input: Any = None
    output: Any = None
    ours: str = ""
    started: bool = False
    allowed: bool = False

    def learn(self, told: CallTold) -> None:
        """What it does not say stays."""
        for each in fields(told):
            value = getattr(told, each.name)
            if value is not None:
                setattr(self, each.name, value)

    def files(self) -> tuple[str, ...]:
        """The files it names."""
        return tuple(dict.fromkeys((*(one.path for one in self.differences), *self.paths)))

    def command(self) -> str:
        """The command it runs, where it says so."""
        given = self.input.get("command", self.input.get("cmd")) if isinstance(self.input, dict) else None
        if isinstance(given, list):
            given = " ".join(map(str, given))
        return given if isinstance(given, str) else ""

    def arguments(self) -> dict[str, Any]:
        """As they are kept and shown."""
        given = (
            dict(self.input) if isinstance(self.input, dict) else {} if self.input is None else {"input": self.input}
        )
        if not given:
            given = {"title": self.title, **({"paths": list(self.paths)} if self.paths else {})}
        return given

    def object(self, folder: Path) -> str:
        """What a person reads in its row."""
        if self.kind == "execute" and (command := self.command()):
            return line(command)
        if self.kind in ("read", "edit", "delete", "move") and self.files():
            return line(", ".join(inside(path, folder) for path in self.files()))
        return line(self.title) or self.kind


class GuestCalls:
    """The words that are held and the calls that are open. Facts are made one after the other."""

    def __init__(self, run: Work, files: GuestFiles) -> None:
        self._run = run
        self._files = files
        self._said: list[str] = []
        self._thought: list[str] = []
        self._held = 0
        self._turn = asyncio.Lock()
        self._plan: tuple[tuple[str, str], ...] = ()
        self.open: dict[str, GuestCall] = {}
        self.outputs: dict[str, str] = {}  # what terminals printed, by their ids
        self.thinking = False  # a request stands in the journal, and no reply to it

    async def say(self, text: str, *, thought: bool) -> None:
        """Words as they come."""
        await self._think()
        (self._thought if thought else self._said).append(text)
        self._held += len(text)
        self._run.drafts.tell(Draft(self._run.session, *(("", text) if thought else (text, ""))))
        if self._held > PIECE:
            await self.flush()

    async def flush(self, *, usage: Usage | None = None, stop: str = "", cost: float | None = None) -> None:
        """What was said becomes a fact."""
        async with self._turn:
            if self._held or self.thinking or usage or stop or cost:
                await self._run.record(self._reply((), usage, stop, cost))
            self._run.drafts.tell(Draft(self._run.session, ended=True))

    async def hear(self, told: CallTold) -> GuestCall:
        """What is new of a call; one that ended is gone, and its name may come again."""
        call = self.open.get(told.id)
        if call is None:
            if len(self.open) >= OPEN:
                await self.finish(next(iter(self.open.values())), NO_RESULT, failed=True)
            call = self.open[told.id] = GuestCall(told.id)
        call.learn(told)
        if call.status in ("completed", "failed"):
            await self.finish(call)
            if not self.open:
                await self._think()
        elif call.status == "in_progress":
            await self.start(call)
        return call

    async def announce(self, tool: str, arguments: Mapping[str, Any]) -> Call:
        """A call stands in the journal with the words before it, under a name of ours."""
        async with self._turn:
            name = call_id(self._run.talk.total_rounds + 1, 1)
            asked = Call(name, tool, Text(json.dumps(arguments, ensure_ascii=False, default=str)))
            await self._run.record(self._reply((asked,)))
            self._run.drafts.tell(Draft(self._run.session, ended=True))
        return asked

    async def name(self, call: GuestCall) -> str:
        """Its name in the journal, where it stands from now on."""
        if not call.ours:
            call.ours = (await self.announce(call.kind, call.arguments())).id
        return call.ours

    async def start(self, call: GuestCall) -> None:
        """It works now."""
        name = await self.name(call)
        if not call.started:
            call.started = True
            step = STEPS.get(call.kind, "tool")
            await self._run.record(CallStarted(name, call.kind, step, call.object(self._run.place.folder)))

    async def finish(self, call: GuestCall, instead: str = "", *, failed: bool = False) -> None:
        """Its result, with what it did to the files."""
        self.open.pop(call.id, None)
        await self.start(call)
        facts: list[RunEvent] = []
        blobs: dict[str, bytes] = {}
        lost: tuple[str, ...] = ()
        if call.kind not in LOOKS:
            facts, blobs, lost = await self._files.since(call.ours)
        if (
            call.kind == "fetch"
            and (source := taint_name(Source("web", line(call.title)))) not in self._run.talk.rights.taint
        ):
            facts.insert(0, Tainted(call.ours, source))
        seen = {fact.path for fact in facts if isinstance(fact, FileChanged)}
        text = instead or self._output(call, seen)
        if lost:
            text += f"\n[also changed, but not kept, so that it cannot be taken back: {', '.join(lost)}]"
        failed = failed or call.status == "failed"
        returned = ToolReturned(call.ours, Text(text), failed, exit_code(call.output), unkept=lost)
        await self._run.record(*facts, returned, blobs=blobs)

    async def finish_all(self, instead: str) -> None:
        """The turn is over; what is open has no result."""
        for call in list(self.open.values()):
            await self.finish(call, instead, failed=True)
        facts, blobs, _ = await self._files.since("")
        if facts:
            await self._run.record(*facts, blobs=blobs)

    async def plan(self, plan: Plan) -> None:
        """What it means to do, as our own list of it."""
        if plan.entries == self._plan:
            return
        self._plan = plan.entries
        items = [{"text": text, "status": STATUS.get(status, "open")} for text, status in plan.entries]
        done = sum(item["status"] == "done" for item in items)
        now = next((item["text"] for item in items if item["status"] == "doing"), "")
        row = f"{done} of {len(items)} done" + (f": {now}" if now else "")
        signs = {"done": "x", "doing": ">", "open": " "}
        shown = "\n".join(f"[{signs[item['status']]}] {item['text']}" for item in items)
        name = (await self.announce("todo", {"items": items})).id
        await self._run.record(CallStarted(name, "todo", "todo", line(row)), ToolReturned(name, Text(shown)))

    async def cut(self, why: str) -> None:
        """The turn is cut: what had arrived stays, and no call is left open."""
        async with self._turn:
            if self._said or self.thinking:
                await self._run.record(ReplyCut(Text("".join(self._said)), why))
            self._forget()
            self._run.drafts.tell(Draft(self._run.session, ended=True))
        for call in list(self.open.values()):
            if call.started or call.ours:
                await self.finish(call, STOPPED, failed=True)
        self.open.clear()

    async def _think(self) -> None:
        """What it asks its own model we do not see; that it waits for it, a person does."""
        async with self._turn:
            if not self.thinking:
                self.thinking = True
                await self._run.record(RequestSent(self._run.model_name, self._run.talk.rounds + 1, role="agent"))

    def _forget(self) -> None:
        self.thinking = False
        self._said.clear()
        self._thought.clear()
        self._held = 0

    def _reply(
        self, calls: tuple[Call, ...], usage: Usage | None = None, stop: str = "", cost: float | None = None
    ) -> Replied:
        said, thought = "".join(self._said), "".join(self._thought)
        self._forget()
        return Replied(Text(said), Text(thought), calls, usage or Usage(), stop, cost=cost)

    def _output(self, call: GuestCall, seen: set[str]) -> str:
        """Its words, what its terminals printed, and differences of files that were not seen to change."""
        folder = self._run.place.folder
        parts = [call.text, *(self.outputs.get(name, "") for name in call.terminals)]
        parts += [shown(one) for one in call.differences if inside(one.path, folder) not in seen]
        return "\n".join(filter(None, parts)) or plain_output(call.output)


def inside(path: str, folder: Path) -> str:
    """A path as seen from the folder."""
    for root in (folder, Path(realpath(folder))):
        try:
            found = relpath(root / path, root)
        except ValueError:  # another drive
            continue
        if not found.startswith(".."):
            return found
    return path


def shown(one: Difference) -> str:
    """A difference as lines."""
    before, after = (one.before or "").splitlines(), one.after.splitlines()
    if len(before) + len(after) > 20_000:
        return f"[{one.path}: {len(after):,} lines]"
    return "\n".join(difflib.unified_diff(before, after, one.path, one.path, lineterm="", n=2))


def plain_output(output: Any) -> str:
    """What a call gave back, where its agent has no words for it."""
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
    """Of a command, where its agent tells it."""
    match output:
        case {"exit_code": int(code)} | {"exitCode": int(code)} | {"metadata": {"exit": int(code)}}:
            return code
        case _:
            return None
