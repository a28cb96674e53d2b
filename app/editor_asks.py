"""What a run asks of the person in front of an editor: its requests and its questions, in the forms the editor has."""

import asyncio
import json
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from app.editor_updates import KINDS, Updates
from core.agents.peer import Gone, Params, Peer, Refused
from core.domain.consent import ConsentRequest, Scope, scopes
from core.domain.problems import Problem
from core.domain.question import Answer, Part, Question, Said
from core.engine.engine import Engine

SCOPES: dict[Scope, str] = {
    "once": "Allow once", "run": "Allow for this run", "folder": "Allow in this folder", "always": "Allow always",
}  # fmt: skip
TOUCHES = {"runs": "command", "writes": "edit", "reads": "read", "network": "fetch"}
DENY, DECLINE = "deny", "decline"


class Asks:
    """Of one turn. What was answered elsewhere meanwhile, as in the window, is not asked any more."""

    def __init__(
        self, engine: Engine, peer: Peer, session: str, updates: Updates, forms: bool, tasks: asyncio.TaskGroup
    ) -> None:
        self._engine, self._peer, self._session, self._updates = engine, peer, session, updates
        self._forms, self._tasks = forms, tasks
        self._open: dict[str, asyncio.Task[None]] = {}

    def permit(self, request: ConsentRequest) -> None:
        """May this call happen?"""
        self._start(request.id, self._permit(request))

    def ask(self, question: Question) -> str:
        """Ask in a form or by options; where the editor has neither, the words to say, and the next prompt answers."""
        if self._forms:
            self._start(question.id, self._form(question))
        elif question.options and not question.parts:
            self._start(question.id, self._choose(question))
        else:
            return _plain(question)
        return ""

    def forget(self, name: str) -> None:
        if task := self._open.pop(name, None):
            task.cancel()

    def close(self) -> None:
        for name in list(self._open):
            self.forget(name)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._open[name] = self._tasks.create_task(self._spoken(name, work))

    async def _spoken(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """An editor that cannot ask leaves it open: it can be answered in the window."""
        with suppress(Refused, Gone, Problem):
            await work
        self._open.pop(name, None)

    async def _permit(self, request: ConsentRequest) -> None:
        options = [
            {"optionId": one.id, "name": one.name, "kind": _kind(one.allows, one.lasts)} for one in request.options
        ]
        if not options:
            named = ", ".join(request.patterns)
            options = [
                {"optionId": scope, "name": SCOPES[scope] + (f": {named}" if scope != "once" else ""),
                 "kind": _kind(True, scope != "once")}
                for scope in scopes(request)
            ]  # fmt: skip
            options.append({"optionId": DENY, "name": "Deny", "kind": "reject_once"})
        waiting = next((each for _, each in self._engine.consents() if each.request.id == request.id), None)
        given = json.loads(waiting.arguments or "{}") if waiting else self._updates.arguments(request.call_id)
        call = {"toolCallId": request.call_id, "title": f"{request.tool}: {request.object}", "status": "pending",
                "kind": KINDS.get(TOUCHES.get(request.touches, ""), "other"), "rawInput": given,
                "content": [{"type": "content", "content": {"type": "text", "text": request.why}}]}  # fmt: skip
        chosen = await self._permission(call, options)
        if chosen is None:
            return
        self._open.pop(request.id, None)
        if request.options:
            await self._engine.choose(request.id, chosen)
        elif chosen == DENY:
            await self._engine.deny(request.id)
        else:
            scope: Scope = next((one for one in scopes(request) if one == chosen), "once")
            await self._engine.allow(request.id, scope, () if scope == "once" else request.patterns)

    async def _choose(self, question: Question) -> None:
        """A question with options, in the form of a request."""
        options = [
            {"optionId": str(number), "name": one.label, "kind": "allow_once"}
            for number, one in enumerate(question.options)
        ]
        options.append({"optionId": DECLINE, "name": "Decline to answer", "kind": "reject_once"})
        call = {"toolCallId": f"{question.id}-asked", "title": question.text, "kind": "other", "status": "pending"}
        chosen = await self._permission(call, options)
        if chosen is None:
            return
        self._open.pop(question.id, None)
        if chosen.isdigit() and int(chosen) < len(question.options):
            await self._engine.answer(question.id, Answer(option=question.options[int(chosen)].label))
        else:
            await self._engine.answer(question.id, Answer(declined=True))

    async def _permission(self, call: Params, options: list[Params]) -> str | None:
        """What was chosen; None where the turn was cancelled."""
        params = {"sessionId": self._session, "toolCall": call, "options": options}
        match await self._peer.ask("session/request_permission", params):
            case {"outcome": {"outcome": "selected", "optionId": str(chosen)}}:
                return chosen
            case _:
                return None

    async def _form(self, question: Question) -> None:
        parts = question.forms()
        fields = {f"answer{number}": _field(part) for number, part in enumerate(parts, 1)}
        schema = {"type": "object", "properties": fields, "required": list(fields)}
        said = "\n".join(filter(None, (question.text, question.why)))
        params = {"sessionId": self._session, "mode": "form", "message": said, "requestedSchema": schema}
        try:
            answer = await self._peer.ask("elicitation/create", params)
        except Refused:
            if question.options and not question.parts:
                await self._choose(question)
            return
        self._open.pop(question.id, None)
        match answer:
            case {"action": "accept", "content": dict(content)}:
                await self._engine.answer(question.id, _answer(question, parts, content))
            case {"action": "decline"}:
                await self._engine.answer(question.id, Answer(declined=True))
            case _:
                return


def _kind(allows: bool, lasts: bool) -> str:
    return f"{'allow' if allows else 'reject'}_{'always' if lasts else 'once'}"


def _field(part: Part) -> Params:
    labels = [option.label for option in part.options]
    if part.several:
        return {"type": "array", "title": part.text, "items": {"type": "string", "enum": labels}}
    made: Params = {"type": "string", "title": part.text}
    if labels and part.free_text:
        made["description"] = f"One of: {', '.join(labels)}; or other words"
    elif labels:
        made["enum"] = labels
    return made


def _answer(question: Question, parts: tuple[Part, ...], content: dict[str, Any]) -> Answer:
    said = [_said(part, content.get(f"answer{number}")) for number, part in enumerate(parts, 1)]
    if question.parts:
        return Answer(parts=tuple(said))
    first = said[0]
    if first.options:
        return Answer(option=first.options[0], more=first.options[1:])
    return Answer(text=first.text)


def _said(part: Part, value: Any) -> Said:
    """Labels of its options are those; anything else is words."""
    given = [str(one) for one in value] if isinstance(value, list) else [] if value is None else [str(value)]
    labels = tuple(one for one in given if one in {option.label for option in part.options})
    return Said(part.text, labels, "" if labels else " ".join(given))


def _plain(question: Question) -> str:
    """A question in words, for an editor that can only be talked to."""
    lines = [question.text, question.why]
    for part in question.parts:
        lines.append(part.text)
        lines += [f"- {option.label}" for option in part.options]
    lines += [f"- {option.label}" for option in question.options]
    return "\n".join(filter(None, lines))
