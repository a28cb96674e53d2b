"""Shows permission requests and questions to the user of an editor, as forms or as options, depending on the editor."""

import asyncio
import json
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from app.acp.session_updates import KINDS, SessionUpdates
from core.agents.json_rpc import JsonRpcPeer, Params, PeerClosed, RpcError
from core.domain.permissions import PermissionRequest, RuleScope, offered_scopes
from core.domain.problems import Problem
from core.domain.question import Answer, Question, SubAnswer, SubQuestion
from core.domain.trusted_files import WHY_PROTECTED
from core.domain.visible import visible, visible_exactly, visible_name
from core.engine.api.engine import Engine

SCOPES: dict[RuleScope, str] = {
    "once": "Allow once",
    "run": "Allow for this run",
    "folder": "Allow in this folder",
    "always": "Allow always",
}
# A step kind for each kind of access.
STEP_KINDS = {"execute": "command", "write": "edit", "read": "read", "network": "fetch"}
# IDs of options in the editor's dialog.
DENY = "deny"
DECLINE = "decline"


class EditorQuestions:
    """Shows the questions and permission requests of one turn in the editor.

    A question that is answered elsewhere, for example in the desktop window, is withdrawn from the editor.
    """

    def __init__(
        self,
        engine: Engine,
        peer: JsonRpcPeer,
        session: str,
        updates: SessionUpdates,
        tasks: asyncio.TaskGroup,
        *,
        has_forms: bool,
    ) -> None:
        self._engine = engine
        self._peer = peer
        self._session = session
        self._updates = updates
        self._has_forms = has_forms
        self._tasks = tasks
        self._open: dict[str, asyncio.Task[None]] = {}

    def request_permission(self, request: PermissionRequest) -> None:
        self._start(request.id, self._ask_permission(request))

    def ask(self, question: Question) -> str:
        """Show a question in the editor, as a form or as a choice of options. Return an empty string.

        If the editor supports neither, return the text of the question instead. The caller sends it as a message, and
        the next prompt is the answer.
        """
        if self._has_forms:
            self._start(question.id, self._ask_form(question))
        elif _is_choice(question):
            self._start(question.id, self._ask_choice(question))
        else:
            return _question_text(question)
        return ""

    def withdraw(self, request_id: str) -> None:
        """Withdraw the question or permission request with this ID from the editor: it was answered elsewhere."""
        if task := self._open.pop(request_id, None):
            task.cancel()

    def close(self) -> None:
        """Withdraw all open questions and permission requests from the editor."""
        for request_id in list(self._open):
            self.withdraw(request_id)

    def _start(self, request_id: str, work: Coroutine[Any, Any, None]) -> None:
        self._open[request_id] = self._tasks.create_task(self._run(request_id, work))

    async def _run(self, request_id: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`, which asks in the editor and passes the answer on.

        Errors leave the question open for the window.
        """
        with suppress(RpcError, PeerClosed, Problem):
            await work
        self._open.pop(request_id, None)

    async def _ask_permission(self, request: PermissionRequest) -> None:
        open_requests = (pending for _, pending in self._engine.permission_requests())
        pending = next((pending for pending in open_requests if pending.request.id == request.id), None)
        arguments = json.loads(pending.arguments or "{}") if pending else self._updates.arguments(request.call_id)
        call = {
            "toolCallId": request.call_id,
            "title": visible_exactly(f"{request.tool}: {request.object}"),
            "status": "pending",
            "kind": KINDS.get(STEP_KINDS.get(request.access, ""), "other"),
            "rawInput": arguments,
            "content": [{"type": "content", "content": {"type": "text", "text": _details(request)}}],
        }
        option_id = await self._request_choice(call, _permission_options(request))
        if option_id is None:
            return
        self._open.pop(request.id, None)
        if request.options:
            await self._engine.choose_option(request.id, option_id)
        elif option_id == DENY:
            await self._engine.deny(request.id)
        else:
            scope = next(scope for scope in offered_scopes(request) if scope == option_id)
            await self._engine.allow(request.id, scope, () if scope == "once" else request.patterns)

    async def _ask_choice(self, question: Question) -> None:
        """Ask a question with options as a permission request, which every editor supports."""
        options = [
            {"optionId": str(number), "name": visible_name(option.label), "kind": "allow_once"}
            for number, option in enumerate(question.options)
        ]
        options.append({"optionId": DECLINE, "name": "Decline to answer", "kind": "reject_once"})
        call = {
            "toolCallId": f"{question.id}-asked",
            "title": f"Question: {visible_exactly(question.text)}",
            "kind": "other",
            "status": "pending",
        }
        option_id = await self._request_choice(call, options)
        if option_id is None:
            return
        self._open.pop(question.id, None)
        is_declined = option_id == DECLINE
        answer = Answer(declined=True) if is_declined else Answer(option=question.options[int(option_id)].label)
        await self._engine.answer(question.id, answer)

    async def _request_choice(self, call: Params, options: list[Params]) -> str | None:
        """Ask the editor to choose; return the ID of the chosen option.

        Return None if the turn was canceled, or if the editor returned an ID that is not in `options`.
        """
        params = {"sessionId": self._session, "toolCall": call, "options": options}
        match await self._peer.request("session/request_permission", params):
            case {"outcome": {"outcome": "selected", "optionId": str(chosen)}}:
                return chosen if any(option["optionId"] == chosen for option in options) else None
            case _:
                return None

    async def _ask_form(self, question: Question) -> None:
        sub_questions = question.all_questions()
        fields = {f"answer{number}": _field(sub_question) for number, sub_question in enumerate(sub_questions, 1)}
        schema = {"type": "object", "properties": fields, "required": list(fields)}
        message = visible("\n".join(filter(None, (question.text, question.reason))))
        params = {"sessionId": self._session, "mode": "form", "message": message, "requestedSchema": schema}
        try:
            answer = await self._peer.request("elicitation/create", params)
        except RpcError:
            if _is_choice(question):
                await self._ask_choice(question)
            return
        self._open.pop(question.id, None)
        match answer:
            case {"action": "accept", "content": dict(content)}:
                await self._engine.answer(question.id, _answer_from_form(question, sub_questions, content))
            case {"action": "decline"}:
                await self._engine.answer(question.id, Answer(declined=True))
            case _:
                return


def _is_choice(question: Question) -> bool:
    return bool(question.options) and not question.sub_questions


def _permission_options(request: PermissionRequest) -> list[Params]:
    """Return the options to show: those an external agent offers, else one to allow for each scope, and one to deny."""
    if request.options:
        return [
            {"optionId": option.id, "name": visible_name(option.name), "kind": _kind(option.allows, option.persistent)}
            for option in request.options
        ]
    patterns = visible_name(", ".join(request.patterns))
    options: list[Params] = [
        {
            "optionId": scope,
            "name": SCOPES[scope] + (f": {patterns}" if scope != "once" else ""),
            "kind": _kind(True, scope != "once"),
        }
        for scope in offered_scopes(request)
    ]
    return [*options, {"optionId": DENY, "name": "Deny", "kind": "reject_once"}]


def _details(request: PermissionRequest) -> str:
    """Return one line each for the reason, protected paths, untrusted sources, and the sandbox and network."""
    lines = [request.reason]
    if request.protected_paths:
        names = ", ".join(request.protected_paths)
        lines.append(f"Approval lets it change {names}, {WHY_PROTECTED}.")
    if request.untrusted_sources:
        lines.append(f"The run has read untrusted content: {', '.join(request.untrusted_sources)}")
    if request.access == "execute":
        lines.append(f"Sandbox: {request.sandbox_level}; network: {', '.join(request.hosts) or 'none'}")
    return "\n".join(visible_exactly(line).replace("\n", "⟦U+000A⟧") for line in lines)


def _kind(allows: bool, persistent: bool) -> str:
    return f"{'allow' if allows else 'reject'}_{'always' if persistent else 'once'}"


def _field(question: SubQuestion) -> Params:
    labels = [visible_name(option.label) for option in question.options]
    title = visible(question.text)
    if question.multi_select:
        return {"type": "array", "title": title, "items": {"type": "string", "enum": labels}}
    schema: Params = {"type": "string", "title": title}
    if labels and question.free_text:
        schema["description"] = f"One of: {', '.join(labels)}; or your own words"
    elif labels:
        schema["enum"] = labels
    return schema


def _answer_from_form(question: Question, sub_questions: Sequence[SubQuestion], content: dict[str, Any]) -> Answer:
    sub_answers = [
        _sub_answer(sub_question, content.get(f"answer{number}"))
        for number, sub_question in enumerate(sub_questions, 1)
    ]
    if question.sub_questions:
        return Answer(sub_answers=tuple(sub_answers))
    first = sub_answers[0]
    if first.options:
        return Answer(option=first.options[0], more_options=first.options[1:])
    return Answer(text=first.text)


def _sub_answer(question: SubQuestion, value: Any) -> SubAnswer:
    """Return the answer to one question of a form: the options whose labels were chosen, or else the typed text."""
    values = value if isinstance(value, list) else [value]
    texts = [str(item) for item in values if item is not None]
    shown_labels = {visible_name(option.label): option.label for option in question.options}
    labels = tuple(shown_labels[text] for text in texts if text in shown_labels)
    return SubAnswer(question.text, labels, "" if labels else " ".join(texts))


def _question_text(question: Question) -> str:
    """Return a question as plain text: the question, its reason, its sub-questions and its options."""
    lines = [question.text, question.reason]
    for part in question.sub_questions:
        lines.append(part.text)
        lines += [f"- {option.label}" for option in part.options]
    lines += [f"- {option.label}" for option in question.options]
    return "\n".join(filter(None, lines))
