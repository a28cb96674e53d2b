"""MCP elicitation: questions that a server asks the user during a tool call."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.domain.question import Answer, Question
from core.mcp.elicitation_form import ElicitationForm, page_question, parse_form, url_rejection

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult, ErrorData

ElicitCallback = Callable[[Question], Awaitable[Answer]]
MAX_FORM_ATTEMPTS = 5  # how often the user is asked to fill in a form correctly before it is canceled
MAX_QUESTIONS = 20  # questions per tool call; further ones are canceled without asking the user
DONE, NOT_DONE = "Done, call again", "Cancel the call"


class CallElicitation:
    """The questions of one tool call. `clock` is the call's timeout, which is paused while the user answers."""

    def __init__(self, server: str, ask: ElicitCallback | None, clock: asyncio.Timeout, timeout_s: float) -> None:
        self._server = server
        self._ask = ask
        self._clock = clock
        self._timeout_s = timeout_s
        self._times_asked: Counter[str] = Counter()
        self._open_questions: set[asyncio.Timeout] = set()
        self._ended = False

    def restart_timeout(self) -> None:
        """Restart the call's timeout after a sign of progress, unless a question is open."""
        if not self._open_questions and not self._ended:
            self._clock.reschedule(asyncio.get_running_loop().time() + self._timeout_s)

    def cancel_questions(self) -> None:
        """Cancel all open questions, because the call has ended."""
        self._ended = True
        for timeout in self._open_questions:
            timeout.reschedule(0)

    async def elicit(self, params: "ElicitRequestParams") -> "ElicitResult | ErrorData":
        """Answer an elicitation request: ask the user to fill in a form or to open a web page."""
        from mcp_types import INVALID_PARAMS, ElicitRequestURLParams, ElicitResult, ErrorData

        if isinstance(params, ElicitRequestURLParams):
            if reason := url_rejection(params.url):
                return ErrorData(code=INVALID_PARAMS, message=reason)
            return ElicitResult(action=await self._ask_to_open(params.message, params.url))
        form = parse_form(self._server, params.message, params.requested_schema)
        if isinstance(form, str):
            return ErrorData(code=INVALID_PARAMS, message=form)
        return ElicitResult.model_validate(await self._fill_in(form))

    async def open_required_pages(self, pages: "Sequence[ElicitRequestURLParams]") -> bool:
        """Ask the user to open the web pages that a call requires.

        Return whether the user opened them all and confirmed, so that the call can be repeated.
        """
        for page in pages:
            if url_rejection(page.url) or await self._ask_to_open(page.message, page.url) != "accept":
                return False
        question = page_question(self._server, "Have you finished on the page?", "", (DONE, NOT_DONE))
        answer = await self._ask_user(question)
        return answer is not None and answer.option == DONE

    async def _ask_to_open(self, message: str, url: str) -> str:
        answer = await self._ask_user(page_question(self._server, message, url))
        if answer is None:
            return "cancel"
        return "accept" if answer.option else "decline"

    async def _fill_in(self, form: ElicitationForm) -> dict[str, Any]:
        """Ask the user until the form is filled in correctly. Return the fields of the ElicitResult."""
        error = ""
        for _ in range(MAX_FORM_ATTEMPTS):
            answer = await self._ask_user(form.question(error))
            if answer is None:
                return {"action": "cancel"}
            if answer.declined:
                return {"action": "decline"}
            content, error = form.parse_answer(answer)
            if not error:
                return {"action": "accept", "content": content}
        return {"action": "cancel"}

    async def _ask_user(self, question: Question) -> Answer | None:
        """Return the user's answer, or None if there is none or the call has ended."""
        if self._ask is None or self._ended or self._times_asked.total() >= MAX_QUESTIONS:
            return None
        key = _question_id(question)
        self._times_asked[key] += 1
        self._clock.reschedule(None)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._open_questions.add(limit)
                answer = await self._ask(replace(question, id=f"{key}{self._times_asked[key]}"))
        except TimeoutError:
            return None
        finally:
            self._open_questions.discard(limit)
            self.restart_timeout()
        return None if answer.expired else answer


def _question_id(question: Question) -> str:
    """Return an ID derived from the question's text, so that a call repeated after a crash finds its answer."""
    parts = [(part.text, [option.label for option in part.options]) for part in question.all_questions()]
    plain = json.dumps([question.text, question.reason, question.url, parts])
    return hashlib.sha256(plain.encode()).hexdigest()[:6]
